"""The agents on the page: agents of the package, agents from the command line, and levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from ttt_env.agent import Agent, agent_names, is_of_package, make_agent
from ttt_env.bots.command import CommandAgent
from ttt_env.errors import TttEnvError
from ttt_env.rules import Game, get_game, is_interactive, split_spec
from ttt_env.storage.models import file_of, spec_of

PERSON = "person"
PROOF = "proof"
_PROVED_GAME = "qubic-v0"
_KEPT = 64  # agents


@dataclass(frozen=True)
class Level:
    """An agent to play against, with its difficulty, its manner of play, and its only `seat`, if any."""

    name: str
    agent: str
    manner: str
    seat: Literal["", "X"] = ""


_RANDOM = ("random", "Moves at random")
_PERFECT = ("minimax:prefer=fast", "Never loses; wins as soon, and resists as long, as it can")
_SOLVED = (
    _RANDOM,
    ("epsilon:minimax,epsilon=0.3", "Perfect, but 3 moves in 10 are random"),
    ("epsilon:minimax,epsilon=0.1", "Perfect, but 1 move in 10 is random"),
    _PERFECT,
)
_SQUARE = (  # the easy and the hard opponent of "Square Tic Tac Toe AI", one between them, and one above
    _RANDOM,
    ("win-block", "Completes and blocks squares, else moves at random"),
    ("weights", "Weighs cells by the squares still open"),
    _PERFECT,
)
_SEARCHED = (
    _RANDOM,
    ("mcts:simulations=300", "Tries 300 games before each move"),
    ("mcts:simulations=5000,playout=win-block", "Tries 5,000 better games before each move"),
)
_NAMES = ("Easy", "Medium", "Hard", "Perfect")


class Players:
    """Makes the agents that a page names, and caches them.

    `agents` are the files and spec strings of the command line. Outside of this object only their labels are
    used, so that no command line reaches a page.
    """

    def __init__(self, agents: Sequence[str] = ()) -> None:
        self.labels = _labels(agents)
        self.make = lru_cache(_KEPT)(self._make)  # a program keeps running from move to move

    def _make(self, agent: str, game: Game) -> Agent:
        """The agent of this label or spec string. Raises as `make_agent` does for text from elsewhere."""
        if (agent, game.name) == (PROOF, _PROVED_GAME):
            return make_agent(f"strategy:{proof_file()}", game)
        return make_agent(self.labels.get(agent, agent), game, trusted=agent in self.labels)

    def agents_for(self, game: Game) -> list[str]:
        """The labels and names of the agents that can play a game with their default parameters."""
        names = [*self.labels, *(name for name in agent_names() if is_of_package(name))]
        return [name for name in names if self._error_of(name, game) is None]

    def check(self, games: Sequence[Game]) -> None:
        """Raise the error of the first agent of the command line that can play none of the games."""
        for label in self.labels:
            errors = [self._error_of(label, game) for game in games]
            if errors[0] is not None and None not in errors:
                raise errors[0]

    def _error_of(self, name: str, game: Game) -> TttEnvError | ImportError | None:
        """The reason why an agent cannot play a game; None if it can."""
        try:
            self.make(name, game)
        except (TttEnvError, ImportError) as error:
            return error
        return None

    def levels(self, game: Game) -> list[Level]:
        """The levels of a game, the easiest first. Only optimal play is called perfect."""
        if game == get_game("square-v0"):
            kinds: Sequence[tuple[str, str]] = _SQUARE
        else:
            kinds = _SOLVED if is_interactive(game) else _SEARCHED
        levels = [Level(name, *each) for name, each in zip(_NAMES, kinds, strict=False)]
        if game.name == _PROVED_GAME:
            levels.append(Level("Proof", PROOF, "Plays X, and the proof that X wins: nothing stops it", "X"))
        return levels


def proof_file() -> Path:
    """The proof that X wins Qubic, which comes with the package."""
    return Path(str(files("ttt_env.proofs") / f"{_PROVED_GAME}.npz"))


def _labels(agents: Sequence[str]) -> dict[str, str]:
    """The spec strings of agents by label, without agents that the page lists anyway."""
    labels: dict[str, str] = {}
    for agent in agents:
        spec = spec_of(agent)
        if spec in agent_names():
            continue
        stem = label = _label_of(spec)
        number = 1
        while label in labels or label in agent_names():
            number += 1
            label = f"{stem}-{number}"
        labels[label] = spec
    return labels


def _label_of(spec: str) -> str:
    """The stem of a model's file, the name of a program and its script, or else the spec string itself.

    Raises `ParameterError` for a program that does not exist.
    """
    name = split_spec(spec).name
    if name == "process" or name.endswith(".py"):
        agent = make_agent(spec)
        assert isinstance(agent, CommandAgent)
        return agent.label.replace(" ", "-")
    file = file_of(spec)
    return (spec if file is None else file.stem).replace(" ", "-")
