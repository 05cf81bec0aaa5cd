"""The results of a tournament: data, tables, and what is proved, in words."""

from collections.abc import Iterator
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.evaluation import Forfeited, summed
from ttt_env.analysis.verdict import told_in_a_line
from ttt_env.render.table import Column, Table, as_markdown
from ttt_env.render.words import signed
from ttt_env.rules.game import Seat
from ttt_env.rules.notation import GameRecord
from ttt_env.storage.game_file import game_to_dict
from ttt_env.tournament.contest import Contest, Verdict
from ttt_env.tournament.journal import Meeting, Played
from ttt_env.tournament.pairings import margin_of
from ttt_env.tournament.standings import Encounter, Standing, share

_FORMAT = "ttt_env tournament results 1"
NOT_MET = "·"
NOT_JUDGED = "not judged"
LEGEND = "A win is 1 point, a draw ½. Numbers with ± are sampled (95 % interval), the others exact."


class Share(NamedTuple):
    """The points a game, in [0, 1], that a player has taken from another; the margin of exact ones is 0."""

    points: float
    margin: float
    is_exact: bool

    def __str__(self) -> str:
        return with_margin(f"{self.points:.2f}", self.margin, self.is_exact)


class GameShown(NamedTuple):
    """A game of the tournament: who had X and O, and whether it counts or only shows how the two play."""

    round: int
    x: str
    o: str
    played: Played
    counts: bool


class Refuted(NamedTuple):
    """A shortest game that ends worse for an entry than best play, and the seat that it has there."""

    seat: Seat
    record: GameRecord


