"""The value of a position where it can be had soon: from the solution of the game, or by a short proof."""

from functools import lru_cache

from ttt_env.analysis.solution import solve
from ttt_env.proofs.proof import Proof, prove
from ttt_env.rules import INTERACTIVE_CELLS, MASK_CELLS, Game, Position

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
    """The result of a search of `nodes` nodes; None for more than 64 cells and for a budget of 0 nodes."""
    if position.game.n_cells > MASK_CELLS or not nodes:
        return None
    return prove(position.game, position, nodes=nodes).without_search()
