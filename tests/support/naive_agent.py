"""Agents in a second, plain implementation, as a reference, and one that plays a policy of naive.py."""

from fractions import Fraction
from functools import cache

import numpy as np

from tests.support import naive
from ttt_env import Agent


@cache
def answers(game, chances):
    """The cached answers, by position."""
    return {}


class Plays(Agent):
    """Plays a naive policy: a function from a board to chances, or its name in `NaiveGame`."""

    is_stationary = True

    def __init__(self, game, chances):
        super().__init__(game)
        self.chances = getattr(naive.twin(game), chances) if isinstance(chances, str) else chances
        self.answers = answers(game, self.chances)

    def policy(self, position):
        if position not in self.answers:
            found = np.zeros(self.game.n_cells)
            chances = self.chances(naive.board_of(str(position)))
            found[list(chances)] = list(chances.values())
            self.answers[position] = found
        return self.answers[position].copy()


def cells(mask):
    return {cell for cell in range(mask.bit_length()) if mask >> cell & 1}


def lacking(sets, own, other, count):
    """The missing cells of each set that lacks `count` cells and has no stone of the other player."""
    return [s - own for s in map(set, sets) if len(s - own) == count and not s & other]


def wins(sets, own, other):
    return {cell for rest in lacking(sets, own, other, 1) for cell in rest}


def forks(sets, own, other, free):
    ways = {c: wins([s for s in sets if c in s], own | {c}, other) for c in free}
    return {cell for cell in free if len(ways[cell]) >= 2}


def fork_blocks(sets, own, other, free):
    danger = forks(sets, other, own, free)
    if len(danger) < 2:
        return danger
    forced = {c: wins(sets, own | {c}, other) for c in free}
    left = {c: forks(sets, other, own | {c}, free - {c}) for c in free}
    without = {c for c in free if forced[c] and not left[c]}
    elsewhere = {c for c in free if forced[c] and not forced[c] & left[c]}
    return without or elsewhere or danger


def places(shape):
    return [np.unravel_index(cell, shape) for cell in range(int(np.prod(shape)))]


def n_ends(at, shape):
    return sum(c in (0, size - 1) for c, size in zip(at, shape, strict=True))


def opposite(at, shape):
    return int(np.ravel_multi_index([size - 1 - c for c, size in zip(at, shape, strict=True)], shape))


def naive_rule(name, position):
    game, own, other = position.game, cells(position.mine), cells(position.theirs)
    sets, shape, at = game.winning_sets, game.shape, places(game.shape)
    free = set(position.legal_cells)
    corners = {c for c, a in enumerate(at) if n_ends(a, shape) == len(shape)}
    border = {c for c, a in enumerate(at) if n_ends(a, shape)}
    return (
        free
        & {
            "win": lambda: wins(sets, own, other),
            "block": lambda: wins(sets, other, own),
            "fork": lambda: forks(sets, own, other, free),
            "block-fork": lambda: fork_blocks(sets, own, other, free),
            "centre": lambda: {c for c, a in enumerate(at) if opposite(a, shape) == c},
            "opposite-corner": lambda: {opposite(at[c], shape) for c in corners & other},
            "corner": lambda: corners,
            "side": lambda: border - corners,
        }[name]()
    )


def literal_weights(position, own, other):
    weights = [0] * position.game.n_cells
    for members in position.game.winning_sets:
        if not other & set(members):
            for cell in set(members) - own:
                weights[cell] += len(own & set(members)) ** 2 + 1
    return weights


def naive_utility(game, board):
    threats = Fraction(0)
    for members in game.winning_sets:
        stones = sorted(board[cell] for cell in members)
        for seat in "XO":
            if stones == [".", *[seat] * (len(members) - 1)]:
                threats += 1 if seat == naive.mover(board) else -1
    value = threats / 5 * (-1 if game.misere else 1)
    return max(Fraction(-99, 100), min(Fraction(99, 100), value))


def negamax(game, depth):
    @cache
    def value(board, left):
        cells = naive.twin(game).moves(board)
        if not cells:
            return Fraction(naive.twin(game).result(board, naive.mover(board)))
        if left == 0:
            return naive_utility(game, board)
        return max(-value(naive.play(board, cell), left - 1) for cell in cells)

    return lambda board, cell: -value(naive.play(board, cell), depth - 1)


@cache
def naive_sums(game):
    """For each board the sum of the scores of (X, O) over all ends below it."""
    rules, found = naive.twin(game), {}
    for board in reversed(rules.boards()):
        after = [found[naive.play(board, cell)] for cell in rules.moves(board)]
        share = Fraction(1, len(board.replace(".", "")) + 1)
        points = [{1: 50, 0: 10, -1: -10}[rules.result(board, seat)] * share for seat in "XO"]
        found[board] = tuple(map(sum, zip(*after, strict=True))) if after else tuple(points)
    return found
