"""Monte Carlo tree search in a second, plain implementation, as a reference.

A position is two sets of cells, of the player to move and of the other; nodes are objects. The random numbers
equal those of the compiled search, so the trees must be equal.
"""

from math import inf, log, sqrt

MASK = (1 << 64) - 1


class SplitMix64:
    """Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014."""

    def __init__(self, state):
        self.state = state

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def pick(self, cells):
        return sorted(cells)[(self.bits() >> 32) * len(cells) >> 32]


def generator(seed, mine, theirs):
    random = SplitMix64(seed)
    for cells in (mine, theirs):
        random.state = random.bits() ^ sum(1 << cell for cell in cells)
    random.state = random.bits()
    return random


class Node:
    """`wins` and `value` are for the player who has just moved here; value is None while unknown."""

    def __init__(self, cell, untried):
        self.cell, self.untried = cell, set(untried)
        self.visits, self.wins, self.value, self.children = 0, 0.0, None, []


class NaiveSearch:
    def __init__(self, game, mine, theirs, seed=0, c=2**0.5, draw=0.5, playout="random", solve=True):
        self.n_cells, self.misere = game.n_cells, game.misere
        self.sets = [[set(cells) for cells in game.winning_sets if c in cells] for c in range(game.n_cells)]
        self.c, self.draw, self.playout, self.solve = c, draw, playout, solve
        self.mine, self.theirs = frozenset(mine), frozenset(theirs)
        self.random = generator(seed, mine, theirs)
        self.root = Node(None, self.free(self.mine, self.theirs))

    def free(self, mine, theirs):
        return set(range(self.n_cells)) - mine - theirs

    def value_of_move(self, stones, cell, free):
        """The mover's result after a move on `cell` that gave it these stones; None if the game continues."""
        if any(cells <= stones for cells in self.sets[cell]):
            return -1 if self.misere else 1
        return None if free else 0

    def run(self, iterations):
        for _ in range(iterations):
            if self.root.value is None:
                self.iterate()

    def iterate(self):
        path, mine, theirs = self.select()
        node = path[-1]
        if node.value is None:
            cell = self.random.pick(node.untried)
            node.untried.remove(cell)
            mine, theirs = theirs, mine | {cell}
            free = self.free(mine, theirs)
            child = Node(cell, free)
            child.value = self.value_of_move(theirs, cell, free)
            node.children.append(child)
            path.append(child)
        value = path[-1].value
        self.backpropagate(path, self.play_out(mine, theirs) if value is None else value)

    def select(self):
        node, mine, theirs = self.root, self.mine, self.theirs
        path = [node]
        while not node.untried and node.value is None:
            node = max(node.children, key=lambda child, n=node.visits: self.score(child, n))
            mine, theirs = theirs, mine | {node.cell}
            path.append(node)
        return path, mine, theirs

    def score(self, child, n_parent):
        if self.solve and child.value is not None:
            return self.draw if child.value == 0 else -inf
        return child.wins / child.visits + self.c * sqrt(log(n_parent) / child.visits)

    def play_out(self, mine, theirs):
        sign = -1
        while free := self.free(mine, theirs):
            cell = self.random.pick(self.candidates(mine, theirs, free))
            mine, theirs = theirs, mine | {cell}
            value = self.value_of_move(theirs, cell, free - {cell})
            if value is not None:
                return sign * value
            sign = -sign
        raise AssertionError("a playout begins where the game goes on")

    def candidates(self, mine, theirs, free):
        if self.playout == "random":
            return free
        own = {c for c in free if any(cells <= mine | {c} for cells in self.sets[c])}
        others = {c for c in free if any(cells <= theirs | {c} for cells in self.sets[c])}
        if self.misere:
            return free - own - others or free - own or free
        return own or others or free

    def backpropagate(self, path, result):
        for node in reversed(path):
            if self.solve and node.value is None:
                node.value = self.proved(node)
            if self.solve and node.value is not None:
                result = node.value
            node.visits += 1
            node.wins += self.draw * (1 - abs(result)) + max(result, 0)  # network values lie in between
            result = -result

    def proved(self, node):
        values = [child.value for child in node.children]
        if 1 in values:
            return -1
        return -max(values) if values and not node.untried and None not in values else None
