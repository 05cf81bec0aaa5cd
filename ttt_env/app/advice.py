"""The best move of a position, as the terminal and the page show it: the same words, the same limits.

A game of up to `INTERACTIVE_CELLS` cells is solved while somebody waits. In a larger one a short proof search
tries to find the value; if it fails, a tree search gives an estimate.
"""

from dataclasses import dataclass

from ttt_env.agents.mcts.search import Search
from ttt_env.analysis.solution import solve
from ttt_env.proofs.known import is_solved, known_value, known_values_of_moves, short_proof
from ttt_env.render.words import RESULTS, cells_text, signed
from ttt_env.rules import MASK_CELLS, Position

_SIMULATIONS = 20_000  # some tenths of a second


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
class Advice:
    """The best cells of a position and its value for the player to move.

    `is_exact` says that the value is solved or proved; otherwise a tree search expects it, in [−1, 1].
    """

    cells: list[int]
    value: float
    is_exact: bool


def advise(position: Position) -> Advice:
    """The best moves of a position that is not over; where none is proved, those of a tree search."""
    value = known_value(position)
    if value is not None:
        return Advice(best_cells(position), value, True)
    is_wide = position.game.n_cells > MASK_CELLS  # no proof was tried there
    search = Search(position, seed=0, threats=is_wide)
    search.run(simulations=_SIMULATIONS)
    cells = search.best_cells()
    if search.value is not None:
        return Advice(cells, search.value, True)
    visits, wins = search.visits[cells], search.wins[cells]
    return Advice(cells, float(2 * wins.sum() / visits.sum() - 1), False)


def hint(position: Position) -> str:
    """The advice in a sentence."""
    if position.is_over:
        return "The game is over."
    advice, seat = advise(position), position.to_move
    cells = cells_text(advice.cells, position.game)
    if not advice.is_exact:
        expected = signed(advice.value, 2)
        return f"A tree search would play {cells}, and expects {expected} for {seat} (1 is a win)."
    if advice.value == -1:
        return f"{seat} loses against best play, whatever it does."
    if len(advice.cells) > 1 and advice.cells == list(position.legal_cells):
        return f"{seat} {RESULTS[int(advice.value)]} with best play: every move does."
    return f"{seat} {RESULTS[int(advice.value)]} with best play: {cells}."


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
