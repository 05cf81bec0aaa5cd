"""The players on offer: people, registered agents, the models of the command line, and presets by level."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

from ttt_env.agent import Agent, AskedAgent, make_agent, stationary_agent
from ttt_env.analysis.known import is_solved
from ttt_env.bots.command import CommandAgent
from ttt_env.errors import GameTooLargeError, ParameterError, TttEnvError
from ttt_env.rules import Game, get_game, is_instant, n_placements, split_spec
from ttt_env.rules.sizes import INSTANT_CELLS
from ttt_env.storage.models import spec_of
from ttt_env.web.computing import Keeper, Lane
from ttt_env.web.controls import READER, Control, controls_of, offered_names, spec_of_values, usual_spec

PERSON = "person"
_PROGRAM = "process"  # the agent of a command
_MODEL = "model:"
_INSTANT_POSITIONS = n_placements(INSTANT_CELLS)
_QUICK_SECONDS = 0.01  # a move that nobody notices waiting for
_STUDY_SECONDS = 1.0  # the policy in all positions of a game

LEVELS = ("Easy", "Medium", "Hard", "Perfect")


@dataclass(frozen=True)
class Offer:
    """A player by `name`: why it cannot play a game, or else what has to be waited for; empty if nothing."""

    name: str
    refusal: str
    cost: str


class Roster:
    """The agents that the page knows; `models` maps the names of the command line's models to specs.

    `games_file` is the log from which `imitation` learns.
    """

    def __init__(self, models: Mapping[str, str], games_file: Path | None = None) -> None:
        self.specs, self.games_file = dict(models), games_file
        self.models = {f"{_MODEL}{name}": spec for name, spec in models.items()}
        self.names = (PERSON, *offered_names(), *self.models)
        self._made: Keeper[Agent] = Keeper(64, 3)
        self._refusals: Keeper[str] = Keeper(256, 256)
        self.editions = 0

    def parse(self, text: str) -> str:
        """The player that a text names in its usual form: `person`, `model:name`, a spec string.

        Raises `UnknownAgentError` or `ParameterError` for anybody else.
        """
        if text == PERSON or text in self.models:
            return text
        return usual_spec(text, offered_names())

    def controls(self, player: str) -> Mapping[str, Control]:
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
        """The agent of a player who is no person.

        One with a fixed policy, and a program, is made once and shared. Raises the errors of `make_agent`,
        and `GameTooLargeError` for an agent that lets another one search in millions of positions.
        """
        agent = self._made.get(game, player)
        if agent is None:
            agent = make_agent(self.spec(player), game, trusted=self._is_given(player))
            if agent.sweeps and not is_instant(game) and any(part.seconds_per_move for part in agent.parts):
                raise GameTooLargeError(
                    f"{player} lets another agent search in every position, here on up to "
                    f"{INSTANT_CELLS} cells."
                )
            # A program goes on running from move to move.
            if agent.is_stationary or isinstance(agent, AskedAgent):
                self._made.keep(game, player, agent)
        return agent

    def prepare(self, player: str, game: Game) -> None:
        """Make the agent of a player beforehand; what keeps it from that, it says when it is to move."""
        with suppress(TttEnvError, ImportError):
            self.make(player, game)

    def fixed(self, player: str, game: Game) -> Agent:
        """The agent that a player is, whose policy in every position can be computed while a visitor waits.

        Raises `PolicyError` for an agent without a fixed policy, `GameTooLargeError` for one that searches
        anew in each of millions of positions.
        """
        agent = stationary_agent(self.make(player, game), game)
        if not is_instant(game) and agent.seconds_per_move:
            raise GameTooLargeError(
                f"{player} searches anew in every position: computed here on up to {INSTANT_CELLS} cells."
            )
        return agent

    def spec(self, player: str) -> str:
        """The spec string from which the agent of a player is made."""
        if player == READER and self.games_file is not None:
            return f"{READER}:{self.games_file}"
        return self.models.get(player, player)

    def _is_given(self, player: str) -> bool:
        """True for a player of the command line, or of its game log; others come from addresses."""
        return player in self.models or player == READER

    def forget_reader(self) -> None:
        """Let the agent that learns from the game log read it again, because a game was added."""
        self.catch_up(self.editions + 1)

    def catch_up(self, editions: int) -> None:
        """Forget what the other process's roster, which is at this edition, has forgotten since."""
        if editions != self.editions:
            self._made.drop(READER)
            self.editions = editions

    def edition(self, *players: str) -> int:
        """A number that changes whenever one of these players has learned something."""
        return self.editions if READER in players else 0

    def refusal(self, player: str, game: Game) -> str:
        """The reason why this player cannot play the game here, in a sentence; empty if it can."""
        refusal = self._refusals.get(game, player)
        if refusal is None:
            refusal = ""
            try:
                self._has_to_plan(player, game)
            except (TttEnvError, ImportError) as error:
                refusal = str(error)
            self._refusals.keep(game, player, refusal)
        return refusal

    def offers(self, game: Game) -> list[Offer]:
        """The players by name, with what keeps them from this game or makes one wait for them."""
        offers = []
        for name in self.names:
            player = name if name == PERSON or name in self.models else spec_of_values(name, {})
            refusal = self.refusal(player, game)
            is_slow = not refusal and self._has_to_plan(player, game)
            cost = "takes some seconds to solve the game first" if is_slow else ""
            offers.append(Offer(name, refusal, cost))
        return offers

    def _has_to_plan(self, player: str, game: Game) -> bool:
        """True for a player that looks at millions of positions first. Raises as `make` does."""
        if player == PERSON or player in self.models:  # which would have to be loaded to be asked
            return False
        return self.make(player, game).sweeps and not is_instant(game)

    def lane_of_move(self, player: str, game: Game) -> Lane:
        """The lane in which this player's moves are computed. May construct the agent to find out."""
        if self.refusal(player, game):
            return "quick"
        if self._has_to_plan(player, game):
            return "plan"
        return "quick" if self._seconds_per_move(player, game) <= _QUICK_SECONDS else "search"

    def may_reply_within(self, seconds: float, player: str, game: Game) -> bool:
        """False if this player says itself that a move takes longer. May construct the agent to find out."""
        is_planned = self.lane_of_move(player, game) == "plan"  # in the other process, where it may be made
        return is_planned or self._seconds_per_move(player, game) <= seconds

    def lane_of_study(self, game: Game, *players: str) -> Lane:
        """The lane for a computation that may need these players' policies in every position."""
        if not is_instant(game):
            return "sweep" if is_solved(game) else "search"
        if "plan" in [self.lane_of_move(player, game) for player in players]:
            return "sweep"
        seconds = sum(self._seconds_per_move(player, game) for player in players) * _INSTANT_POSITIONS
        return "quick" if seconds <= _STUDY_SECONDS else "sweep" if seconds < inf else "search"

    def _seconds_per_move(self, player: str, game: Game) -> float:
        """The agent's own `seconds_per_move`; infinity for a model that has to be loaded first."""
        if player == PERSON:
            return 0.0
        if player in self.models and self._made.get(game, player) is None:
            return inf
        try:
            return self.make(player, game).seconds_per_move
        except (TttEnvError, ImportError):  # which it says again, at once, when it is to move
            return 0.0


