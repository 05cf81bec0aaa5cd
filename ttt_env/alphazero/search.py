"""The search of AlphaZero in many positions at once."""

from functools import cache
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.alphazero import search_kernel as puct
from ttt_env.alphazero.network import Evaluator, NetworkSize, PolicyValueNetwork, shapes_of
from ttt_env.compiled.canonical import images_of
from ttt_env.compiled.compiler import ready
from ttt_env.compiled.sets import winning_sets
from ttt_env.compiled.stopping import check_stopped
from ttt_env.compiled.threats import UNKNOWN
from ttt_env.rules import Boards, Game, motions

C_INIT, C_BASE = 1.25, 19_652.0  # of the paper
REDUCTION = 0.2
_TREE_BYTES = 1 << 26  # of the trees searched at a time
_KNOWN_BYTES = 1 << 27  # of the cache of the network's answers
_MAX_GAMES = 4096  # searched at a time
_ASKED_AT_ONCE = 1024  # positions that the network evaluates between two checks for cancellation


class SearchResults(NamedTuple):
    """The results of searches for each position's moves, `[B, cells]`; 0 for moves that are not legal.

    `visits` counts the simulations, `means` has the mean of their results for the player to move, NaN without
    visits. `priors` are the network's probabilities, NaN where threats win and the network was not queried.
    `values` are proved: 1, 0 or −1, else NaN. They are all NaN if nothing is to be proved, or if the network
    was queried only about the position itself. `proved` `[B]` are the proved values of the positions
    themselves for the player to move, else NaN, and `expected` `[B]` the means of all simulations.
    """

    visits: NDArray[np.int64]
    means: Floats
    priors: Floats
    values: Floats
    proved: Floats
    expected: Floats

    def policies(self, legal: NDArray[np.bool_]) -> Floats:
        """The moves that are played, `[B, cells]`: uniform among the best.

        These are proved wins if there are any; else, of the moves that are not proved losses, if there are
        any, the most visited ones, and of these the one with the largest prior.
        """
        is_best = legal
        for rank in (self.values == 1, ~(self.values == -1), self.visits, np.nan_to_num(self.priors)):
            ranks = np.where(is_best, rank.astype(np.float64), -np.inf)
            is_best = is_best & (ranks == ranks.max(axis=1, keepdims=True))
        policies: Floats = is_best / is_best.sum(axis=1, keepdims=True)
        return policies


