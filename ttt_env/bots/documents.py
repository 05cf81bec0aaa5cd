"""The tournament of a file in data, tables and words."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from ttt_env.analysis.results import ForfeitCount
from ttt_env.analysis.verdict import summary_line
from ttt_env.bots.contest import Contest, Verdict
from ttt_env.render.table import Column, Table, as_markdown
from ttt_env.render.words import signed
from ttt_env.storage import as_file_name
from ttt_env.tournament.matches import N_REPEATED_QUERIES, PlayedGame
from ttt_env.tournament.standings import PRIOR, Standing, share

CERTIFICATES = "certificates"
_NAME_LETTERS = 50  # of an entry, in the name of a file
NO_MATCH = "·"
NOT_JUDGED = "not judged"
RANKING = (
    "Ranked by points: the share of its games that an entry won against an opponent, a draw counting half, "
    "summed over all opponents."
)
LEGEND = "Numbers with ± are sampled (95 % interval), the others exact."
RATINGS = (
    "Ratings are Bradley–Terry ratings in Elo points, of mean 0, under a normal prior with a standard "
    f"deviation of {PRIOR:.0f} points, which keeps the rating of an entry that never loses finite."
)


class TournamentGame(NamedTuple):
    """A game of the tournament, with the names of X and O; `counts` is False for an example."""

    x: str
    o: str
    played: PlayedGame
    counts: bool


class Documents:
    """The finished part of the tournament of a file, in data, tables and words."""

    def __init__(self, contest: Contest) -> None:
        self.contest, self.plan, self.tournament = contest, contest.plan, contest.tournament
        self.standings = self.tournament.standings
        self.not_judged = contest.not_judged
        self.authors = {entry.name: entry.author for entry in self.plan.entries}

    @property
    def order(self) -> list[str]:
        """The names, the best first."""
        return [row.name for row in self.standings]

    def verdict(self, name: str) -> Verdict:
        """The verdict on an entry."""
        return self.contest.verdicts.get(name, Verdict(None, "the tournament has not got that far"))

    def certificate_file(self, name: str) -> str:
        """The file of an entry's certificate in the folder of the results."""
        number = self.plan.names.index(name) + 1
        return f"{CERTIFICATES}/{number:03}-{as_file_name(name)[:_NAME_LETTERS]}.certificate.json"

    def games(self) -> Iterator[TournamentGame]:
        """All games, in the order in which they were played."""
        for pair in self.contest.schedule:
            match = self.contest.matches.get(pair)
            for number, game in enumerate(self.contest.games[pair]):
                yield TournamentGame(*pair.seated(number), game, counts=match is None or not match.exact)

    def notes(self) -> list[str]:
        """The sentences that a reader needs to understand the numbers."""
        lines, matches = [], self.tournament.pairs.values()
        if not self.tournament.is_complete:
            lines.append("The tournament was stopped before its end.")
        lines += [f"{name} is set aside: {why}." for name, why in self.contest.players.set_aside.items()]
        lines += [
            f"{each.first} v {each.second} is not judged, and does not count, as "
            f"{name} did not answer: {why}."
            for each, (name, why) in self.not_judged.items()
        ]
        if n_computed := sum(each.exact for each in matches):
            lines.append(f"{_matches(n_computed)} computed, over all games that the two can play.")
        if n_sampled := len(matches) - n_computed:
            lines.append(
                f"{_matches(n_sampled)} sampled, in {self.plan.games} games each, half of them on each seat."
            )
        asked_names = [
            name for name in self.contest.players.names if self.contest.players.is_asked_agent(name)
        ]
        if repeating := [name for name in asked_names if self.verdict(name).certificate is not None]:
            lines.append(
                f"{', '.join(repeating)}: asked once in each position that it can reach, on which computed "
                f"results rest; repeated itself in all of {N_REPEATED_QUERIES} positions asked twice."
            )
        return lines

    def to_table(self, crossed: bool = False) -> Table:
        """The standings; `crossed` adds a column for each opponent, with the points per game against it."""
        rows = self.standings
        columns = [
            Column("rank", rows, self.rank_text),
            Column("name", [row.name for row in rows], is_left=True),
            Column("author", [self.authors[row.name] for row in rows], is_left=True),
            Column("points", rows, self.points_text),
            Column("rating", rows, self.rating_text),
        ]
        for place, other in enumerate(self.order if crossed else (), 1):
            columns.append(Column(str(place), [self._cell(row.name, other) for row in rows]))
        return Table(columns)

    def is_unplayed(self, name: str) -> bool:
        """True if an entry has no match, because it did not answer in any."""
        has_match = any(name in (each.first, each.second) for each in self.tournament.pairs)
        return not has_match and any(unjudged == name for unjudged, _ in self.not_judged.values())

    def rank_text(self, standing: Standing) -> str:
        """The rank of a row."""
        return "–" if self.is_unplayed(standing.name) else str(standing.rank)

    def points_text(self, standing: Standing) -> str:
        """The points of a row, with their margin if they are sampled."""
        if self.is_unplayed(standing.name):
            return NOT_JUDGED
        return with_margin(f"{standing.points:.2f}", standing.margin, standing.is_exact)

    def rating_text(self, standing: Standing) -> str:
        """The rating of a row, with its margin unless it rests on computed results alone."""
        if self.is_unplayed(standing.name):
            return "–"
        text = signed(standing.rating, 0)
        return f"{text} ±{standing.rating_margin:.0f}" if standing.rating_margin else text

    def to_markdown(self) -> str:
        """The standings with the cross table, the proofs about the entries, and their forfeits."""
        proofs = [f"- {as_markdown(name)}: {as_markdown(self.proof_text(name))}" for name in self.order]
        losses = [f"- {as_markdown(line)}" for line in self.forfeit_lines()]
        parts = [
            f"# {as_markdown(self.plan.name)}",
            f"{as_markdown(self.plan.game.name)}, {len(self.order)} entries, seed {self.plan.seed}.",
            *map(as_markdown, self.notes()),
            self.to_table(crossed=True).to_markdown(),
            "The numbered columns are the points per game against the player of that row. "
            f"{RANKING} {LEGEND} {RATINGS}",
            "## What is proved",
            "\n".join(proofs),
            *(["## Games lost without a free cell", "\n".join(losses)] if losses else []),
        ]
        return "\n\n".join(parts) + "\n"

    @property
    def forfeits(self) -> list[tuple[str, ForfeitCount]]:
        """The games that entries lost by naming no free cell, the best entry first."""
        losses = self.tournament.forfeits
        return [(name, loss) for name in self.order for loss in losses.get(name, ())]

    def forfeit_lines(self) -> list[str]:
        """The games that entries lost by naming no free cell, with the reasons, one per line."""
        return [f"{name} lost {each}." for name, each in self.forfeits]

    def to_csv(self) -> str:
        """The table with all digits and one row per entry; empty where there is no number."""
        against = [f"{kind} {name}" for name in self.order for kind in ("against", "margin against")]
        head = [
            "rank", "name", "author", "points", "margin", "exact", "rating", "rating_margin", "unbeatable",
            *against,
        ]  # fmt: skip
        rows = []
        for standing in self.standings:
            rank, name, points, is_exact, margin, *others = standing
            verdict = self.verdict(name)
            proved = None if verdict.certificate is None else verdict.certificate.unbeatable
            cells = [
                (None, None) if (match := self.tournament.matches.get((standing.name, other))) is None
                else (share(match), match.margin / 2)
                for other in self.order
            ]  # fmt: skip
            row = [
                rank, name, self.authors[standing.name], points, margin, is_exact, *others,
                NOT_JUDGED if verdict.not_judged else proved,
                *chain(*cells),
            ]  # fmt: skip
            rows.append(row)
        return Table.of(head, rows).to_csv()

    def to_dict(self) -> dict[str, Any]:
        """The tournament as `Tournament.from_dict` reads it, with its entries and games."""
        return {
            **self.tournament.to_dict(),
            "name": self.plan.name,
            "games": self.plan.games,
            "seed": self.plan.seed,
            "entries": [self._entry_facts(standing) for standing in self.standings],
            "matches_not_judged": [
                {**pair._asdict(), "entry": name, "reason": why}
                for pair, (name, why) in self.not_judged.items()
            ],
            "games_played": [
                {
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
        certificate, lack, not_judged = self.verdict(name)
        return {
            **standing._asdict(),
            "author": self.authors[name],
            "certificate": None
            if certificate is None
            else {
                "unbeatable": certificate.unbeatable,
                "n_queries": certificate.n_queries,
                "worst_case": certificate.worst_case,
                "refutation": None
                if certificate.refuted_as is None
                else {"seat": certificate.refuted_as, "record": str(certificate.shortest_refutation)},
                "file": self.certificate_file(name),
            },
            "proved": self.proof_text(name),
            "not_certified": lack or None,
            "not_judged": not_judged or None,
            "forfeits": [loss._asdict() for loss in self.tournament.forfeits.get(name, ())],
        }

    def proof_text(self, name: str) -> str:
        """The verdict on an entry in a line."""
        certificate, lack, not_judged = self.verdict(name)
        if not_judged:
            return f"{NOT_JUDGED}: {not_judged}"
        return f"not certified, as {lack}" if certificate is None else summary_line(certificate)

    def _cell(self, row: str, column: str) -> str:
        if (match := self.tournament.matches.get((row, column))) is not None:
            return with_margin(f"{share(match):.2f}", match.margin / 2, match.exact)
        return NOT_JUDGED if self.is_not_judged(row, column) else NO_MATCH

    def is_not_judged(self, one: str, other: str) -> bool:
        """True if the match of the two was not judged, as one of them did not answer."""
        return any({one, other} == {each.first, each.second} for each in self.not_judged)


def with_margin(number: str, margin: float, is_exact: bool) -> str:
    """A number, with ± its margin unless it is exact."""
    return number if is_exact else f"{number} ±{margin:.2f}"


def _matches(number: int) -> str:
    return f"{number:,} {'match is' if number == 1 else 'matches are'}"
