"""The trained agents that come with this package, a file for each name and game.

Beside each file is its certificate, or a scorecard of games that it played where nothing can be computed.

`NAME.npz`, and `NAME@….npz` for further games, are policy tables of some kilobytes, which `lookup:PATH`
plays; those of `q-learning`, `value-network` and `alphazero` also hold the learned table and networks. For
games of 16 cells and more there is a network alone. `scripts/build_pretrained.py` makes them.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from ttt_env.agents.learned.lookup import Lookup
from ttt_env.errors import FileError
from ttt_env.rules import Game, get_game
from ttt_env.storage.archive import game_name, is_for

FOLDER = Path(str(files(__name__)))


def pretrained_file(name: str, game: Game) -> Path:
    """The file of the agent of this name that was trained for this game.

    Raises `FileError`, which names the games that the agent was trained for, if there is none.
    """
    paths = [path for path in sorted(FOLDER.glob("*.npz")) if path.stem.split("@")[0] == name]
    for path in paths:
        if is_for(path, game):
            return path
    games = ", ".join(map(game_name, paths)) or "no game"
    raise FileError(
        f"{name} is included for {games}, not for {game.name}: "
        f"train it on that game, save it, and name the file, {name}:PATH"
    )


class PretrainedTable(Lookup):
    """Plays a policy table: the one that comes with this package under `name`, or that of a path."""

    name: ClassVar[str]

    def __init__(self, game: Game | str, path: str | None = None) -> None:
        super().__init__(game, str(pretrained_file(self.name, get_game(game))) if path is None else path)


class PPO(PretrainedTable):
    """A policy trained by masked PPO, with the recipe `maskable-ppo`.

    Args:
        game: The game, or its id.
        path: The file of another policy table to play.

    Raises:
        FileError: No such policy comes with this package for the game, or the file is not a table of
            it.

    Example:
        >>> from ttt_env import certify
        >>> certify("ppo", "tictactoe-v0").unbeatable
        True

    """

    name = "ppo"


class DQN(PretrainedTable):
    """A policy trained by deep Q-learning, with the recipe `dqn`.

    Args:
        game: The game, or its id.
        path: The file of another policy table to play.

    Raises:
        FileError: No such policy comes with this package for the game, or the file is not a table of
            it.

    Example:
        >>> from ttt_env import certify
        >>> certify("dqn", "tictactoe-v0").unbeatable
        True

    """

    name = "dqn"
