"""The parameters of agents as controls: made from the signature of the agent's class, each within bounds.

A parameter has a control if its name is listed here. Any other parameter keeps its default, whatever a page
or an address says, so no text from outside becomes a path. An agent that requires another one is not offered.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from ttt_env.agent import agent_class, agent_names, is_of_package, parameters_of
from ttt_env.agents.heuristics.rules import RULES
from ttt_env.errors import ParameterError, UnknownAgentError, unknown
from ttt_env.rules import split_items, split_spec
from ttt_env.rules.specs import spec_text

_RARE = ("c", "draw", "playout", "seed", "solve", "prefer", "early_stop", "tolerance")  # shown behind `More`


@dataclass(frozen=True)
class Control:
    """The control of a parameter: a number from `least` to `most`, a slider if `ends` are named, or a choice.

    `read` parses a text into its usual form or raises `ParameterError`. `needed` is the value of a parameter
    that is left empty although the agent requires it.
    """

    name: str
    label: str
    least: float = 0.0
    most: float = 1.0
    step: float = 1.0
    ends: tuple[str, str] | None = None
    choices: tuple[str, ...] = ()
    default: str = ""
    needed: str = ""
    read: Callable[[str], str] | None = None

    @property
    def is_common(self) -> bool:
        """True if the control is always shown."""
        return self.name not in _RARE

    @property
    def is_whole(self) -> bool:
        """True if only integers are allowed."""
        return self.step == int(self.step)

    def checked(self, text: str) -> str:
        """The text in its usual form. Raises `ParameterError` if it is out of bounds."""
        if self.read is not None:
            return self.read(text)
        if self.choices:
            if text not in self.choices:
                raise ParameterError(unknown(self.name, text[:40], self.choices))
            return text
        number = _number(text, self.is_whole)
        if number is None or not self.least <= number <= self.most:
            kind = "integers" if self.is_whole else "numbers"
            raise ParameterError(
                f"{self.name}={text[:40]!r}: {kind} from {self.least:g} to {self.most:g} are allowed here"
            )
        return str(number) if self.is_whole else f"{number:.6g}"


def _number(text: str, is_whole: bool) -> float | None:
    try:
        return int(text) if is_whole else float(text)
    except ValueError:
        return None


READER = "imitation"  # learns from the games that are played here, so it changes
_OTHER, _BASELINE = "agent", "random"  # the parameter that is another agent, and its default
_MAX_MIXED = 6
_HEAT = ("Precise", "Chaotic")


def _rules(text: str) -> str:
    """The names of rules, joined by `+`."""
    names = [name.strip() for name in text.split("+")]
    for name in names:
        if name not in RULES:
            raise ParameterError(unknown("rule", name[:40], RULES))
    if len(set(names)) < len(names):
        raise ParameterError(f"rules={text[:40]!r}: each rule once, joined by +")
    return "+".join(names)


def _agents(text: str) -> str:
    """The specs of agents, joined by `+`, those of several parameters in round brackets."""
    specs = split_items(text, "+")
    if not 0 < len(specs) <= _MAX_MIXED:
        raise ParameterError(f"agents={text[:40]!r}: one to {_MAX_MIXED} agents, joined by +")
    usual = [usual_spec(spec, _plain_names()) for spec in specs]
    return "+".join(f"({spec})" if set(spec) & set(",+") else spec for spec in usual)


def _weights(text: str) -> str:
    """Numbers from 0 on, joined by `+`."""
    numbers = [_number(item, is_whole=False) for item in text.split("+")]
    if len(numbers) > _MAX_MIXED or not all(number is not None and 0 <= number <= 1e6 for number in numbers):
        raise ParameterError(f"weights={text[:40]!r}: numbers from 0 on, joined by +, one for each agent")
    return "+".join(f"{number:.6g}" for number in numbers)


_KNOWN = [
    Control("temperature", "temperature", 0, 3, 0.05, _HEAT),
    Control("opponent_temperature", "temperature it expects of the other", 0, 3, 0.05, _HEAT),
    Control("epsilon", "chance of a random move", 0, 1, 0.01, ("Never", "Always")),
    Control("simulations", "simulations a move", 1, 100_000),
    Control("seconds", "or seconds a move", 0.1, 30, 0.1),
    Control("depth", "moves it looks ahead", 1, 6),
    Control("c", "exploration c", 0, 10, 0.01),
    Control("draw", "what a draw counts", 0, 1, 0.05),
    Control("seed", "seed", 0, 2**31 - 1),
    Control("rules", "rules, the first that fits decides", read=_rules),
    Control("agents", "of the agents, joined by +", needed="weights+random", read=_agents),
    Control("weights", "with the weights, joined by +", read=_weights),
    Control("playout", "playouts", choices=("random", "win-block")),
    Control("prefer", "of equal moves", choices=("any", "fast")),
    Control("solve", "proofs", choices=("true", "false")),
    Control("threats", "threats first", choices=("true", "false")),
    Control("early_stop", "stops once it cannot be overtaken", choices=("true", "false")),
    Control("tolerance", "stops once its result changes by less than", 0, 1, 0.001),
]
BOUNDS = {control.name: control for control in _KNOWN}


@lru_cache(maxsize=64)
def controls_of(name: str) -> Mapping[str, Control]:
    """The controls of a registered agent, in the order of its parameters."""
    build = agent_class(name)
    controls: dict[str, Control] = {}
    for parameter in parameters_of(build).values():
        if build.takes_agent and not controls:
            controls[_OTHER] = Control(_OTHER, "of the agent", choices=_plain_names(), needed=_BASELINE)
        elif parameter.name in BOUNDS:
            value = parameter.default
            default = "" if value in (None, parameter.empty) else spec_text(value)
            controls[parameter.name] = replace(BOUNDS[parameter.name], default=default)
    return MappingProxyType(controls)


def offered_names() -> list[str]:
    """The agents of this package whose required parameters all have a control."""
    return [
        name
        for name in agent_names()
        if is_of_package(name) and _can_be_made(name, agent_class(name).takes_agent)
    ]


def _plain_names() -> tuple[str, ...]:
    """The offered agents that another agent, such as epsilon, can be made of."""
    builds = {name: agent_class(name) for name in agent_names() if name != READER and is_of_package(name)}
    return tuple(
        name
        for name, build in builds.items()
        if not build.takes_agent
        and "agents" not in parameters_of(build)
        and _can_be_made(name, takes_agent=False)
    )


def _can_be_made(name: str, takes_agent: bool) -> bool:
    needed = [p for p in parameters_of(agent_class(name)).values() if p.default is p.empty]
    return all(p.name in BOUNDS for p in needed[1 if takes_agent else 0 :])


def spec_of_values(name: str, values: Mapping[str, str]) -> str:
    """The spec string of an agent with these parameters, without those that are empty or at their default.

    Raises `ParameterError` for a value out of bounds or a parameter without a control.
    """
    controls = controls_of(name)
    for key in values:
        if key not in controls:
            raise ParameterError(unknown(f"parameter of {name} on this page", key[:40], controls))
    items = []
    for key, control in controls.items():
        text = values.get(key, "").strip()
        if control.needed:
            items.append(control.checked(text or control.needed))
        elif text and (checked := control.checked(text)) != control.default:
            items.append(f"{key}={checked}")
    return f"{name}:{','.join(items)}" if items else name


def usual_spec(text: str, names: Iterable[str]) -> str:
    """The spec string of one of these agents in its usual form.

    Raises `UnknownAgentError` for another agent, `ParameterError` as `spec_of_values` does.
    """
    spec, known = split_spec(text), list(names)
    if spec.name not in known:
        raise UnknownAgentError(unknown("agent", text[:40], known))
    values = dict(spec.keywords)
    if spec.value is not None:
        first = next(iter(controls_of(spec.name)), None)
        if first is None or first in values:
            raise ParameterError(f"{spec.name} takes no {spec.value[:40]!r} here")
        values[first] = spec.value
    return spec_of_values(spec.name, values)
