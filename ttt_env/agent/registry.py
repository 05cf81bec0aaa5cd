"""The agents that are installed here, by this package and others, by name."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from ttt_env.errors import UnknownAgentError, brief, unknown
from ttt_env.rules import game_names

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ttt_env.agent.interface import Agent

ENTRY_POINT_GROUP = "ttt_env.agents"
MODEL_GROUP = "ttt_env.models"
"""Entry points by the import name of a library: functions `(model, game) -> Agent` for its models."""
FUNCTION_FILE = ".py"  # the ending of a file in which a function plays, in a process of its own
PROGRAM = "process"  # the agent that runs programs


@lru_cache(maxsize=3)
def installed(group: str = ENTRY_POINT_GROUP) -> dict[str, EntryPoint]:
    """The entry points of a group, by name."""
    from importlib.metadata import entry_points  # takes a tenth of the time of `import ttt_env`

    return {point.name: point for point in entry_points(group=group)}


@lru_cache(maxsize=256)
def _loaded(point: EntryPoint) -> type[Agent]:
    loaded: type[Agent] = point.load()
    return loaded


def agent_names() -> list[str]:
    """The names under which agents are installed here, by this package and others.

    >>> {"random", "minimax", "mcts", "sb3"} <= set(agent_names())
    True
    """
    return sorted(installed())


def name_of(agent: Agent) -> str:
    """The name under which the agent's class is installed; if it is not installed, the name of the class."""
    kind = getattr(type(agent), "variant_of", type(agent))
    value = f"{kind.__module__}:{kind.__qualname__}"
    return next((name for name, point in installed().items() if point.value == value), kind.__name__)


def is_of_package(name: str) -> bool:
    """True if an agent of this package is installed under this name."""
    return name in installed() and installed()[name].value.startswith("ttt_env.")


def agent_class(name: str) -> type[Agent]:
    """The class registered under this name. Raises `UnknownAgentError` if there is none."""
    if name.endswith(FUNCTION_FILE):
        name = PROGRAM
    if name not in installed():
        agent, comma, parameters = name.partition(",")
        if comma and (agent in installed() or agent.endswith(FUNCTION_FILE)):
            text = f"unknown agent {brief(name)}: parameters follow a colon, as in {agent}:{parameters}"
            raise UnknownAgentError(text)
        if name.endswith((".pt", ".pth")):
            raise UnknownAgentError(
                f"{brief(name)} holds the weights of a network, but not its layers: load it in Python, "
                "and call make_agent(network, game, observation='flat') or 'planes'"
            )
        if name in game_names():
            raise UnknownAgentError(
                f"{name} is a game, not an agent: give it as game= (in a terminal, --game {name})"
            )
        if os.path.isfile(name):
            raise UnknownAgentError(
                f"{name} is not an agent: a bot is a .py file, a model or a table a .zip, .npz or .onnx "
                'file, a program "process:COMMAND", such as "process:python bot.py"'
            )
        if os.path.isfile(f"{name}.zip"):  # `save` of Stable-Baselines3 has added the ending
            raise UnknownAgentError(f"unknown agent {brief(name)}: did you mean the file {name}.zip?")
        raise UnknownAgentError(unknown("agent", name, installed(), "ttt agents"))
    return _loaded(installed()[name])
