"""Values proved by search, for games too large to solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Annotated, Any, Self

from ttt_env.errors import (
    ProofError,
)
from ttt_env.proofs import file as proof_file
from ttt_env.proofs.extraction import Extraction, check_strategy
from ttt_env.proofs.prover import ProofReport, Prover
from ttt_env.proofs.strategy import Regions, Strategy, check_has_strategies, drawing_regions
from ttt_env.render.words import RESULTS
from ttt_env.rules import Between, Game, Position, check_game, checked, get_game
from ttt_env.storage.codec import Saved

_MOST = 1e300  # finite nodes or seconds: much larger ints do not fit a float


@dataclass(frozen=True)
class Proof(Saved):
    """The result of a search on a position, all from the side of the player to move.

    A proof of a value keeps its search, from some megabytes to an eighth of the memory, to extract its
    `strategies`; use `without_search` to keep many proofs.

    Attributes:
        position: The position.
        bounds: The lowest and the highest value, −1, 0 or 1, that it can still have.
        principal_variation: The cells of best play from it to the end, or until neither player can complete
            a set any more; shorter if the budget was used up.
        nodes: The number of positions searched.
        seconds: The duration of the search, without compilation.
        regions: Groups of free cells which prove that the player to move does not win, as `drawing_regions`
            describes; empty if the search proved that, or if it is not true.

    Example:
        >>> import ttt_env
        >>> proof = ttt_env.prove("qubic-v0", nodes=1000)
        >>> proof.value, proof.bounds
        (None, (0, 1))

    """

    FORMAT = "ttt_env proof 1"
    DERIVED = ("game", "value")

    position: Position
    bounds: tuple[int, int]
    principal_variation: tuple[int, ...]
    nodes: int
    seconds: float
    regions: Regions = ()
    _prover: Prover | None = field(default=None, repr=False, compare=False, metadata={"saved": False})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the proof without its search, which is large and is repeated where it is needed again."""
        return type(self), tuple(getattr(self, item.name) for item in fields(self) if item.compare)

    def without_search(self) -> Self:
        """The same proof without its search, which `strategies` would have to repeat."""
        return replace(self, _prover=None)

    @property
    def game(self) -> Game:
        """The game of the position."""
        return self.position.game

    @property
    def value(self) -> int | None:
        """1 won, 0 drawn, −1 lost; None if the budget was too small to know."""
        return self.bounds[0] if self.bounds[0] == self.bounds[1] else None

    @cached_property
    def strategies(self) -> tuple[Strategy, ...]:
        """The strategies that secure the value; none if the value is not known, or the game is over.

        In a won or lost position it is the winner's strategy. In a drawn one each player has a strategy that
        avoids losing, except the first player on an empty board, who cannot lose in any case (see `prove`).

        Extracting the strategy from the search takes some time, and may need more memory than the search.

        Raises:
            ProofError: The game has gravity, or a strategy has too many positions to save.

        """
        return self._extract(None)

    def _extract(self, report: Callable[[int], None] | None) -> tuple[Strategy, ...]:
        position = self.position
        check_has_strategies(position.game)
        if self.value is None or position.is_over:
            return ()
        guide = self._full_search
        return tuple(
            Extraction(position, seat, wins, guide.keeping_cells, report, guide.likely_cells).strategy()
            for seat, wins in proof_file.claims(position, self.bounds)
        )

    def check(self) -> None:
        """Check that the value is proved, by playing the `strategies` against all replies.

        This needs no search, only the rules of this package. For a check without this package, `save` the
        proof and run `scripts/check_proof.py`.

        Raises:
            ProofError: The value is not proved, or a strategy fails against a reply.

        """
        parts = self.bounds, self.principal_variation, self.nodes, self.seconds
        try:
            proof_file.check_result(self.position.checked(), *parts)
        except ValueError as error:
            raise ProofError(f"this is not a proof: {error}") from error
        if self.value is None:
            raise ProofError(
                f"the value of {self.position!r} is not proved: it is from {self.bounds[0]} to 1"
            )
        if self.regions != _regions_of(self.position, self.bounds):
            raise ProofError(f"the regions are not those by which {self.position!r} is drawn")
        claims = [(self.position, *claim) for claim in proof_file.claims(self.position, self.bounds)]
        if [(one.start, one.seat, one.wins) for one in self.strategies] != claims:
            raise ProofError(f"the strategies do not show the value {self.value}")
        for strategy in self.strategies:
            check_strategy(strategy)

    @cached_property
    def _full_search(self) -> Prover:
        """The search with its table, without a budget; repeated if the proof was pickled."""
        prover = self._prover or Prover(self.position.game)
        prover.begin()
        if self._prover is None:
            prover.bounds(self.position)
        return prover

    def save(self, path: str | Path, progress: Callable[[int], None] | None = None) -> None:
        """Write the proof with its `strategies`, so that others can check it.

        docs/reference/formats.md specifies the format.

        Args:
            path: The `.npz` file.
            progress: Called with the number of extracted positions of a strategy.

        Raises:
            ProofError: The game is over in the position, or `strategies` raises it.
            FileError: The file cannot be written.

        """
        if self.position.is_over:
            raise ProofError(f"the game {self.position} is over: a file needs a position to play from")
        if "strategies" not in self.__dict__:
            self.__dict__["strategies"] = self._extract(progress)
        proof_file.write(path, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a proof that `save` has written, with its strategies.

        The parts of the file fit each other: rules and name, bounds, line and seats of the strategies. Use
        `check` or `scripts/check_proof.py` to verify that the strategies prove the value.

        Raises:
            FileError: The file is not a proof; the message names the part that does not fit.

        """
        filed = proof_file.read(path)
        proof = cls(*filed[:-1], _regions_of(filed.position, filed.bounds))
        proof.__dict__["strategies"] = filed.strategies
        return proof

    def __str__(self) -> str:
        seat, (lower, upper) = self.position.to_move, self.bounds
        verdict = RESULTS[lower] if lower == upper else f"{RESULTS[lower]} at worst, {RESULTS[upper]} at best"
        caveat = "" if lower == upper else "; the budget was too small to know more"
        lines = [
            f"{self.position.game.name}, {self.position}, {seat} to move: {seat} {verdict}{caveat}.",
            f"{self.nodes:,} positions were searched in {self.seconds:.1f} s.",
        ]
        if self.principal_variation:
            lines.insert(1, self.best_play)
        return "\n".join(lines)

    @property
    def best_play(self) -> str:
        """The principal variation in words, which ends where the result is proved."""
        end = self.position
        for cell in self.principal_variation:
            end = end.play(cell)
        head = "Best play" if end.is_over else "Best play begins"
        return f"{head}: {' '.join(map(str, self.principal_variation))}"


def _regions_of(position: Position, bounds: tuple[int, int]) -> Regions:
    """The regions of a proof with these bounds, which show that the player to move does not win."""
    return () if position.is_over or bounds[1] == 1 else drawing_regions(position) or ()


@checked
def prove(
    game: Game | str,
    position: Position | None = None,
    *,
    nodes: Annotated[float, Between(0, is_open=True)] | None = None,
    seconds: Annotated[float, Between(0, is_open=True)] | None = None,
    progress: ProofReport | None = None,
    checkpoint: str | Path | None = None,
) -> Proof:
    """Prove the value of one position by search, also in games too large to solve.

    The search answers two questions, "does the player to move win?" and, if not, "does the other one?". Where
    the other one holds by pairs and groups of cells (`drawing_regions`), the first needs no search. The
    second needs no search on the empty board of a game that is not misère: an additional stone never hurts
    there, so the second player cannot win (J. Nash's strategy stealing; Hales and Jewett 1963). The search is
    by proof numbers (Allis 1994), with a threat-sequence search in every position. In a game with gravity
    none of this is sound; there it is alpha-beta with a transposition table, and the proof has no
    `strategies`. Without a limit in seconds it searches the same nodes each time, on every machine with the
    memory for its table. It may be interrupted at any time.

    Args:
        game: The game, or its id.
        position: The position; by default the empty board.
        nodes: The most positions to search.
        seconds: The most seconds to search.
        progress: Called about ten times a second with the state of the search.
        checkpoint: A file in which the state of the search is kept, written every minute and at the end.
            Another call resumes from it, with a budget of its own, and its proof counts the nodes and seconds
            of all calls. This file is trusted: its entries are not checked.

    Returns:
        The proof; its `value` is None if the budget was used up, and `bounds` then say what is known.

    Raises:
        ImpossiblePositionError: The position is not one of this game.
        FileError: The checkpoint is of another game or position, or cannot be written.

    Example:
        >>> import ttt_env
        >>> ttt_env.prove("square-v0").value
        0
        >>> ttt_env.prove("square-v0:n=5").value, ttt_env.prove("connect-four-v0:m=6,n=4").value
        (1, -1)

    """
    game = get_game(game)
    root = game.start if position is None else check_game(position, game).checked()
    path = None if checkpoint is None else Path(checkpoint)
    prover = Prover(game, progress)
    if path is not None:
        prover.use_checkpoint(path, root)
    prover.begin(inf if nodes is None else nodes, inf if seconds is None else seconds)
    try:
        bounds = prover.bounds(root)
        line = prover.principal_variation(root, bounds[0]) if bounds[0] == bounds[1] else ()
    finally:
        prover.end()
    is_proved = bounds[0] == bounds[1]
    return Proof(root, bounds, line, *prover.effort, prover.regions, prover if is_proved else None)


def short_proof(position: Position, nodes: int) -> Proof | None:
    """The result of a search of at most `nodes` nodes; None for 0 nodes."""
    return prove(position.game, position, nodes=nodes).without_search() if nodes else None
