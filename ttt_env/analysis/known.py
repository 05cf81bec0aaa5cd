"""The value of a position, and the blunders of a game, as far as they can be computed quickly.

They come from the solution of the game, or from a short search by the room `proofs`, which is installed as an
entry point: nothing here imports it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ttt_env.agent import installed
from ttt_env.analysis.solution import solve
from ttt_env.render.words import RESULTS, cells_text
from ttt_env.rules import Game, GameRecord, Position, is_interactive

PROOF_NODES = 4_000  # some hundredths of a second
_MEMO_SIZE = 1 << 14


def is_solved(game: Game) -> bool:
    """True if the game is small enough to solve while the user waits, so that all values are known."""
    return is_interactive(game)


@lru_cache(maxsize=_MEMO_SIZE)
def known_value(position: Position, nodes: int = PROOF_NODES) -> int | None:
    """The value for the player to move, 1, 0 or −1; None if a proof of `nodes` nodes does not find it.

    Games that can be solved in seconds are solved, so there the value is always known.
    """
    if position.is_over:
        winner = position.winner
        return 0 if winner is None else 1 if winner == position.to_move else -1
    if is_solved(position.game):
        return solve(position.game).value_of(position)
    proof = short_proof(position, nodes)
    return None if proof is None else proof.value


def known_values_of_moves(position: Position, nodes: int = PROOF_NODES) -> dict[int, int | None]:
    """The value of each legal move for the player who makes it, by cell; None as in `known_value`."""
    values = {cell: known_value(position.play(cell), nodes) for cell in position.legal_cells}
    return {cell: None if value is None else -value for cell, value in values.items()}


PROVER_GROUP = "ttt_env.provers"
"""Entry points: functions `(position, nodes)` that return a proof found within `nodes` nodes, or None."""


@lru_cache(maxsize=_MEMO_SIZE)
def short_proof(position: Position, nodes: int = PROOF_NODES) -> Any:
    """The `Proof` that the installed prover finds by a search of `nodes` nodes; None if it finds none."""
    for prover in installed(PROVER_GROUP).values():
        if (proof := prover.load()(position, nodes)) is not None:
            return proof
    return None


def best_cells(position: Position) -> list[int]:
    """The cells that provably keep the value of the position, ascending; none if the value is unknown."""
    if is_solved(position.game):
        return solve(position.game).best_cells(position)
    value = known_value(position)
    if value is None:
        return []
    proved_best = [
        cell for cell, move_value in known_values_of_moves(position).items() if move_value == value
    ]
    proof = short_proof(position)
    return proved_best or (list(proof.principal_variation[:1]) if proof else [])


@dataclass(frozen=True)
class MoveVerdict:
    """A move of a game, and the values of the positions before and after it for the player who made it.

    `better` are the cells that would have kept the value, if the move is a blunder.
    """

    position: Position
    cell: int
    before: int | None
    after: int | None
    better: tuple[int, ...] = ()

    @property
    def is_blunder(self) -> bool:
        """True if the move is known to be a blunder."""
        return self.before is not None and self.after is not None and self.after < self.before

    @property
    def sentence(self) -> str:
        """The blunder in a sentence, with what it gave away; empty if the move is not known to be one."""
        if self.before is None or self.after is None or not self.is_blunder:
            return ""
        cells = cells_text(list(self.better), self.position.game)
        lost = "win" if self.before > 0 else "draw"
        return f"A blunder: {self.position.to_move} could {lost} with {cells}, and now {RESULTS[self.after]}."


def judge(position: Position, cell: int) -> MoveVerdict:
    """The values before and after a move, and the cells that would have been better."""
    before, after = known_value(position), known_value(position.play(cell))
    verdict = MoveVerdict(position, cell, before, None if after is None else -after)
    if not verdict.is_blunder:
        return verdict
    return MoveVerdict(position, cell, before, verdict.after, tuple(best_cells(position)))


def blunders_of(record: GameRecord) -> list[int]:
    """The numbers, from 1 on, of the moves of a game that are known to be blunders.

    A win that becomes a draw or a loss, or a draw that becomes a loss, under best play from there. All of
    them are known on up to 16 cells; on larger boards, those that a short proof finds.

    >>> blunders_of(GameRecord.parse("tictactoe-v0: 4 1 0 8 2 6"))
    [2, 5]
    """
    moves = zip(record.positions(), record.cells, strict=False)
    return [number for number, move in enumerate(moves, 1) if judge(*move).is_blunder]