class PuctSearch:
    """A search by PUCT, guided by a network: see `ttt_env.alphazero.search_kernel`.

    The constants `c_init` and `c_base` say how much is explored, `reduction` how much less an unvisited move
    counts than its position does. `noise` is the share of noise in the priors of the positions that are
    searched, where `search_boards` is given noise. With `solve`, proved values are backed up; with `threats`
    as well, forced moves and winning sequences of threats are searched before the network is queried, except
    in a misère game.

    The network's answers are cached; it is queried once for all symmetric positions. A search is not
    thread-safe.
    """

    def __init__(
        self,
        network: Evaluator,
        *,
        c_init: float = C_INIT,
        c_base: float = C_BASE,
        reduction: float = REDUCTION,
        noise: float = 0.0,
        solve: bool = True,
        threats: bool = False,
    ) -> None:
        self.game, self.network = network.game, network
        self._settings = puct.PuctSettings(
            float(c_init),
            float(c_base),
            float(reduction),
            float(noise),
            solve,
            threats and solve and network.game.is_monotone,
        )
        self._table = puct.empty_table(self.game, _rows_for(self.game))
        self.evaluated = 0
        """The number of positions that the network has evaluated."""
        self.seconds = 0.0
        """The time that this took."""
        self.moves = 0
        """The number of moves made in the trees: on the way down, and to see which of them end the game."""

    def set_network(self, network: Evaluator) -> None:
        """Switch to another network, and clear the answers of the last one."""
        self.network = network
        self._clear_table()

    def search_boards(
        self, boards: Boards, simulations: int, seed: int, noise: NDArray[np.floating] | None = None
    ) -> SearchResults:
        """Search each of these open positions, with this number of simulations.

        The first simulation queries the network about the position itself, and makes no move. A search ends
        early if its position is proved. `noise` `[B, cells]` is mixed into the priors of the positions.
        """
        slots = 1 + simulations * int(self.game.n_cells - boards.ply.min(initial=self.game.n_cells))
        chunk = int(np.clip(_TREE_BYTES // (slots * puct.NODE.itemsize), 1, _MAX_GAMES))
        parts = []
        for begin in range(0, len(boards), chunk):
            part = slice(begin, begin + chunk)
            parts.append(
                self._search(boards[part], simulations, seed, None if noise is None else noise[part])
            )
        if not parts:
            empty = np.zeros((0, self.game.n_cells))
            return SearchResults(empty.astype(np.int64), empty, empty, empty, empty[:, 0], empty[:, 0])
        results = SearchResults(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        if simulations == 1 or not self._settings.solve:
            return results._replace(values=np.full_like(results.values, np.nan))
        return results

    def _search(
        self, boards: Boards, simulations: int, seed: int, noise: NDArray[np.floating] | None
    ) -> SearchResults:
        n_free = int(self.game.n_cells - boards.ply.min())
        forest = puct.new_forest(self.game, len(boards), 1 + simulations * n_free)
        settings = self._settings
        if simulations == 1:  # the network is queried about the position itself alone, and nothing is added
            settings = settings._replace(threats=False)
        if noise is None:
            settings = settings._replace(noise=0.0)
        else:
            forest.noise[:] = noise
        puct.begin_searches(forest, boards.mine, boards.theirs, simulations)
        arguments = forest, winning_sets(self.game), settings, self._table
        while n_waiting := puct.simulate(*arguments, np.uint64(seed)):
            if not self._evaluate_new() and n_waiting:
                self._clear_table()
        self.moves += int(forest.moves.sum() + (forest.used - 1).sum())
        return _root_statistics(forest, self.game)

    def _evaluate_new(self) -> int:
        """Query the network about the positions that wait for it, and return how many there are."""
        table = self._table
        n_asked, n_evaluated = (int(count) for count in table.counts)
        clock = perf_counter()
        for begin in range(n_evaluated, n_asked, _ASKED_AT_ONCE):
            check_stopped()
            rows = slice(begin, min(begin + _ASKED_AT_ONCE, n_asked))
            self.network.evaluate_into(table.boards[rows], table.priors[rows], table.values[rows])
        table.counts[1] = n_asked
        self.evaluated += n_asked - n_evaluated
        self.seconds += perf_counter() - clock
        return n_asked - n_evaluated

    def _clear_table(self) -> None:
        self._table.places[:] = -1
        self._table.counts[:] = 0


def _root_statistics(forest: puct.Forest, game: Game) -> SearchResults:
    """The statistics of the moves at the roots of the trees."""
    moves, roots = puct.moves_of_roots(forest, game), forest.nodes[:, 0]
    visits = moves["visits"].astype(np.int64)
    with np.errstate(invalid="ignore"):
        means = np.where(visits > 0, moves["total"] / visits, np.nan)
    values, proved = (
        np.where(value == UNKNOWN, np.nan, value.astype(np.float64))
        for value in (moves["value"], roots["value"])
    )
    priors = moves["prior"].astype(np.float64)
    return SearchResults(visits, means, priors, values, -proved, -roots["total"] / roots["visits"])


def _rows_for(game: Game) -> int:
    """The number of positions to keep: as many as fit into memory, or as the game can have."""
    most = _KNOWN_BYTES // (4 * game.n_cells + 32)
    return int(min(most, max(4096, 3**game.n_cells)))


def canonical_images(boards: Boards) -> tuple[Boards, NDArray[np.int64]]:
    """`canonical_boards`, and for each board the cells that its cells are mapped to, `[B, cells]`."""
    return images_of(boards, motions(boards.game).astype(np.uint8))


@cache
def prepare() -> None:
    """Compile all that a search calls, or load it from disk, before its clock starts."""
    game = Game("two cells", (2,), [(0, 1)])
    size = NetworkSize(1, 1, 1, 1)
    weights = {name: np.zeros(shape, np.float32) for name, shape in shapes_of(game, size).items()}
    ready(
        "alphazero",
        lambda: PuctSearch(PolicyValueNetwork(game, weights)).search_boards(Boards.start(game), 2, 0),
    )
