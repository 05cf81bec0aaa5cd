"""The value of a position, and the mistakes of a game, as far as they can be had soon.

They come from the solution of the game, or from a short proof.
"""

from dataclasses import dataclass
from functools import lru_cache

from ttt_env.analysis.solution import solve
from ttt_env.proofs.proof import Proof, prove
from ttt_env.render.words import RESULTS, cells_text
from ttt_env.rules import INTERACTIVE_CELLS, Game, Position

PROOF_NODES = 4_000  # some hundredths of a second
_MEMO_SIZE = 1 << 14


def is_solved(game: Game) -> bool:
    """True if the game is small enough to solve while somebody waits, so that all values are known."""
    return game.n_cells <= INTERACTIVE_CELLS


@lru_cache(maxsize=_MEMO_SIZE)
def known_value(position: Position, nodes: int = PROOF_NODES) -> int | None:
    """The value for the player to move, 1, 0 or −1; None if a proof of `nodes` nodes does not find it.

    Games of up to `INTERACTIVE_CELLS` cells are solved, so that there the value is always known.
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


@lru_cache(maxsize=_MEMO_SIZE)
def short_proof(position: Position, nodes: int = PROOF_NODES) -> Proof | None:
    """The result of a search of `nodes` nodes; None for a budget of 0 nodes."""
    return prove(position.game, position, nodes=nodes).without_search() if nodes else None


def best_cells(position: Position) -> list[int]:
    """The cells that are known to keep the value of the position, ascending; none if it is not known."""
    if is_solved(position.game):
        return solve(position.game).best_cells(position)
    value = known_value(position)
    if value is None:
        return []
    proved_best = [cell for cell, worth in known_values_of_moves(position).items() if worth == value]
    proof = short_proof(position)
    return proved_best or (list(proof.principal_variation[:1]) if proof else [])


@dataclass(frozen=True)
class MoveVerdict:
    """A move of a game, and the values of the positions before and after it for the player who made it.

    `better` are the cells that would have kept the value, if the move is a mistake.
    """

    position: Position
    cell: int
    before: int | None
    after: int | None
    better: tuple[int, ...] = ()

    @property
    def is_mistake(self) -> bool:
        """True if the move is known to have given something away."""
        return self.before is not None and self.after is not None and self.after < self.before

    @property
    def sentence(self) -> str:
        """The mistake in a sentence: what the move gave away. Empty if nothing, or if that is not known."""
        if self.before is None or self.after is None or not self.is_mistake:
            return ""
        cells = cells_text(list(self.better), self.position.game)
        now, kept = RESULTS[self.after], RESULTS[self.before]
        return f"A mistake: now {self.position.to_move} {now}; it {kept} with {cells}."


def judge(position: Position, cell: int) -> MoveVerdict:
    """The values before and after a move, and which cells would have been better."""
    before, after = known_value(position), known_value(position.play(cell))
    verdict = MoveVerdict(position, cell, before, None if after is None else -after)
    if not verdict.is_mistake:
        return verdict
    return MoveVerdict(position, cell, before, verdict.after, tuple(best_cells(position)))
