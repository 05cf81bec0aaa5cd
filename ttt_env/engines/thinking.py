"""An agent that thinks in the background, for a time or until it is told to move."""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread, Timer

import numpy as np

from ttt_env.agent import Agent, AgentLike, chosen_cell, make_agent
from ttt_env.errors import GameTooLargeError, ParameterError, TttEnvError, shown
from ttt_env.rules import Game, Position, as_generator
from ttt_env.stopping import due_by

DEFAULT_SECONDS = 1.0
"""Seconds for a move where nobody says how long it may take."""
_OVERHEAD = 0.05  # seconds of a limit kept for sending the answer, half of the limit at most
_MOST_MOVES = 20  # at most, among which the remaining time is shared; most games end early
_GRACE = 1.0  # seconds for a search to end when nobody wants its move any more
_DAY = 86_400.0  # seconds: a search that ends when it is told to


def patient_agent(agent: AgentLike, game: Game) -> Agent:
    """The agent; a search whose spec sets no time or size goes on until it is told to move.

    So `mcts` and `minimax` on a large board use the time that the other side allows, while `mcts:seconds=2`
    and `mcts:simulations=100` do what they say. Raises as `make_agent` does.
    """
    spec = agent if isinstance(agent, str) else None
    try:
        plain = make_agent(agent, game)
        if spec is None or not plain.seconds_per_move:
            return plain
    except GameTooLargeError:
        if spec is None:
            raise
        with suppress(ParameterError):
            return make_agent(_with_seconds(spec), game)
        raise
    with suppress(ParameterError):  # it has a budget, or no time that could be set
        return make_agent(_with_seconds(spec), game)
    return plain


def _with_seconds(spec: str) -> str:
    return f"{spec}{',' if ':' in spec else ':'}seconds={_DAY}"


def seconds_of_limit(limit: float) -> float:
    """The seconds to think when the move has to arrive within `limit` seconds; 0 for a limit of 0.

    >>> seconds_of_limit(2.0), seconds_of_limit(0.02)
    (1.95, 0.01)
    """
    return max(limit - _OVERHEAD, limit / 2)


def seconds_of_clock(
    left: float, position: Position, increment: float = 0.0, moves: int | None = None
) -> float:
    """The seconds to think about one move when `left` seconds are left for the game, or for `moves` moves.

    `increment` seconds are added after each move. The time is shared out evenly.
    """
    own_moves = (position.game.n_cells - position.ply + 1) // 2
    shared_by = max(1, min(own_moves, _MOST_MOVES if moves is None else moves))
    return seconds_of_limit(min(left, left / shared_by + increment))


class Thinker:
    """Moves of an agent, one at a time, each found in a thread of its own.

    Raises as `make_agent` does for an agent that does not play the game.
    """

    def __init__(self, agent: AgentLike, game: Game, rng: np.random.Generator | int | None = None) -> None:
        self.agent = patient_agent(agent, game)
        self._rng = as_generator(rng)
        self._is_due = Event()
        self._thread: Thread | None = None

    def begin(
        self,
        position: Position,
        seconds: float | None,
        tell: Callable[[int | str], object],
        waits: bool = False,
    ) -> None:
        """Think about a move for some seconds, or without end for None, then `tell` it.

        `tell` gets the cell or, where the agent fails, why. It is called in the thread that thinks; with
        `waits` not before `move_now`, even if the move is known earlier.
        """
        self.move_now()
        self._is_due = is_due = Event()
        self._thread = Thread(target=self._think, args=(position, seconds, tell, is_due, waits), daemon=True)
        self._thread.start()

    def _think(
        self,
        position: Position,
        seconds: float | None,
        tell: Callable[[int | str], object],
        is_due: Event,
        waits: bool,
    ) -> None:
        clock = None if seconds is None else Timer(seconds, is_due.set)
        if clock is not None:
            clock.daemon = True
            clock.start()
        try:
            with due_by(is_due):
                move: int | str = chosen_cell(self.agent, position, self._rng)
        except TttEnvError as error:
            move = str(error)
        except Exception as error:  # an agent of the user: the other side has to learn that no move comes
            move = f"{type(error).__name__}: {shown(str(error))}"
        if clock is not None:
            clock.cancel()
        if waits:
            is_due.wait()
        tell(move)

    def move_now(self) -> None:
        """End the thinking, and wait until the move is told; nothing happens if nobody thinks."""
        self._is_due.set()
        self.wait()

    def wait(self) -> None:
        """Wait until the move is told."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def leave(self) -> None:
        """End the thinking, without waiting long for an agent that does not ask for the time."""
        self._is_due.set()
        if self._thread is not None:
            self._thread.join(_GRACE)
