"""Who may sit at the table: people, the registered agents, and the models of the command line."""

from collections.abc import Mapping
from pathlib import Path

from ttt_env.agent import Agent, make_agent
from ttt_env.analysis.recorded import declared_agent
from ttt_env.app.models import spec_of
from ttt_env.app.web.controls import READER, Control, controls_of, offered_names, spec_of_values
from ttt_env.app.web.games import is_exact
from ttt_env.app.web.keeping import Keeper
from ttt_env.errors import GameTooLargeError, ParameterError, UnknownAgentError, unknown
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import INSTANT_CELLS, is_instant
from ttt_env.rules.specs import split_spec

PERSON = "person"
_MODEL = "model:"
_MOST_SIMULATIONS = 5_000  # some tens of milliseconds


class Roster:
    """The agents that the page knows; `models` maps the names of the command line's models to specs.

    `games_file` is the log from which `imitation` learns.
    """

    def __init__(self, models: Mapping[str, str], games_file: Path | None = None) -> None:
        self._games_file = games_file
        self.models = {f"{_MODEL}{name}": spec for name, spec in models.items()}
        self.names = (PERSON, *offered_names(), *self.models)
        self._made: Keeper[Agent] = Keeper(64, 3)
        self._editions = 0

    def parse(self, text: str) -> str:
        """Who sits on a seat, in the usual form: `person`, `model:name` or a spec string within bounds.

        Raises `UnknownAgentError` or `ParameterError` for anybody else.
        """
        if text == PERSON or text in self.models:
            return text
        spec = split_spec(text)
        if spec.name not in self.names or spec.name == PERSON:
            raise UnknownAgentError(unknown("agent", text[:40], self.names))
        values = dict(spec.keywords)
        if spec.value is not None:
            first = next(iter(controls_of(spec.name)), None)
            if first is None or first in values:
                raise ParameterError(f"{spec.name} takes no {spec.value[:40]!r} here")
            values[first] = spec.value
        return spec_of_values(spec.name, values)

    def controls(self, seat: str) -> dict[str, Control]:
        """The controls of who sits there, none of a person and of a model."""
        return {} if seat == PERSON or seat in self.models else controls_of(split_spec(seat).name)

    def values(self, seat: str) -> dict[str, str]:
        """What the controls of who sits there show."""
        controls = self.controls(seat)
        spec = split_spec(seat)
        given = dict(spec.keywords) | ({} if spec.value is None else {next(iter(controls), ""): spec.value})
        values = {name: given.get(name, control.default) for name, control in controls.items()}
        if "opponent_temperature" in values:  # by default one's own
            values["opponent_temperature"] = values["opponent_temperature"] or values["temperature"]
        return values

    def make(self, seat: str, game: Game) -> Agent:
        """The agent of a seat, not a person. One that is a fixed policy is made once and shared."""
        found = self._made.get(game, seat)
        if found is None:
            found = make_agent(self.spec(seat), game)
            if found.is_fixed:
                self._made.keep(game, seat, found)
        return found

    def fixed(self, seat: str, game: Game) -> Agent:
        """The agent of a seat, of whose policy all is computed while you wait.

        Raises `PolicyError` for one without such a policy, `GameTooLargeError` for one that would search anew
        in each of millions of positions.
        """
        agent = declared_agent(self.make(seat, game), game)
        if not is_instant(game) and "simulations" in self.controls(seat):
            raise GameTooLargeError(
                f"{seat} searches anew in every position: that is looked at on up to {INSTANT_CELLS} cells."
            )
        return agent

    def spec(self, seat: str) -> str:
        """The spec string of who sits there."""
        if seat == READER and self._games_file is not None:
            return f"{READER}:{self._games_file}"
        return self.models.get(seat, seat)

    def forget_reader(self) -> None:
        """Let the agent that learns from the log read it again: a game was added."""
        self._made.drop(READER)
        self._editions += 1

    def edition(self, *seats: str) -> int:
        """A number that is another one when one of these has learned something."""
        return self._editions if READER in seats else 0

    def is_quick(self, seat: str, game: Game) -> bool:
        """Whether a move of who sits there takes no time to speak of."""
        values = split_spec(seat).keywords
        if "seconds" in values or int(values.get("simulations", 0)) > _MOST_SIMULATIONS:
            return False
        is_made = self._made.get(game, seat) is not None
        return is_instant(game) or is_made or not is_exact(game)


def named_models(paths: list[str]) -> dict[str, str]:
    """Specs by name, the stem of the file, of models given by paths or spec strings.

    Raises `ParameterError` for a file that is not there.
    """
    named: dict[str, str] = {}
    for path in paths:
        spec = spec_of(path)
        file = Path(spec.partition(":")[2].partition(",")[0] or path)
        if not file.is_file():
            raise ParameterError(f"there is no model {str(file)!r}")
        name = stem = file.stem.replace(" ", "-")
        while name in named:
            name = f"{stem}-{len(named) + 1}"
        named[name] = spec
    return named