class Results:
    """What a tournament has come to, as far as it is finished."""

    def __init__(self, contest: Contest) -> None:
        self.contest, self.plan = contest, contest.plan
        self.standings = contest.standings()
        self.encounters = contest.encounters
        self.is_complete = contest.is_complete
        self.not_judged = contest.not_judged
        self.forfeits = {name: _forfeits_of(name, self.encounters) for name in self.plan.names}
        """What each entry has lost in games by naming no free cell."""
        self.authors = {entry.name: entry.author for entry in self.plan.entries}

    @property
    def order(self) -> list[str]:
        """The names, the best first."""
        return [row.name for row in self.standings]

    @cached_property
    def shares(self) -> dict[tuple[str, str], Share]:
        """What row has taken from column, by their names, over all meetings of the two."""
        met: dict[tuple[str, str], list[Encounter]] = {}
        for each in self.encounters:
            for one, other in ((each.first, each.second), (each.second, each.first)):
                met.setdefault((one, other), []).append(each)
        return {pair: _pooled(pair[0], encounters) for pair, encounters in met.items()}

    @property
    def n_computed(self) -> int:
        """How many meetings are computed."""
        return sum(each.match.exact for each in self.encounters)

    def verdict(self, name: str) -> Verdict:
        """What is proved about an entry."""
        return self.contest.verdicts.get(name, Verdict(None, "the tournament has not come to that"))

    def games(self) -> Iterator[GameShown]:
        """All games, in the order in which they were played."""
        for number, (pairs, _) in enumerate(self.contest.rounds, 1):
            for meeting in (Meeting(number, *pair) for pair in pairs):
                counts = meeting not in self.contest.journal.computed
                for game, played in enumerate(self.contest.games_of(meeting)):
                    yield GameShown(number, *meeting.seated(game), played, counts)

    def told(self) -> list[str]:
        """What a reader has to know about the numbers, in sentences."""
        lines = []
        if not self.is_complete:
            lines.append("The tournament is not finished: the same command goes on with it.")
        lines += [
            f"{each.first} v {each.second} in round {each.round} is not judged, and does not count, as "
            f"{name} could not be asked: {why}. The same command tries it again."
            for each, (name, why) in self.not_judged.items()
        ]
        if self.n_computed:
            lines.append(f"{_meetings(self.n_computed)} computed, over all games that can come up.")
        if n_sampled := len(self.encounters) - self.n_computed:
            lines.append(
                f"{_meetings(n_sampled)} sampled, in {self.plan.games} games each, half of them on each seat."
            )
        if any(each.match.source == "recorded" for each in self.encounters):
            lines.append(
                "A program that its entry calls fixed was asked once in each position that can come up, and "
                "what is computed is about these answers."
            )
        if self.plan.system == "swiss":
            lines.append(
                "Who takes more than half of the points of a meeting gets 1 point in the table; both get ½ "
                "if each takes half. A bye is 1 point. Buchholz, then Sonneborn–Berger decide between equals."
            )
        else:
            lines.append("Sonneborn–Berger decides between equals.")
        return lines

    def to_table(self, crossed: bool = False) -> Table:
        """The standings; `crossed` adds a column for each opponent with the points a game taken from it."""
        rows = self.standings
        columns = [
            Column("rank", rows, self.rank_text),
            Column("name", [row.name for row in rows], is_left=True),
            Column("author", [self.authors[row.name] for row in rows], is_left=True),
            Column("points", rows, self.points_text),
            Column("Buchholz", [row.buchholz for row in rows], "{:g}".format),
            Column("Sonneborn–Berger", [row.sonneborn_berger for row in rows], "{:.2f}".format),
            Column("rating", rows, self.rating_text),
        ]
        for place, other in enumerate(self.order if crossed else (), 1):
            columns.append(Column(str(place), [self._cell(row.name, other) for row in rows]))
        return Table(columns)

    def is_unplayed(self, name: str) -> bool:
        """Whether an entry could not be asked in any of its games, so that it has won and lost nothing."""
        has_met = any(name in (each.first, each.second) for each in self.encounters)
        return not has_met and any(blamed == name for blamed, _ in self.not_judged.values())

    def rank_text(self, standing: Standing) -> str:
        """The rank of a row."""
        return "–" if self.is_unplayed(standing.name) else str(standing.rank)

    def points_text(self, standing: Standing) -> str:
        """The points of a row, with their margin where they are sampled shares of games."""
        if self.is_unplayed(standing.name):
            return NOT_JUDGED
        if standing.margin is None:
            return f"{standing.points:g}"
        return with_margin(f"{standing.points:.2f}", standing.margin, standing.is_exact)

    def rating_text(self, standing: Standing) -> str:
        """The rating of a row, with its margin unless it rests on computed results alone."""
        if self.is_unplayed(standing.name):
            return "–"
        text = signed(standing.rating, 0)
        return f"{text} ±{standing.rating_margin:.0f}" if standing.rating_margin else text

    def to_markdown(self) -> str:
        """The table with the cross table, what is proved about each entry, and by what it has lost."""
        rounds = f"{self.plan.system}, {self.plan.rounds} {'round' if self.plan.rounds == 1 else 'rounds'}"
        proved = [f"- {as_markdown(name)}: {as_markdown(self.proved(name))}" for name in self.order]
        lost = [f"- {as_markdown(line)}" for line in self.lost()]
        parts = [
            f"# {as_markdown(self.plan.name)}",
            f"{self.plan.game.name}, {rounds}, seed {self.plan.seed}.",
            *self.told(),
            self.to_table(crossed=True).to_markdown(),
            f"The numbered columns are the points a game against the player of that row. {LEGEND}",
            "## What is proved",
            "\n".join(proved),
            *(["## Games lost by naming no free cell", "\n".join(lost)] if lost else []),
        ]
        return "\n\n".join(parts) + "\n"

    def lost(self) -> list[str]:
        """The losses of the entries by naming no free cell, with the reasons, a line each."""
        return [f"{name} lost {each}." for name in self.order for each in self.forfeits[name]]

    def to_csv(self) -> str:
        """The table with all digits, one row an entry; empty where there is no number."""
        against = [f"{kind} {name}" for name in self.order for kind in ("against", "margin against")]
        head = [
            "rank", "name", "author", "points", "margin", "exact", "buchholz", "sonneborn_berger",
            "rating", "rating_margin", "unbeatable", *against,
        ]  # fmt: skip
        rows = []
        for standing in self.standings:
            rank, name, *numbers = standing
            points, is_exact, margin, *others = numbers
            cells = [self.shares.get((standing.name, other)) for other in self.order]
            row = [
                rank, name, self.authors[standing.name], points, margin, is_exact, *others,
                self._unbeatable(standing.name),
                *(number for cell in cells for number in (cell[:2] if cell else (None, None))),
            ]  # fmt: skip
            rows.append(row)
        return Table.of(head, rows).to_csv()

    def _unbeatable(self, name: str) -> bool | str | None:
        """Whether an entry is proved unbeatable, as a cell of a table."""
        verdict = self.verdict(name)
        if verdict.not_judged:
            return NOT_JUDGED
        return None if verdict.certificate is None else verdict.certificate.unbeatable

    def to_dict(self) -> dict[str, Any]:
        """All results as a dictionary that JSON can hold."""
        return {
            "format": _FORMAT,
            "name": self.plan.name,
            "game": game_to_dict(self.plan.game),
            "system": self.plan.system,
            "rounds": self.plan.rounds,
            "games": self.plan.games,
            "seed": self.plan.seed,
            "is_complete": self.is_complete,
            "entries": [self._entry_facts(standing) for standing in self.standings],
            "meetings": [
                {
                    "round": each.round,
                    "first": each.first,
                    "second": each.second,
                    "points": share(each.match),
                    **each.match.to_dict(),
                }
                for each in self.encounters
            ],
            "not_judged": [
                {**meeting._asdict(), "entry": name, "reason": why}
                for meeting, (name, why) in self.not_judged.items()
            ],
            "byes": [{"round": number, "name": name} for number, name in self.contest.byes.items()],
            "games_played": [
                {
                    "round": each.round,
                    "x": each.x,
                    "o": each.o,
                    **each.played.to_dict(),
                    "winner": each.played.winner,
                    "counts": each.counts,
                }
                for each in self.games()
            ],
        }

    def _entry_facts(self, standing: Standing) -> dict[str, Any]:
        name = standing.name
        certificate, lack, brought, not_judged = self.verdict(name)
        file = self.contest.certificate_file(name)
        refuted = None if certificate is None else refuted_in(certificate)
        return {
            **standing._asdict(),
            "author": self.authors[name],
            "certificate": None
            if certificate is None
            else {
                "unbeatable": certificate.unbeatable,
                "source": certificate.source,
                "asked": certificate.asked,
                "worst_case": certificate.worst_case,
                "refutation": refuted and {"seat": refuted.seat, "record": str(refuted.record)},
                "file": file.relative_to(self.contest.folder).as_posix(),
            },
            "proved": self.proved(name),
            "not_certified": lack or None,
            "not_judged": not_judged or None,
            "certificate_brought": brought or None,
            "forfeits": [lost._asdict() for lost in self.forfeits[name]],
        }

    def proved(self, name: str) -> str:
        """What is proved about an entry, and what the certificate that it brought is worth, in a line."""
        certificate, lack, brought, not_judged = self.verdict(name)
        if not_judged:
            line = f"{NOT_JUDGED}: {not_judged}"
        else:
            line = f"not certified, as {lack}" if certificate is None else told_in_a_line(certificate)
        return f"{line}; {brought}" if brought else line

    def _cell(self, row: str, column: str) -> str:
        met = self.shares.get((row, column))
        if met is not None:
            return str(met)
        return NOT_JUDGED if self.is_not_judged(row, column) else NOT_MET

    def is_not_judged(self, one: str, other: str) -> bool:
        """Whether the two were to meet, and one of them could not be asked."""
        return any({one, other} == {each.first, each.second} for each in self.not_judged)


def refuted_in(certificate: Certificate) -> Refuted | None:
    """The shortest game of a certificate that refutes the agent; None if it is unbeatable."""
    games = [Refuted(seat, record) for seat, record in certificate.refutations.items() if record is not None]
    return min(games, key=lambda each: len(each.record.cells), default=None)


def with_margin(number: str, margin: float, is_exact: bool) -> str:
    """A number, with ± its margin unless it is exact."""
    return number if is_exact else f"{number} ±{margin:.2f}"


def _meetings(number: int) -> str:
    return f"{number:,} meeting{' is' if number == 1 else 's are'}"


def _forfeits_of(name: str, encounters: list[Encounter]) -> tuple[Forfeited, ...]:
    own = (each.seen_by(name).forfeits[0] for each in encounters if name in (each.first, each.second))
    return summed(tuple(lost for losses in own for lost in losses))


def _pooled(name: str, encounters: list[Encounter]) -> Share:
    """The mean of several meetings from one side."""
    matches = [each.seen_by(name) for each in encounters]
    margin = sqrt(sum((margin_of(each) / 2) ** 2 for each in matches)) / len(matches)
    points = sum(map(share, matches)) / len(matches)
    return Share(points, margin, all(each.exact for each in matches))
