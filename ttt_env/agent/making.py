"""Agents made from spec strings, functions and models of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import Parameter
from typing import Annotated, Any, Literal, get_args, get_origin

from ttt_env.agent.asked import FunctionAgent
from ttt_env.agent.interface import Agent, AgentLike, AgentNames, Choice
from ttt_env.agent.registry import FUNCTION_FILE, MODEL_GROUP, agent_class, installed, is_of_package
from ttt_env.errors import ParameterError, UnknownAgentError, brief, unknown
from ttt_env.rules import (
    Game,
    check_names,
    declared,
    get_game,
    items_of,
    split_items,
    split_spec,
    strip_brackets,
)
from ttt_env.rules.checks import as_text
from ttt_env.rules.parameters import kinds_of, read
from ttt_env.rules.specs import Spec, as_value, joined_path, key_of, read_items
from ttt_env.storage.models import file_of, label_of, spec_of

_MOST_AGENTS = 10_000  # in one collection


def make_agent(
    spec: AgentLike | Callable[[Any], Any],
    game: Game | str = "tictactoe-v0",
    *,
    observation: Literal["planes", "flat"] | None = None,
    temperature: float | None = None,
    trusted: bool = True,
) -> Agent:
    """The agent that a spec string, a file, a function or a model describes.

    A spec string is `name`, `name:value` or `name:key=value,key=value`; a parameter that is true or false may
    be named alone. Inside another agent's spec, put an agent with parameters in parentheses where its commas
    could belong to the outer one. "file.py:function" is a function of a Python file, `file.py` alone its
    `choose`, its `policy` or its only function; it runs in a process of its own, with the parameters of
    `process`. The path of a model, "models/mine.zip" or "table.npz", is the agent that plays from it.

    A model of another library is queried itself, not a copy of it: if it is trained further, the agent's play
    changes with it. A model of Stable-Baselines3 plays greedily, and only on free cells; a network is a
    `torch.nn.Module`, or with `observation` any function, from observations of this kind to scores `[B,
    cells]`.

    Args:
        spec: A spec string, a path, an `Agent`, a function from a `Position` to a cell, or a model.
        game: The game, or its id.
        observation: The input of a network: "planes", for a module the default, or "flat".
        temperature: A network plays by the softmax of scores / temperature; by default the highest score.
        trusted: False for a spec string that arrived as data: in a row of a data set, an address, a result or
            a log that is read back. It may name only an agent of this package with parameters that are
            numbers, flags, choices, or further agents of this kind: not a file, a command or another
            package's class.

    Returns:
        The agent.

    Raises:
        UnknownAgentError: No agent is registered under this name.
        ParameterError: The agent does not have this parameter, or it cannot take this value.

    Example:
        >>> from ttt_env import Position
        >>> position = Position.parse("XX./OO./...")
        >>> make_agent("win-block", position.game).policy(position).tolist()
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        >>> make_agent(lambda position: position.legal_cells[-1], position.game).choose(position, 0)
        8
        >>> corners_and_centre = [2, 1, 2, 1, 3, 1, 2, 1, 2]
        >>> agent = make_agent(lambda planes: [corners_and_centre] * len(planes), observation="planes")
        >>> agent.policy(agent.game.start.play(4)).tolist()
        [0.25, 0.0, 0.25, 0.0, 0.0, 0.0, 0.25, 0.0, 0.25]

    """
    game = get_game(game)
    if observation is not None or temperature is not None:
        if isinstance(spec, str | Agent):
            raise ParameterError(f"observation and temperature are for networks, not for {brief(spec)}")
        network_agent: Callable[..., Agent] = installed(MODEL_GROUP)["torch"].load()
        options = {"observation": observation, "temperature": temperature}
        return network_agent(
            spec, game, **{name: value for name, value in options.items() if value is not None}
        )
    if isinstance(spec, str):
        build, parameters = _parse_spec(spec, trusted)
        agent = build(game, **parameters)
        file = file_of(spec)
        agent._label = label_of(spec if file is None else spec.replace(str(file), file.name))
        return agent
    if isinstance(spec, Agent):
        if spec.game != game:
            raise UnknownAgentError(f"{spec!r} plays {spec.game.name}, not {game.name}")
        return spec
    if (of_model := _reader_of_model(spec)) is not None:
        return of_model(spec, game)
    if callable(spec) and not isinstance(spec, type):
        return FunctionAgent(game, spec)
    if isinstance(spec, type) and issubclass(spec, Agent):
        raise UnknownAgentError(f"{brief(spec)} is a class: give an instance, as in {spec.__name__}(game)")
    raise UnknownAgentError(
        f"an agent is a spec string, an Agent, a function or a model, not {brief(spec)}: wrap it in a "
        "function that takes a ttt_env.Position and returns a cell"
    )


def _reader_of_model(model: object) -> Callable[[object, Game], Agent] | None:
    """The registered function that makes an agent of `model`, None if no library is registered for its class.

    The library is known by the name of its module and not imported here: the maker of the model has done so.
    """
    for ancestor in type(model).__mro__:
        point = installed(MODEL_GROUP).get(ancestor.__module__.partition(".")[0])
        if point is not None:
            reader: Callable[[object, Game], Agent] = point.load()
            return reader
    return None


def game_of(game: Game | str | None, *agents: AgentLike) -> Game:
    """The game of this id or `game` itself; for None that of the first `Agent` given, else tic-tac-toe."""
    if game is None:
        return next((agent.game for agent in agents if isinstance(agent, Agent)), get_game("tictactoe-v0"))
    return get_game(game)


def named_agents(
    agents: Iterable[AgentLike] | Mapping[str, AgentLike], parameter: str = "agents", numbered: bool = False
) -> dict[str, AgentLike]:
    """The agents by name: a mapping gives names, the name of a spec string is its `label_of`.

    The name of a function is its `__name__`, of any other agent its class. If `numbered`, a name that is
    taken gets a number, as in "name (2)"; so does another spec of the same label in any case.

    Raises `ParameterError` for two agents of one name otherwise, for a name that is not a text of at most
    10,000 letters, and for anything but a collection of agents, which the message calls `parameter`.
    """
    if isinstance(agents, Mapping):
        return {_checked_name(name): agent for name, agent in agents.items()}
    by_name: dict[str, AgentLike] = {}
    items = [agents] if isinstance(agents, str) else items_of(agents, _MOST_AGENTS)
    if items is None or len(items) > _MOST_AGENTS:
        raise ParameterError(
            f"{parameter}={brief(agents)}: expected at most {_MOST_AGENTS} agents, or a mapping"
        )
    for agent in items:
        name = type(agent).__name__
        with suppress(Exception):  # a user's class may raise anything
            name = label_of(agent) if isinstance(agent, str) else getattr(agent, "__name__", name)
        stem, number = _checked_name(name), 1
        while name in by_name and (numbered or (isinstance(agent, str) and by_name[name] != agent)):
            number += 1
            name = f"{stem} ({number})"
        if name in by_name:
            raise ParameterError(f"two agents are called {name!r}: give each once, or names in a mapping")
        by_name[name] = agent
    return by_name


def _checked_name(name: object) -> str:
    """The name. Raises `ParameterError` unless it is a text that files can hold."""
    text = as_text("the name of an agent", name, ParameterError)
    if text.encode(errors="replace").decode() != text:
        raise ParameterError(f"the name of an agent is text that UTF-8 can hold, not {brief(name)}")
    return str(name)


def _parse_spec(text: str, trusted: bool) -> tuple[type[Agent], dict[str, Any]]:
    """The class that a spec names and the values of its parameters; see `make_agent` for `trusted`."""
    spec = split_spec(spec_of(text) if trusted else text)
    if not trusted and not is_of_package(spec.name):
        raise ParameterError(
            f"{brief(str(spec))} arrived as data, where only the package's own agents may be named: "
            "to use this one, pass it as an argument of your program"
        )
    if spec.name.endswith(FUNCTION_FILE):
        return _parse_function_file(spec)
    build = agent_class(spec.name)
    allowed = parameters_of(build)
    texts, others = read_items(spec, allowed)
    value = _plain_value(build, spec.name, others, allowed)
    if value is not None:
        first = next(iter(allowed), None)
        if first is None or first in texts:
            raise ParameterError(unknown(f"parameter of {spec.name}", value, allowed))
        texts[first] = value
    missing = [p.name for p in allowed.values() if p.default is p.empty and p.name not in texts]
    if missing:
        raise ParameterError(f"{spec.name} needs {', '.join(missing)}: write {spec.name}:{missing[0]}=…")
    values = read(spec.name, texts, allowed)
    if not trusted:
        _check_plain(spec.name, values, allowed)
    return build, values


def parameters_of(build: type[Agent]) -> dict[str, Parameter]:
    """The parameters that a spec string can give an agent of this class."""
    return dict(list(declared(build).items())[1:])  # the first one is the game


def _check_plain(owner: str, values: Mapping[str, Any], allowed: Mapping[str, Parameter]) -> None:
    """Raise `ParameterError` for a text that is neither a choice nor agents that may come as data."""
    for name, text in values.items():
        hint = allowed[name].annotation
        if not isinstance(text, str) or any(get_origin(kind) is Literal for kind, _ in kinds_of(hint)):
            continue
        kinds = get_args(hint) if get_origin(hint) is not Annotated else (hint,)
        if Agent in kinds:
            _parse_spec(text, trusted=False)
        elif AgentNames in kinds:
            for spec in split_items(text, "+"):
                _parse_spec(spec, trusted=False)
        elif Choice not in kinds:
            raise ParameterError(
                f"{name}={brief(text)} of {owner} arrived as data, where parameters are numbers, flags and "
                "choices: to use this agent, pass it as an argument of your program"
            )


def _parse_function_file(spec: Spec) -> tuple[type[Agent], dict[str, Any]]:
    """`_parse_spec` of "file.py:function": a program whose command names the file and the function."""
    build = agent_class(spec.name)
    allowed = parameters_of(build)
    del allowed["command"]  # it is made from the file and its function
    texts, others = read_items(spec, allowed)
    check_names(spec.name, filter(None, map(key_of, others)), allowed)
    function = (as_value(others) or "").strip()
    values = read(spec.name, texts, allowed)
    of_file: Callable[..., tuple[str, ...]] = build.of_function_file  # type: ignore[attr-defined]
    return build, {"command": of_file(spec.name, function, values.get("folder"))} | values


def _plain_value(
    build: type[Agent], owner: str, items: list[str], allowed: Mapping[str, Parameter]
) -> str | None:
    """The text of the first parameter, from the items that name no other.

    It may be a path, a command or an agent.
    """
    if next(iter(allowed), None) in ("path", "command"):
        return joined_path(owner, items, allowed)
    plain = [item for item in items if key_of(item) is None]
    keywords = [item.strip() for item in items if key_of(item) is not None]
    if not build.takes_agent or not plain:
        check_names(owner, map(key_of, keywords), allowed)
        return as_value(plain)
    inner = strip_brackets(",".join(plain).strip())
    separator = "," if len(split_items(inner, ":")) > 1 else ":"
    return f"{inner}{separator}{','.join(keywords)}" if keywords else inner
