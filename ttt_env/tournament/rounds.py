"""The rounds of a tournament, and the draw of a Swiss one."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

from ttt_env.analysis.results import Match
from ttt_env.errors import ParameterError, extra_for
from ttt_env.tournament.meetings import Meeting, NotJudged
from ttt_env.tournament.standings import System, points_of

Pair = tuple[str, str]
Meet: TypeAlias = Callable[[list[Meeting]], Iterable[tuple[Meeting, Match | NotJudged]]]


class Round(NamedTuple):
    """The pairs of a round, the best placed first, and who has nobody to meet; None if all have."""

    pairs: list[Pair]
    bye: str | None


class Rounds:
    """The rounds of a tournament, each drawn when the meetings of the one before are over."""

    def __init__(self, system: System, names: Sequence[str], number: int) -> None:
        self.system, self.names, self.number = system, names, number
        self.drawn: list[Round] = []
        self._met: dict[Meeting, Match | NotJudged] = {}

    def play(self, meet: Meet) -> None:
        """Draw and play all rounds. `meet` gives the results of the meetings of one, in any order."""
        self.drawn.clear()
        self._met.clear()
        for number in range(1, self.number + 1):
            drawn = Round(list(combinations(self.names, 2)), None)
            if self.system == "swiss":
                points = points_of(self.system, self.names, self.meetings, self.byes)
                drawn = swiss_round(points, [each[1:] for each in self.schedule], set(self.byes.values()))
            self.drawn.append(drawn)
            for meeting, result in meet([Meeting(number, *pair) for pair in drawn.pairs]):
                self._met[meeting] = result

    @property
    def schedule(self) -> list[Meeting]:
        """All meetings that are drawn, in the order of the rounds."""
        return [Meeting(number, *pair) for number, (pairs, _) in enumerate(self.drawn, 1) for pair in pairs]

    @property
    def meetings(self) -> dict[Meeting, Match]:
        """The matches of all meetings that count, in the order of the rounds."""
        return {at: met for at in self.schedule if isinstance(met := self._met.get(at), Match)}

    @property
    def not_judged(self) -> dict[Meeting, NotJudged]:
        """The meetings that do not count, with the player that could not be asked."""
        return {at: met for at in self.schedule if isinstance(met := self._met.get(at), NotJudged)}

    @property
    def byes(self) -> dict[int, str]:
        """The players with a bye, by the number of the round."""
        return {number: bye for number, (_, bye) in enumerate(self.drawn, 1) if bye is not None}


def most_rounds(n_players: int) -> int:
    """The rounds in which everybody can meet somebody new; with an odd number each has one bye by then."""
    return n_players - 1 + n_players % 2


def swiss_round(points: Mapping[str, float], met: Iterable[Pair], byes: Collection[str] = ()) -> Round:
    """The next round, by a simplified form of FIDE's Dutch system (Handbook C.04.3).

    `points`, in steps of ½, are those of all players in the order of their initial ranking, `met` who has met
    whom so far, and `byes` who has had one. Of all ways to pair everybody, the one is taken that has, in this
    order:

    1. the fewest pairs that have met before;
    2. the smallest sum of the squared differences in points, where who gets the bye is paired with the lowest
       score: so score groups stay together, and the bye goes to the lowest group;
    3. those who leave their score group, or get the bye, lowest in it, their opponents highest in theirs;
    4. in each score group the first of the upper half against the first of the lower half, the second against
       the second, and so on.

    Nobody gets a second bye. It is simplified in that each criterion is weighed over the whole round at once,
    not score group by score group; that nobody is kept from changing his group twice in a row; and that there
    are no rules of colours, as here each pair plays on both seats.

    The pairing is a matching of least weight (Edmonds 1965). Raises `ParameterError` if there is an odd
    number of players, and all have had their bye; `ImportError` if networkx, of the extra `tournament`, is
    not installed.
    """
    table = sorted(points, key=lambda name: -points[name])  # the initial ranking decides between equals
    is_odd = len(table) % 2 == 1
    if is_odd and not set(table) - set(byes):
        raise ParameterError(
            f"everybody has had a bye: at most {most_rounds(len(table))} rounds are possible"
        )
    with extra_for("Swiss pairings need", "tournament"):
        import networkx
    graph = networkx.Graph()
    scores, last = [points[name] for name in table], len(table)
    costs = dict(_costs(scores, Counter(map(frozenset, met)), table))
    if is_odd:  # the bye comes after the table, and is given once
        costs |= {
            (one, last): (0, _halves(scores[one] - scores[-1]) ** 2, (last - 1 - one) ** 2, 0)
            for one, name in enumerate(table)
            if name not in byes
        }
    base = 1 + sum(max(criteria) for criteria in zip(*costs.values(), strict=True)) * len(table)
    weights = {edge: _number(criteria, base) for edge, criteria in costs.items()}
    highest = max(weights.values())
    for (one, other), weight in weights.items():
        graph.add_edge(one, other, weight=highest - weight)
    matching = networkx.max_weight_matching(graph, maxcardinality=True)
    pairs = sorted(tuple(sorted(pair)) for pair in matching)
    bye = next((table[one] for one, other in pairs if other == len(table)), None)
    return Round([(table[one], table[other]) for one, other in pairs if other < len(table)], bye)


Edge = tuple[int, int]
Criteria = tuple[int, int, int, int]


def _costs(
    points: list[float], met: Mapping[frozenset[str], int], table: list[str]
) -> Iterator[tuple[Edge, Criteria]]:
    """The shortfall of each possible pair, of places in the table, by each criterion."""
    size = Counter(points)
    place = {group: points.index(group) for group in size}
    for one, other in combinations(range(len(table)), 2):
        times = met[frozenset((table[one], table[other]))]
        apart = _halves(points[one] - points[other])
        if apart:
            from_bottom = place[points[one]] + size[points[one]] - 1 - one
            yield (one, other), (times, apart**2, from_bottom**2 + (other - place[points[other]]) ** 2, 0)
        else:
            yield (one, other), (times, 0, 0, (other - one - size[points[one]] // 2) ** 2)


def _halves(points: float) -> int:
    return round(2 * points)


def _number(criteria: Criteria, base: int) -> int:
    """The criteria as digits, the first the highest: no sum over a round reaches the next digit."""
    number = 0
    for criterion in criteria:
        number = number * base + criterion
    return number
