"""The files of a tournament's results, among them a page that needs no other file and no network."""

import json
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files as resources
from typing import Any, NamedTuple

from ttt_env.agent import quoted
from ttt_env.analysis.evaluation import Forfeited
from ttt_env.render.layout import Look, layout_of
from ttt_env.render.svg import document, tile
from ttt_env.rules import SEATS, Game
from ttt_env.storage import write_atomically
from ttt_env.tournament.documents import LEGEND, NOT_JUDGED, Documents
from ttt_env.tournament.meetings import Meeting, Played
from ttt_env.tournament.standings import Standing, match_points, share

BEST_PLAY = ""
"""The opponent of an entry in the game of its certificate: the one name that no entry can have."""
_CALLED = {BEST_PLAY: "best play"}
LOOKS = (Look(None), *(Look(seat, accent) for seat in SEATS for accent in ("none", "last", "completed")))
"""The looks of a tile: empty; a stone of X, as the last move, in a completed set; the same of O."""
_TEMPLATE = "index.html"


def write_results(results: Documents) -> None:
    """Write the results of all that is finished to the folder of the tournament. Raises `OSError`."""
    texts = {
        "results.json": json.dumps(results.to_dict(), indent=1, ensure_ascii=False) + "\n",
        "table.md": results.to_markdown(),
        "table.csv": results.to_csv(),
        "games.txt": "".join(f"{each.played.record}\n" for each in results.games()),
        "index.html": page(results),
    }
    for name, text in texts.items():
        # Half a letter may stand in what a program said.
        write_atomically(results.contest.folder / name, text.encode("utf-8", "replace"))


def page(results: Documents) -> str:
    """The page as HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ttt_env.tournament", "static"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"quoted": quoted, "LEGEND": LEGEND, "share": share}
    static = resources("ttt_env.tournament") / "static"
    return environment.get_template(_TEMPLATE).render(
        page=_Page(results),
        style=(static / "page.css").read_text("utf-8"),
        script=(static / "page.js").read_text("utf-8"),
    )


class _Shown(NamedTuple):
    """A game on the page: who had X and O, its cells, what it is, and how it ends."""

    x: str
    o: str
    cells: tuple[int, ...]
    kind: str
    end: str


class _Page:
    """The data of the template."""

    def __init__(self, results: Documents) -> None:
        self.results, self.plan = results, results.plan
        rows = results.standings
        self._low = min(row.rating - row.rating_margin for row in rows)
        self._width = max(row.rating + row.rating_margin for row in rows) - self._low or 1.0

    @cached_property
    def games(self) -> list[_Shown]:
        """All games of the tournament, then those of the certificates."""
        numbers: dict[tuple[int, frozenset[str]], int] = {}
        games = []
        for each in self.results.games():
            key = each.round, frozenset((each.x, each.o))
            numbers[key] = numbers.get(key, 0) + 1
            kind = f"round {each.round}, game {numbers[key]}"
            if not each.counts:
                kind = f"{kind}: an example, as the result is computed"
            games.append(
                _Shown(each.x, each.o, each.played.record.cells, kind, _end(each.x, each.o, each.played))
            )
        return games + [shown for name in self.results.order for shown in self._refutations(name)]

    def _refutations(self, name: str) -> Iterator[_Shown]:
        """The game of an entry's certificate that beats it, if there is one."""
        certificate = self.results.verdict(name).certificate
        if certificate is None or (record := certificate.shortest_refutation) is None:
            return
        x, o = (name, BEST_PLAY) if certificate.refuted_as == "X" else (BEST_PLAY, name)
        played = Played(record, certificate.forfeit_after(record))
        yield _Shown(x, o, record.cells, f"certificate of {name}", _end(x, o, played))

    @cached_property
    def first_games(self) -> dict[frozenset[str], int]:
        """The number of the first game between two names, best play among them."""
        first: dict[frozenset[str], int] = {}
        for number, game in enumerate(self.games):
            first.setdefault(frozenset((game.x, game.o)), number)
        return first

    def game_of(self, name: str, other: str = BEST_PLAY) -> int | None:
        """The number of the first game between the two, None if there is none."""
        return self.first_games.get(frozenset((name, other)))

    def is_unbeatable(self, name: str) -> bool | None:
        """True if an entry is certified unbeatable; None if it is not certified."""
        certificate = self.results.verdict(name).certificate
        return None if certificate is None else certificate.unbeatable

    def is_recorded(self, name: str) -> bool:
        """True if an entry's certificate is about the answers that it gave."""
        certificate = self.results.verdict(name).certificate
        return certificate is not None and certificate.source == "recorded"

    def interval(self, row: Standing) -> tuple[float, float, float]:
        """The places of the lower end of a rating's interval, the rating and the upper end, in percent."""
        ends = (row.rating - row.rating_margin, row.rating, row.rating + row.rating_margin)
        low, middle, high = (100 * (end - self._low) / self._width for end in ends)
        return low, middle, high

    @property
    def rounds(self) -> list[tuple[int, str | None, list[tuple[str, str, str]]]]:
        """The rounds of a Swiss tournament: number, bye, and the meetings with their points."""
        texts: dict[Meeting, str] = {}
        for each, played in self.results.tournament.meetings.items():
            points = match_points(played)
            texts[each] = f"{points:g} : {1 - points:g} ({share(played):.2f} a game)"
        texts |= dict.fromkeys(self.results.not_judged, NOT_JUDGED)
        return [
            (number, bye, [(*pair, texts.get(Meeting(number, *pair), "not finished")) for pair in pairs])
            for number, (pairs, bye) in enumerate(self.results.contest.rounds.drawn, 1)
        ]

    @property
    def forfeits(self) -> list[tuple[str, Forfeited]]:
        """The losses of the entries by naming no free cell."""
        return [(name, lost) for name, losses in self.results.forfeits for lost in losses]

    @property
    def board(self) -> str:
        """The empty board, whose tiles stand in one group: the script fills it."""
        layout = layout_of(self.plan.game)
        tiles = [tile(box, LOOKS[0], layout) for box in layout.tiles]
        return document("the board", layout, layout.width // 2, ['<g id="tiles">', *tiles, "</g>"])

    @property
    def data(self) -> dict[str, Any]:
        """The data of the script: the tiles in all looks, the winning sets, the names and the games."""
        names = [*self.results.order, BEST_PLAY]
        place = {name: at for at, name in enumerate(names)}
        return {
            "names": [_CALLED.get(name, name) for name in names],
            "sets": self.plan.game.winning_sets,
            "tiles": tiles_of(self.plan.game),
            "games": [
                [place[game.x], place[game.o], list(game.cells), game.kind, game.end] for game in self.games
            ],
        }


def tiles_of(game: Game) -> list[list[str]]:
    """Each tile of a game's board as SVG, in each of the `LOOKS`."""
    layout = layout_of(game)
    return [[tile(box, look, layout) for look in LOOKS] for box in layout.tiles]


def _end(x: str, o: str, played: Played) -> str:
    """The end of a game in words."""
    names = {"X": _CALLED.get(x, x), "O": _CALLED.get(o, o)}
    if played.forfeit is not None:
        position, outcome, said = played.forfeit
        loser = names[position.to_move]
        return (
            f"{loser} ({position.to_move}) names no free cell, and loses: {outcome} ({quoted(said, outcome)})"
        )
    if played.winner is None:
        return "Draw"
    return f"{names[played.winner]} ({played.winner}) wins"
