"""The agents on the page: those of the package, those that were given on the command line, and levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from ttt_env.agent import Agent, agent_names, is_of_package, make_agent
from ttt_env.bots.command import CommandAgent
from ttt_env.errors import ParameterError, TttEnvError
from ttt_env.rules import Game, get_game, is_interactive, split_spec
from ttt_env.storage.models import spec_of

PERSON = "person"
PROOF = "proof"
_PROVED_GAME = "qubic-v0"
_KEPT = 64  # agents


@dataclass(frozen=True)
class Level:
    """An agent to play against, how hard that is, how it plays, and its `seat` if it has but one."""

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
    """Makes the agents that a page names, and keeps them.

    `models` are files, or programs as `process:COMMAND`, that were given on the command line. Everywhere
    outside this object they go by their labels: no command line of theirs reaches a page.
    """

    def __init__(self, models: Sequence[str] = ()) -> None:
        self.labels = _labels(models)
        self.make = lru_cache(_KEPT)(self._make)  # a program goes on running from move to move

    def _make(self, agent: str, game: Game) -> Agent:
        """The agent of this label or spec string. Raises as `make_agent` does for text from elsewhere."""
        if (agent, game.name) == (PROOF, _PROVED_GAME):
            return make_agent(f"strategy:{proof_file()}", game)
        return make_agent(self.labels.get(agent, agent), game, trusted=agent in self.labels)

    def offered(self, game: Game) -> list[str]:
        """The labels and names of the agents that can play a game without further parameters."""
        own = [name for name in agent_names() if is_of_package(name)]
        return [*self.labels, *(name for name in own if self._can_play(name, game))]

    def _can_play(self, name: str, game: Game) -> bool:
        try:
            self.make(name, game)
        except (TttEnvError, ImportError):
            return False
        return True

    def levels(self, game: Game) -> list[Level]:
        """The levels of a game, the easiest first. Only play without a blunder is called perfect."""
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


def _labels(models: Sequence[str]) -> dict[str, str]:
    """The spec strings of the models by label: the stem of a file, or the name of a program and its script.

    Raises `ParameterError` for a file or a program that is not there.
    """
    labels: dict[str, str] = {}
    for model in models:
        spec = spec_of(model)
        stem = label = _label_of(spec)
        number = 1
        while label in labels or label in agent_names():
            number += 1
            label = f"{stem}-{number}"
        labels[label] = spec
    return labels


def _label_of(spec: str) -> str:
    name, items = split_spec(spec)
    if name == "process" or name.endswith(".py"):
        agent = make_agent(spec)
        assert isinstance(agent, CommandAgent)
        return agent.label.replace(" ", "-")
    file = Path(items[0] if items else name)
    if not file.is_file():
        raise ParameterError(f"there is no model {str(file)!r}")
    return file.stem.replace(" ", "-")
