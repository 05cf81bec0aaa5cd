"""Who may play: people, the registered agents, the models of the command line, and presets by level."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from ttt_env.agent import Agent, make_agent
from ttt_env.analysis.evaluation import fixed_agent
from ttt_env.app.advice import is_solved
from ttt_env.app.models import spec_of
from ttt_env.app.web.computing import Keeper
from ttt_env.app.web.controls import READER, Control, controls_of, offered_names, spec_of_values
from ttt_env.errors import GameTooLargeError, ParameterError, TttEnvError, UnknownAgentError, unknown
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import INSTANT_CELLS, MASK_CELLS, is_instant, n_placements
from ttt_env.rules.specs import split_spec

PERSON = "person"
_MODEL = "model:"
_INSTANT_POSITIONS = n_placements(INSTANT_CELLS)
_QUICK_SECONDS = 0.01  # a move that nobody notices waiting for
_STUDY_SECONDS = 1.0  # the policy in all positions of a game

LEVELS = ("Easy", "Medium", "Hard", "Perfect")


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
        agent = fixed_agent(self.make(seat, game), game)
        if not is_instant(game) and agent.seconds_per_move:
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

    def learns(self, seat: str) -> bool:
        """Whether who sits there learns from the games that are played here."""
        return seat == READER

    def is_quick(self, seat: str, game: Game) -> bool:
        """Whether a move of who sits there takes no time to speak of; the agent may be made for that."""
        return seat == PERSON or self._seconds_per_move(seat, game) <= _QUICK_SECONDS

    def is_quick_to_study(self, seat: str, game: Game) -> bool:
        """Whether the policy of who sits there, in all positions of the game, takes no time to speak of."""
        if seat == PERSON:
            return True
        seconds = self._seconds_per_move(seat, game) * _INSTANT_POSITIONS
        return is_instant(game) and seconds <= _STUDY_SECONDS

    def _seconds_per_move(self, seat: str, game: Game) -> float:
        """What the agent says; infinite if it is yet to be made and that takes long."""
        is_ready = self._made.get(game, seat) is not None
        solves = is_solved(game) and not is_instant(game)
        if not is_ready and (solves or seat in self.models):
            return inf
        try:
            return self.make(seat, game).seconds_per_move
        except (TttEnvError, ImportError):  # which it says again, at once, when it is to move
            return 0.0


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


@dataclass(frozen=True)
class Preset:
    """An agent by how hard it is to play against."""

    level: str
    seat: str


def presets(game: Game) -> tuple[Preset, ...]:
    """The levels of this game, the easiest first: nobody is called perfect whose play is not proved to be."""
    if is_solved(game):
        seats = ["random", "epsilon:minimax,epsilon=0.3", "epsilon:minimax", "minimax"]
    elif game.n_cells <= MASK_CELLS:
        seats = ["random", "mcts:simulations=300", "mcts:simulations=5000,playout=win-block"]
    else:
        seats = ["random"]
    return tuple(Preset(level, seat) for level, seat in zip(LEVELS, seats, strict=False))


def moved_over(seat: str, before: Game, after: Game) -> str:
    """Who sits there when another game begins: a preset stays on its level, as far as there is one."""
    offered = presets(after)
    for number, preset in enumerate(presets(before)):
        if preset.seat == seat:
            return offered[min(number, len(offered) - 1)].seat
    return seat
