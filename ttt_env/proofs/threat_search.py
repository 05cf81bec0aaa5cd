"""Wins of a player by threats after a few quiet moves, with the moves that win."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.sets import winning_sets
from ttt_env.rules import Game, Masks, Position, Seat
from ttt_env.storage import Arrays

_QUIET_MOVES = 3  # of the winner on the way to an end
_CANDIDATES = 10  # quiet moves in a position whose replies get a short trial
_WIDTH = 3  # of these, quiet moves that are tried in full
_TRIAL = 20  # positions expanded to learn how hard a reply is
_SLICE = 1000  # positions expanded before the budget is asked
_FEW = 10_000  # more than enough to find a win again
_MAX_NODES = 1 << 24  # of the graph, 1 GB, before the failed searches are dropped
_HARDEST = 1 << 40


@dataclass
class ThreatQuestion:
    """The search for whether the seat, to move in a position, wins by threats alone: one part of a proof."""

    seat: Seat
    kernel: Any
    graph: Any
    sets: Any
    node: int

    def search(self, n_nodes: int) -> tuple[bool | None, int]:
        """The answer, or None if `n_nodes` nodes were too few; and the number of nodes expanded."""
        kernel = self.kernel
        before = int(self.graph.state[kernel.N_EXPANDED])
        answer = kernel.search(self.graph, self.sets, self.node, n_nodes)
        n_expanded = int(self.graph.state[kernel.N_EXPANDED]) - before
        return None if answer == kernel.OPEN else answer == kernel.YES, n_expanded


Run = Callable[[ThreatQuestion, int], bool | None]


class ThreatProver:
    """The search for a win of one seat by threats alone, except its first moves, which may be quiet.

    A win by threats alone is searched by `threat_search_kernel`. Around it a quiet move is tried where that
    finds none: the one first whose replies look easiest after a short trial, and the hardest reply first, so
    that a move that fails does so early. What was found stays known from one call to the next.

    `run` runs a part of the search, of some positions, and raises an error where the budget ends.
    """

    def __init__(self, game: Game, seat: Seat, run: Run) -> None:
        from ttt_env.proofs import threat_search_kernel as threat_proof

        self._kernel, self._sets = threat_proof, winning_sets(game)
        self._graph = threat_proof.new_graph(game)
        self._game, self._run, self._seat = game, run, seat
        self._answers: dict[int, int] = {}  # position won by a quiet move → position after the move, by keys

    def prepare(self, position: Position) -> None:
        """Call every compiled function of the search once, on a position of any game."""
        self._key(position)
        self._by_threats(position, 1)
        self._graph = self._kernel.pruned(self._graph, 0)

    def forget_failures(self) -> None:
        """Drop what was searched in vain, which is most of what is kept."""
        self._graph = self._kernel.pruned(self._graph, 0)

    def known(self) -> Arrays:
        """The results proved so far, as arrays for `recall`."""
        part = self._kernel.won_part(self._graph)._asdict()
        return part | {"answers": np.array([*self._answers.items()], np.uint64).reshape(-1, 2)}

    def recall(self, known: Arrays) -> None:
        """Go on with what was known in another run. Raises `ValueError` for what `known` does not give."""
        part = {name: array for name, array in known.items() if name != "answers"}
        self._graph = self._kernel.graph_of(self._game, self._kernel.WonPart(**part))
        self._answers = dict(known["answers"].tolist())

    def wins(self, position: Position, max_expanded: int) -> bool:
        """True if the seat was proved to win; False proves nothing.

        At most `max_expanded` positions are expanded for the threats of each position.
        """
        if position.is_over:
            return position.winner == self._seat
        if position.to_move == self._seat:
            return self._wins(position, max_expanded, _QUIET_MOVES)
        return all(self.wins(reply, max_expanded) for reply in self._after_moves(position))

    def winning_cells(self, positions: Masks) -> NDArray[np.int16]:
        """The cells `[P]` of threats that win in these positions `[P, 2]`; −1 where none is known.

        A position is the stones of the seat, which is to move, and the stones of the other.
        """
        cells = np.empty(len(positions), np.int16)
        self._kernel.winning_cells(self._graph, positions, cells)
        return cells

    def winning_cell(self, position: Position) -> int | None:
        """A cell by which the seat, to move, wins in a position that was proved; None in another one."""
        cells = position.legal_cells
        for cell in cells:
            if position.play(cell).winner == self._seat:
                return cell
        if (after := self._answers.get(self._key(position))) is not None:
            return next((cell for cell in cells if self._key(position.play(cell)) == after), None)
        self._by_threats(position, _FEW)
        if self._node(position) == self._kernel.WINS_AT_ONCE:
            return int(self._graph.threats.gain[0]).bit_length() - 1
        cell = int(self.winning_cells(np.array([self._stones(position)]))[0])
        return None if cell < 0 else cell

    def _wins(self, position: Position, max_expanded: int, n_quiet: int) -> bool:
        if self._by_threats(position, max_expanded):
            return True
        key = self._key(position)
        if n_quiet == 0 or key in self._answers:
            return n_quiet > 0
        for after, replies in self._quiet_moves(position, n_quiet - 1):
            if all(self._wins(reply, max_expanded, n_quiet - 1) for reply in replies):
                self._answers[key] = self._key(after)
                self._graph = self._kernel.pruned(self._graph)
                return True
        return False

    def _quiet_moves(self, position: Position, n_quiet: int) -> list[tuple[Position, list[Position]]]:
        """The positions after the most promising quiet moves, with the replies, the hardest first."""
        moves = []
        for after in self._heaviest(position):
            hardness = [(self._hardness(reply), reply) for reply in self._after_moves(after)]
            hardness.sort(key=lambda pair: -pair[0])
            if hardness and (n_quiet > 0 or hardness[0][0] < _HARDEST):
                moves.append((sum(hard for hard, _ in hardness), after, [reply for _, reply in hardness]))
        moves.sort(key=lambda move: move[0])
        return [(after, replies) for _, after, replies in moves[:_WIDTH]]

    def _heaviest(self, position: Position) -> list[Position]:
        """The positions after the moves in whose sets one player has most stones, and the other has none."""
        weights = dict.fromkeys(position.legal_cells, 0.0)
        for mask, cells in zip(position.game.winning_masks, position.game.winning_sets, strict=True):
            for stones, others in (position.mine, position.theirs), (position.theirs, position.mine):
                if mask & others == 0:
                    for cell in weights.keys() & set(cells):
                        weights[cell] += 2.0 ** -(mask & ~stones).bit_count()
        heaviest_first = sorted(weights, key=lambda cell: -weights[cell])
        return list(self._distinct(position.play(cell) for cell in heaviest_first))[:_CANDIDATES]

    def _after_moves(self, position: Position) -> list[Position]:
        return list(self._distinct(map(position.play, position.legal_cells)))

    def _distinct(self, positions: Iterable[Position]) -> Iterator[Position]:
        """One of all symmetric positions."""
        seen = set()
        for position in positions:
            key = self._key(position)
            if key not in seen:
                seen.add(key)
                yield position

    def _hardness(self, position: Position) -> int:
        """The proof number after a trial: the least number of positions still to be won."""
        answer = self._by_threats(position, _TRIAL)
        if answer is not None:
            return 0 if answer else _HARDEST
        return int(self._graph.numbers[self._node(position), self._kernel.WON])

    def _by_threats(self, position: Position, max_expanded: int) -> bool | None:
        """True if the seat, to move, wins by threats alone, False if not; None if too few were expanded."""
        if position.is_over:
            return position.winner == self._seat
        self._graph = self._kernel.pruned(self._graph, _MAX_NODES)
        kernel, node, answer = self._kernel, self._node(position), None
        if node < 0:
            return bool(node == kernel.WINS_AT_ONCE)
        state = self._graph.state
        end = int(state[kernel.N_EXPANDED]) + max_expanded
        while answer is None and state[kernel.N_EXPANDED] < end:
            self._graph = kernel.grown(self._graph)
            question = ThreatQuestion(self._seat, kernel, self._graph, self._sets, node)
            answer = self._run(question, min(_SLICE, end - int(state[kernel.N_EXPANDED])))
        return answer

    def _node(self, position: Position) -> int:
        self._graph = self._kernel.grown(self._graph)
        return int(self._kernel.node_of(self._graph, self._sets, *self._stones(position)))

    def _key(self, position: Position) -> int:
        return int(self._kernel.key_of(self._graph, *self._stones(position)))

    def _stones(self, position: Position) -> tuple[np.uint64, np.uint64]:
        """The stones of the seat and of the other."""
        mine, theirs = np.uint64(position.mine), np.uint64(position.theirs)
        return (mine, theirs) if position.to_move == self._seat else (theirs, mine)
