"""The installed agents and their parameters, for people and for programs."""

import re
import textwrap
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ttt_env.agent import AgentLike, agent_class, agent_names, installed, learner_names, parameters_of
from ttt_env.app.options import documentation
from ttt_env.rules import game_names
from ttt_env.rules.parameters import allowed
from ttt_env.rules.specs import spec_text

_GROUPS = {
    "Players by rules": ("ttt_env.agents.heuristics",),
    "Search": ("ttt_env.agents.planning", "ttt_env.agents.mcts"),
    "Trained, or from a file": (
        "ttt_env.agents.learned",
        "ttt_env.agents.pretrained",
        "ttt_env.alphazero",
        "ttt_env.analysis",
        "ttt_env.integrations",
        "ttt_env.proofs",
    ),
    "Other agents and programs": ("ttt_env.agents.combining", "ttt_env.bots"),
    "Of other packages": ("",),
}
"""The packages of each group's agents; an agent is listed in the first group that has its package."""


def installed_text() -> str:
    """The agents with a sentence on each, the games, and the algorithms that train agents, in 80 columns."""
    groups: dict[str, list[str]] = {title: [] for title in _GROUPS}
    width = max(map(len, agent_names()))
    for name in agent_names():
        origin = installed()[name].value
        title = next(title for title, packages in _GROUPS.items() if origin.startswith(packages))
        line = f"  {name:{width}}  {_sentence_on(name)}"
        groups[title].append(textwrap.fill(line, 80, subsequent_indent=" " * (width + 4)))
    lines = [line for title, listed in groups.items() if listed for line in (f"{title}:", *listed, "")]
    others = {"Games": game_names(), "Algorithms of `ttt train`": learner_names()}
    lines += [textwrap.fill(f"{kind}: {', '.join(names)}", 80) for kind, names in others.items()]
    return "\n".join([*lines, "`ttt agents NAME` shows an agent with its parameters."])


def _sentence_on(name: str) -> str:
    """The first sentence of an agent's documentation, or the reason why the agent cannot be imported."""
    try:
        documentation = agent_facts(name)["documentation"]
    except ImportError as error:
        return f"cannot be used here: {error}"
    paragraph = " ".join(documentation.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0]


def agent_facts(name: str) -> dict[str, Any]:
    """The documentation of an agent, and each parameter with its type and default.

    Raises `UnknownAgentError` for an unknown name.
    """
    build = agent_class(name)
    hints = get_type_hints(build.__init__)
    return {
        "name": name,
        "class": f"{build.__module__}.{build.__qualname__}",
        "parameters": [
            {
                "name": parameter.name,
                "type": _type_name(hints[parameter.name]),
                "allowed": allowed(parameter.annotation),
                "required": parameter.default is parameter.empty,
                "default": None if parameter.default is parameter.empty else parameter.default,
            }
            for parameter in parameters_of(build).values()
        ],
        "documentation": documentation(build),  # not inherited from `Agent`, which is for authors
    }


def _type_name(annotation: Any) -> str:
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    names = [part.__name__ if isinstance(part, type) else str(part) for part in parts]
    if set(get_args(AgentLike)) <= set(parts):
        names = ["agent"] + ["None"] * (NoneType in parts)
    text = " | ".join("None" if name == "NoneType" else name for name in names)
    return text.replace(str(AgentLike), "agent").replace("collections.abc.", "").replace("typing.", "")


_NOUNS = {"str": "a text", "Path": "a file", "agent": "an agent"}


def _noun(parameter: dict[str, Any]) -> str:
    """What a parameter takes in a spec string, where it has no bounds or choices."""
    if parameter["name"] == "path":
        return _NOUNS["Path"]
    return next(_NOUNS[part] for part in parameter["type"].split(" | ") if part in _NOUNS)


def _placeholder(parameter: dict[str, Any]) -> str:
    """The placeholder for the value of a parameter without a default."""
    letters = {"int": "N", "float": "X", "agent": "AGENT"}
    kinds = parameter["type"].split(" | ")
    return next((letter for kind, letter in letters.items() if kind in kinds), parameter["name"].upper())


def agent_text(name: str) -> str:
    """The facts about an agent for people: its documentation, and the spec that sets each parameter."""
    facts = agent_facts(name)
    rows = []
    for parameter in facts["parameters"]:
        default = parameter["default"]
        example = _placeholder(parameter) if default in (None, "") else spec_text(default)
        if parameter["required"]:
            default_text = "required"
        else:
            default_text = "optional" if default is None else f"default {spec_text(default)}"
        rows.append(
            (
                f"{name}:{parameter['name']}={example}",
                f"{parameter['allowed'] or _noun(parameter)}, {default_text}",
            )
        )
    width = max([len(spec) for spec, _ in rows], default=0)
    lines = [f"  {spec:{width}}  {what}" for spec, what in rows] or ["  It has no parameters."]
    about = re.split("Raises|Example:", facts["documentation"], maxsplit=1)[0].rstrip()
    return "\n".join([f"{about}\n".lstrip(), f"{name} ({facts['class']}):", *lines])