def named_models(paths: list[str]) -> dict[str, str]:
    """The spec strings of models that are given by path or spec string; each goes by the stem of its file.

    A program, such as "process:COMMAND", goes by its name. Raises `ParameterError` for a file or a program
    that is not there.
    """
    named: dict[str, str] = {}
    for path in paths:
        spec = spec_of(path)
        name = stem = _name_of_model(spec).replace(" ", "-")
        while name in named:
            name = f"{stem}-{len(named) + 1}"
        named[name] = spec
    return named


def _name_of_model(spec: str) -> str:
    """The stem of a model's file; of a program, its name and that of its script."""
    agent, items = split_spec(spec)
    if agent == _PROGRAM or agent.endswith(".py"):
        program = make_agent(spec)
        assert isinstance(program, CommandAgent)
        return program.label
    file = Path(items[0] if items else agent)
    if not file.is_file():
        raise ParameterError(f"there is no model {str(file)!r}")
    return file.stem


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
    ("win-block", "Completes and blocks squares, else moves at random"),
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
        agents = _SEARCHED
    return tuple(Preset(level, *agent) for level, agent in zip(LEVELS, agents, strict=False))


def first_opponent(game: Game) -> str:
    """The first opponent of a visitor in this game: the second level, if there is one."""
    return presets(game)[:2][-1].player


def moved_over(player: str, before: Game, after: Game) -> str:
    """The player after a change of game: a preset becomes the preset of the same level there."""
    offered = presets(after)
    for number, preset in enumerate(presets(before)):
        if preset.player == player:
            return offered[min(number, len(offered) - 1)].player
    return player
