"""Who may play: people, the registered agents, the models of the command line, and presets by level."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from ttt_env.agent import Agent, make_agent
from ttt_env.analysis.known import is_solved
from ttt_env.analysis.recorded import declared_agent
from ttt_env.app.models import spec_of
from ttt_env.app.web.computing import Keeper
from ttt_env.app.web.controls import READER, Control, controls_of, offered_names, spec_of_values
from ttt_env.errors import GameTooLargeError, ParameterError, TttEnvError, UnknownAgentError, unknown
from ttt_env.rules.catalogue import get_game
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
        """The player that a text names in its usual form: `person`, `model:name`, a spec string.

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

    def controls(self, player: str) -> dict[str, Control]:
        """The controls of a player's parameters; a person and a model have none."""
        return {} if player == PERSON or player in self.models else controls_of(split_spec(player).name)

    def values(self, player: str) -> dict[str, str]:
        """The values that the controls of a player show, by parameter."""
        controls, named = self.controls(player), self.given(player)
        values = {name: named.get(name, control.default) for name, control in controls.items()}
        if "opponent_temperature" in values:  # by default the agent's own
            values["opponent_temperature"] = values["opponent_temperature"] or values["temperature"]
        return values

    def given(self, player: str) -> dict[str, str]:
        """The parameters that a player's spec gives, by name."""
        spec = split_spec(player)
        first = next(iter(self.controls(player)), "")
        return dict(spec.keywords) | ({} if spec.value is None else {first: spec.value})

    def make(self, player: str, game: Game) -> Agent:
        """The agent of a player who is no person. An agent with a fixed policy is made once and shared."""
        agent = self._made.get(game, player)
        if agent is None:
            agent = make_agent(self.spec(player), game)
            if agent.is_fixed:
                self._made.keep(game, player, agent)
        return agent

    def fixed(self, player: str, game: Game) -> Agent:
        """The agent that a player is, whose policy in every position can be computed while a visitor waits.

        Raises `PolicyError` for an agent without a fixed policy, `GameTooLargeError` for one that searches
        anew in each of millions of positions.
        """
        agent = declared_agent(self.make(player, game), game)
        if not is_instant(game) and agent.seconds_per_move:
            raise GameTooLargeError(
                f"{player} searches anew in every position: that is looked at on up to {INSTANT_CELLS} cells."
            )
        return agent

    def spec(self, player: str) -> str:
        """The spec string from which the agent of a player is made."""
        if player == READER and self._games_file is not None:
            return f"{READER}:{self._games_file}"
        return self.models.get(player, player)

    def forget_reader(self) -> None:
        """Let the agent that learns from the game log read it again, because a game was added."""
        self._made.drop(READER)
        self._editions += 1

    def edition(self, *players: str) -> int:
        """A number that changes whenever one of these players has learned something."""
        return self._editions if READER in players else 0

    def learns(self, player: str) -> bool:
        """Whether this player learns from the games played here, so that answers about it grow old."""
        return player == READER

    def is_quick(self, player: str, game: Game) -> bool:
        """Whether a visitor hardly waits for a move of this player. The agent may be made for it."""
        return player == PERSON or self._seconds_per_move(player, game) <= _QUICK_SECONDS

    def is_quick_to_study(self, player: str, game: Game) -> bool:
        """Whether the policy of this player in every position of the game is computed within a second."""
        if player == PERSON:
            return True
        seconds = self._seconds_per_move(player, game) * _INSTANT_POSITIONS
        return is_instant(game) and seconds <= _STUDY_SECONDS

    def _seconds_per_move(self, player: str, game: Game) -> float:
        """The agent's own `seconds_per_move`; infinity if it is not made yet and making it takes long."""
        is_ready = self._made.get(game, player) is not None
        solves = is_solved(game) and not is_instant(game)
        if not is_ready and (solves or player in self.models):
            return inf
        try:
            return self.make(player, game).seconds_per_move
        except (TttEnvError, ImportError):  # which it says again, at once, when it is to move
            return 0.0


def named_models(paths: list[str]) -> dict[str, str]:
    """The spec strings of models that are given by path or spec string; each goes by the stem of its file.

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
    """An agent to play against, as a spec string, how hard that is, and how it plays, in a few words."""

    level: str
    player: str
    manner: str


_RANDOM = ("random", "Moves at random")
_PERFECT = ("minimax", "Never makes a mistake")
_SOLVED = [
    _RANDOM,
    ("epsilon:minimax,epsilon=0.3", "Perfect, but 3 moves in 10 are random"),
    ("epsilon:minimax", "Perfect, but 1 move in 10 is random"),
    _PERFECT,
]
_SQUARE = [  # the easy and the hard opponent of "Square Tic Tac Toe AI", one between them, and one above
    _RANDOM,
    ("epsilon:weights,epsilon=0.3", "Weighs cells, but 3 moves in 10 are random"),
    ("weights", "Weighs cells by the squares still open"),
    _PERFECT,
]
_SEARCHED = [
    _RANDOM,
    ("mcts:simulations=300", "Tries 300 games before each move"),
    ("mcts:simulations=5000,playout=win-block", "Tries 5,000 better games before each move"),
]


def presets(game: Game) -> tuple[Preset, ...]:
    """The presets for this game, the easiest first. Only proved perfect play is called perfect."""
    if game == get_game("square-v0"):
        agents = _SQUARE
    elif is_solved(game):
        agents = _SOLVED
    else:
        agents = _SEARCHED if game.n_cells <= MASK_CELLS else [_RANDOM]
    return tuple(Preset(level, *agent) for level, agent in zip(LEVELS, agents, strict=False))


def first_opponent(game: Game) -> str:
    """Whom a visitor meets first in this game: the second level, where there is one."""
    return presets(game)[:2][-1].player


def moved_over(player: str, before: Game, after: Game) -> str:
    """Who plays on when another game is chosen: a preset becomes the preset of the same level there."""
    offered = presets(after)
    for number, preset in enumerate(presets(before)):
        if preset.player == player:
            return offered[min(number, len(offered) - 1)].player
    return player
