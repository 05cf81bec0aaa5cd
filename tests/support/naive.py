"""Rules, minimax and exact results in a second, plain implementation, as a reference.

A board is a string of `X`, `O` and `.`, one character per cell, and a policy is a function from a board to a
dictionary from cells to fractions. Nothing of `ttt_env` is used; slow, and meant to be easy to verify.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np


def lines(shape, k):
    """All straight runs of k cells: from each start in each direction, if they stay on the board."""
    places = list(product(*map(range, shape)))
    found = set()
    for start, direction in product(places, product((-1, 0, 1), repeat=len(shape))):
        run = [tuple(s + d * i for s, d in zip(start, direction, strict=True)) for i in range(k)]
        if len(set(run)) == k and all(place in places for place in run):
            found.add(frozenset(places.index(place) for place in run))
    return found


def squares(n):
    """All squares: four points with four equal distances and two equal distances of double the square."""
    found = set()
    for points in combinations(product(range(n), repeat=2), 4):
        lengths = sorted((a - c) ** 2 + (b - d) ** 2 for (a, b), (c, d) in combinations(points, 2))
        if lengths[0] == lengths[3] and lengths[4] == lengths[5] == 2 * lengths[0]:
            found.add(frozenset(n * row + column for row, column in points))
    return found


def board_of(text):
    """The board in the text of a position: the text without separators of rows."""
    return "".join(stone for stone in text if stone in "XO.")


def mover(board):
    return "X" if board.count("X") == board.count("O") else "O"


def play(board, cell):
    return board[:cell] + mover(board) + board[cell + 1 :]


def masks(board):
    """The bit masks (of the player to move, of the other)."""
    mine = mover(board)
    theirs = "O" if mine == "X" else "X"
    return tuple(sum(1 << c for c, stone in enumerate(board) if stone == seat) for seat in (mine, theirs))


@cache
def twin(game):
    """The naive version of a game, whose cached results all tests of a process share."""
    return NaiveGame(game.n_cells, game.winning_sets, game.misere, game.supports)


class NaiveGame:
    """A positional game and its exact values. All results are cached and must not be modified."""

    def __init__(self, n_cells, winning_sets, misere=False, supports=None):
        self.empty = "." * n_cells
        self.supports = supports or [None] * n_cells
        self.winning_sets = [frozenset(cells) for cells in winning_sets]
        self.misere = misere
        for name in ("winner", "moves", "value", "best_cells", "distance", "uniform", "optimal", "odd"):
            setattr(self, name, cache(getattr(self, name)))
        for name in ("boards", "results", "best_reply", "keeping_ranges"):
            setattr(self, name, cache(getattr(self, name)))

    def winner(self, board):
        for cells in self.winning_sets:
            stones = {board[cell] for cell in cells}
            if stones == {"X"} or stones == {"O"}:
                return stones.pop() if not self.misere else ({"X", "O"} - stones).pop()
        return None

    def moves(self, board):
        return [] if self.winner(board) else [c for c in range(len(board)) if self.is_playable(board, c)]

    def is_playable(self, board, cell):
        below = self.supports[cell]
        return board[cell] == "." and (below is None or board[below] != ".")

    def result(self, board, seat):
        """1, 0 or −1: a finished game from this seat's side."""
        return {seat: 1, None: 0}.get(self.winner(board), -1)

    def layers(self, policies=None):
        """Sets of boards by ply: all, or those that moves of positive probability reach."""
        layers = [{self.empty}]
        while layers[-1]:
            layers.append({play(b, c) for b in layers[-1] for c in self._possible(b, policies)})
        return layers[:-1]

    def _possible(self, board, policies):
        cells = self.moves(board)
        policy = (policies or {}).get(mover(board))
        return [c for c in cells if policy(board).get(c)] if cells and policy else cells

    def boards(self):
        return [board for layer in self.layers() for board in layer]

    def value(self, board):
        """Minimax, from the mover's side."""
        after = [-self.value(play(board, cell)) for cell in self.moves(board)]
        return max(after) if after else self.result(board, mover(board))

    def best_cells(self, board):
        return [c for c in self.moves(board) if -self.value(play(board, c)) == self.value(board)]

    def distance(self, board):
        """The number of moves to the end if all moves keep the value, wins come soonest and losses latest."""
        after = [self.distance(play(board, cell)) for cell in self.best_cells(board)]
        soonest = min if self.value(board) == 1 else max
        return 1 + soonest(after) if after else 0

    def perfect_cells(self, board):
        plies = self.distance(board) - 1
        return [c for c in self.best_cells(board) if self.distance(play(board, c)) == plies]

    def uniform(self, board):
        cells = self.moves(board)
        return dict.fromkeys(cells, Fraction(1, len(cells)))

    def optimal(self, board):
        cells = self.best_cells(board)
        return dict.fromkeys(cells, Fraction(1, len(cells)))

    def first(self, board):
        return {self.moves(board)[0]: Fraction(1)}

    def odd(self, board):
        """Some policy without symmetry, with zeros and unequal fractions."""
        stones = sum(place * "XO".index(stone) + place for place, stone in enumerate(board) if stone != ".")
        weights = {cell: (7 * cell + stones) % 4 for cell in self.moves(board)}
        total = sum(weights.values())
        return {c: Fraction(w, total) for c, w in weights.items()} if total else self.uniform(board)

    def results(self, x, o):
        """The probabilities (X wins, draw, O wins) of every board when the seats play these policies."""
        found = {}
        for board in reversed(self.boards()):
            policy = (x if mover(board) == "X" else o)(board) if self.moves(board) else {}
            found[board] = tuple(
                sum((p * found[play(board, c)][i] for c, p in policy.items()), Fraction(0))
                if policy
                else Fraction(self.result(board, "X") == (1, 0, -1)[i])
                for i in range(3)
            )
        return found

    def best_reply(self, seat, policy, prefer=1):
        """(value, losses) of a best reply of `seat` to `policy`, with the most losses or the fewest (−1)."""
        found = {}
        for board in reversed(self.boards()):
            cells = self.moves(board)
            if not cells:
                result = self.result(board, seat)
                found[board] = (Fraction(result), Fraction(result == -1))
            elif mover(board) == seat:
                found[board] = max(
                    (found[play(board, c)] for c in cells), key=lambda f: (f[0], prefer * f[1])
                )
            else:
                chances = policy(board).items()
                found[board] = tuple(sum(p * found[play(board, c)][i] for c, p in chances) for i in range(2))
        return found[self.empty]

    def keeping_range(self, seat, policy):
        """The least and most that `seat` scores against `policy` while it never gives value away."""
        return self.keeping_ranges(seat, policy)[self.empty]

    def keeping_ranges(self, seat, policy):
        """`keeping_range` from every board."""
        found = {}
        for board in reversed(self.boards()):
            cells = self.moves(board)
            if not cells:
                found[board] = (Fraction(self.result(board, seat)),) * 2
            elif mover(board) == seat:
                after = [found[play(board, c)] for c in self.best_cells(board)]
                found[board] = (min(a[0] for a in after), max(a[1] for a in after))
            else:
                chances = policy(board).items()
                found[board] = tuple(sum(p * found[play(board, c)][i] for c, p in chances) for i in range(2))
        return found

    def blunders(self, seat, policy):
        """The reachable boards in which `policy` on `seat` may blunder."""
        return {
            board
            for layer in self.layers({seat: policy})
            for board in layer
            if mover(board) == seat and self.moves(board)
            if not set(c for c, p in policy(board).items() if p) <= set(self.best_cells(board))
        }

    def shortest_refutation(self, seat, policy):
        """The length of the shortest game that ends worse for the policy than best play, or None."""
        expected = self.value(self.empty) * (1 if seat == "X" else -1)
        for ply, layer in enumerate(self.layers({seat: policy})):
            if any(not self.moves(board) and self.result(board, seat) < expected for board in layer):
                return ply
        return None


def positions_by_ply(n_cells, winning_sets):
    """The number of positions of each ply in legal play, counted by pairs of sets instead of positions.

    Each set of cells is harmless, if it contains no winning set, or can have ended the game, if its winning
    sets share a cell. For each set of one player, the harmless sets of the other player within its complement
    are counted by sums over subsets (the zeta transform).
    """
    masks = np.arange(1 << n_cells)
    shared, owns = masks.copy(), np.zeros(len(masks), bool)
    for mask in (sum(1 << cell for cell in cells) for cells in winning_sets):
        is_inside = masks & mask == mask
        shared[is_inside] &= mask
        owns |= is_inside
    sizes = np.bitwise_count(masks)
    within = []  # by size: how many harmless sets of that size are in each set of cells
    for size in range(n_cells // 2 + 1):
        counts = (~owns & (sizes == size)).astype(np.int64)
        for cell in range(n_cells):
            pairs = counts.reshape(-1, 2, 1 << cell)
            pairs[:, 1] += pairs[:, 0]
        within.append(counts)
    may_have_moved_last = ~owns | (shared != 0)
    return [
        int(within[ply // 2][~masks[may_have_moved_last & (sizes == (ply + 1) // 2)]].sum())
        for ply in range(n_cells + 1)
    ]
