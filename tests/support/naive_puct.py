"""AlphaZero's search in a second, plain implementation, as a reference.

Positions are those of the package, nodes are objects, and the network evaluates one position at a time. The
random numbers equal those of the compiled search, so the trees must be equal.
"""

from math import inf, log, sqrt

import numpy as np

from tests.support.naive_uct import SplitMix64
from ttt_env.rules.boards import Boards
from ttt_env.rules.symmetry import canonical, symmetries, transform


def generator(seed, position):
    random = SplitMix64(seed)
    for mask in (position.mine, position.theirs):
        random.state = random.bits() ^ mask
    return random


def completing(position, theirs=False):
    """The cells that complete a set of the player to move, or of the other player."""
    stones = position.theirs if theirs else position.mine
    return [
        cell
        for cell in position.legal_cells
        if any(mask & ~(stones | 1 << cell) == 0 for mask in position.game.winning_masks)
    ]


def wins_by_threats(position):
    """True if the player to move, who cannot complete a set at once, wins by threats with one reply each."""
    block = completing(position, theirs=True)
    if len(block) > 1:
        return False
    for gain in block or position.legal_cells:
        after = position.child(gain)
        replies = completing(after, theirs=True)
        if len(replies) > 1:
            return True
        if replies and not (last := after.child(replies[0])).is_over and wins_by_threats(last):
            return True
    return False


class Node:
    """`total` and `value` are for the player who has just moved here; value is None while unknown."""

    def __init__(self, cell, prior):
        self.cell, self.prior = cell, prior
        self.visits, self.total, self.value, self.children = 0, 0.0, None, []


class NaivePuct:
    def __init__(
        self,
        network,
        position,
        seed,
        c=1.25,
        base=19_652,
        reduction=0.2,
        solve=True,
        noise=None,
        threats=False,
    ):
        self.network, self.position, self.seed = network, position, seed
        self.c, self.base, self.reduction, self.solve = c, base, reduction, solve
        self.noise = noise  # (share, by cell)
        self.threats = threats
        self.root = Node(None, 1.0)
        self.moves = 0  # number of moves made on positions

    def run(self, simulations):
        for _ in range(simulations):
            if self.root.value is None:
                self.simulate()

    def simulate(self):
        node, position, path = self.root, self.position, [self.root]
        while node.children and node.value is None:
            node = max(node.children, key=lambda child, parent=node: self.score(parent, child))
            position = self.after(position, node.cell)
            path.append(node)
        if self.threats:
            node, position = self.follow(node, position, path)
        result = 0.0
        if node.value is None:
            result = -self.expand(node, position)
        for node in reversed(path):
            if self.solve and node.value is None and node.children:
                node.value = self.proved(node)
            if node.value is not None:
                result = float(node.value)
            node.visits += 1
            node.total += result
            result = -result

    def follow(self, node, position, path):
        """Make forced moves and look for wins by threats before the network is evaluated."""
        while node is not self.root and node.value is None:
            block = completing(position, theirs=True)
            if completing(position) or wins_by_threats(position):
                node.value = -1
            elif len(block) > 1:
                node.value = 1
            elif not block:
                break
            else:
                child = Node(block[0], 1.0)
                position = self.after(position, block[0])
                child.value = 0 if position.is_over else None
                node.children = [child]
                path.append(child)
                node = child
        return node, position

    def after(self, position, cell):
        self.moves += 1
        return position.child(cell)

    def score(self, parent, child):
        if self.solve and child.value is not None:
            return 0.0 if child.value == 0 else -inf
        explore = (self.c + log((1 + parent.visits + self.base) / self.base)) * sqrt(parent.visits)
        mean = child.total / child.visits if child.visits else -parent.total / parent.visits - self.reduction
        return mean + explore * child.prior / (1 + child.visits)

    def expand(self, node, position):
        priors, value = self.evaluate(position)
        random = generator(self.seed, position)
        cells = position.legal_cells
        if self.threats and node is self.root and not completing(position):
            cells = completing(position, theirs=True) or cells
        for cell in cells:
            prior = priors[cell]
            if node is self.root and self.noise is not None:
                share, by_cell = self.noise
                prior = np.float32((1 - share) * float(prior) + share * float(np.float32(by_cell[cell])))
            child = Node(cell, float(prior))
            after = self.after(position, cell)
            if after.is_over:
                child.value = 0
                if after.winner is not None:
                    child.value = 1 if after.winner == position.to_move else -1
            node.children.append(child)
            drawn = random.pick(range(len(node.children)))
            node.children[drawn], node.children[-1] = node.children[-1], node.children[drawn]
        return value

    def evaluate(self, position):
        """The network's answer for the canonical image, with the cells of the position."""
        image = canonical(position)
        motion = next(m for m in symmetries(position.game) if transform(position, m) == image)
        priors, values = self.network.evaluate(Boards.of([image]))
        return priors[0][list(motion)], float(values[0])

    def proved(self, node):
        values = [child.value for child in node.children]
        if 1 in values:
            return -1
        return -max(values) if None not in values else None
