"""A person against an agent, in the terminal."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ttt_env.agent import Agent
from ttt_env.errors import IllegalMoveError
from ttt_env.render.text import draw_text
from ttt_env.rules.game import SEATS, Game, Position, Seat
from ttt_env.rules.notation import GameRecord

Ask = Callable[[str], str]
Say = Callable[[str], None]
_QUIT = {"q", "quit", "exit"}


class Leave(Exception):
    """The person wants to stop."""


@dataclass
class Score:
    """The results so far, from the person's side."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def __str__(self) -> str:
        return f"you {self.wins}, draws {self.draws}, opponent {self.losses}"

    def count(self, value: int) -> None:
        """Count a game that is worth `value` to the person."""
        self.wins += value > 0
        self.draws += value == 0
        self.losses += value < 0


@dataclass
class Table:
    """Where a person plays an agent, game after game, the sides swapped after each."""

    game: Game
    opponent: Agent
    rng: np.random.Generator
    ask: Ask
    say: Say
    score: Score = field(default_factory=Score)

    def sit_down(self, seat: Seat) -> None:
        """Play until the person leaves, by an answer, Ctrl-C or Ctrl-D."""
        self.say(f"{self.game.name}: type the number of a cell, or q to leave.")
        try:
            while True:
                self.score.count(self._play_one(seat).value(seat))
                self.say(f"Score: {self.score}.")
                if self.ask("Another game, sides swapped? [Y/n] ").strip().lower() in {"n", "no", *_QUIT}:
                    break
                seat = SEATS[1 - SEATS.index(seat)]
        except (Leave, EOFError, KeyboardInterrupt):
            self.say("")
        self.say(f"Goodbye. Final score: {self.score}.")

    def _play_one(self, seat: Seat) -> GameRecord:
        self.say(f"\nYou are {seat}.")
        position, cells = self.game.start, list[int]()
        while not position.is_over:
            last = cells[-1] if cells else None
            if position.to_move == seat:
                self.say(draw_text(position, last, numbers=True))
                cells.append(self._asked(position))
            else:
                cells.append(self.opponent.choose(position, self.rng))
                self.say(f"{position.to_move} plays {cells[-1]}.")
            position = position.play(cells[-1])
        self.say(draw_text(position, cells[-1]))
        self.say(_ending(position, seat))
        return GameRecord(self.game, tuple(cells))

    def _asked(self, position: Position) -> int:
        while True:
            answer = self.ask(f"{position.to_move}> ").strip().lower()
            if answer in _QUIT:
                raise Leave
            try:
                cell = int(answer)
                position.play(cell)
            except IllegalMoveError as error:
                self.say(f"{error}.")
            except ValueError:
                self.say(f"{answer!r} is no cell: type a number, or q to leave.")
            else:
                return cell


def _ending(position: Position, seat: Seat) -> str:
    if position.winner is None:
        return "A draw."
    return "You win!" if position.winner == seat else "You lose."
