"""Games of two players, one after another: who moves, what may be taken back, the score."""

from dataclasses import dataclass

import numpy as np

from ttt_env.agent import Agent
from ttt_env.errors import IllegalMoveError
from ttt_env.rules import SEATS, Game, GameRecord, Position, Seat


@dataclass(frozen=True)
class Player:
    """Somebody who plays: a name, the spec string of an agent or `"person"`, and the agent if it is one."""

    name: str
    spec: str
    agent: Agent | None = None


@dataclass
class Score:
    """The results of finished games: the wins of the first and of the second player, and the draws."""

    players: tuple[Player, Player]
    wins: list[int]
    draws: int = 0

    def __str__(self) -> str:
        first, second = (player.name for player in self.players)
        return f"{first} {self.wins[0]}, draws {self.draws}, {second} {self.wins[1]}"


class PlaySession:
    """The present game of two players, and the score of those before. The first one is X in the first game.

    Nothing changes on an error.
    """

    def __init__(self, game: Game, players: tuple[Player, Player], rng: np.random.Generator) -> None:
        self.game, self.rng = game, rng
        self.score = Score(players, [0, 0])
        self._first_is_o = False
        self.restart()

    def restart(self) -> None:
        """Begin the game again. A game that was not over does not count."""
        self.cells: list[int] = []
        self.resigned: Seat | None = None

    def next_game(self) -> None:
        """Begin the next game, sides swapped."""
        self._first_is_o = not self._first_is_o
        self.restart()

    def player(self, seat: Seat) -> Player:
        """The player on this seat."""
        return self.score.players[self._number(seat)]

    def _number(self, seat: Seat) -> int:
        return SEATS.index(seat) ^ self._first_is_o

    @property
    def record(self) -> GameRecord:
        """The moves so far."""
        return GameRecord(self.game, tuple(self.cells))

    @property
    def position(self) -> Position:
        """The board as it is."""
        return self.record.positions()[-1]

    @property
    def to_move(self) -> Player:
        """The player whose turn it is."""
        return self.player(self.position.to_move)

    @property
    def is_over(self) -> bool:
        """True if the game is finished or a player has resigned."""
        return self.resigned is not None or self.position.is_over

    @property
    def winner(self) -> Seat | None:
        """The seat that has won; None in a draw and while the game goes on."""
        if self.resigned is not None:
            return "O" if self.resigned == "X" else "X"
        return self.position.winner

    def play(self, cell: int) -> None:
        """Make a move for the player whose turn it is. Raises `IllegalMoveError`."""
        self._refuse_if_over()
        self.position.play(cell)
        self.cells.append(cell)
        self._count_if_over()

    def reply(self) -> int:
        """Let the agent whose turn it is move, and return its cell."""
        agent = self.to_move.agent
        assert agent is not None, "a person moves by `play`"
        cell = agent.choose_in_game(self.record.positions(), self.rng)
        self.play(cell)
        return cell

    def undo(self) -> int:
        """Take back the last move of a person and all after it, and return how many moves these are."""
        self._refuse_if_over()
        for ply in reversed(range(len(self.cells))):
            if self.player(SEATS[ply % 2]).agent is None:
                taken_back = len(self.cells) - ply
                del self.cells[ply:]
                return taken_back
        return 0

    def resign(self) -> None:
        """Give the game up, for the player whose turn it is."""
        self._refuse_if_over()
        self.resigned = self.position.to_move
        self._count_if_over()

    def _refuse_if_over(self) -> None:
        if self.is_over:
            raise IllegalMoveError(f"the game {self.record} is over")

    def _count_if_over(self) -> None:
        if not self.is_over:
            return
        if self.winner is None:
            self.score.draws += 1
        else:
            self.score.wins[self._number(self.winner)] += 1
