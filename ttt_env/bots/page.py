"""The page of a tournament, which needs no other file and no network, and the files beside it."""

from collections import Counter
from functools import cached_property
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ttt_env.agent import quote_reply
from ttt_env.analysis.known import MoveVerdict, judge
from ttt_env.analysis.verdict import verdict_in_a_line
from ttt_env.bots.documents import CERTIFICATES, LEGEND, RANKING, RATINGS, Documents
from ttt_env.errors import ParameterError
from ttt_env.render.layout import TileStyle, layout_of
from ttt_env.render.svg import document, draw_svg, tile
from ttt_env.rules import SEATS, GameRecord, Seat
from ttt_env.storage import write_atomically
from ttt_env.storage.codec import as_json
from ttt_env.tournament.matches import PlayedGame
from ttt_env.tournament.standings import Standing, share

if TYPE_CHECKING:
    from jinja2 import Environment

BEST_PLAY = ""
"""The opponent of an entry in the game of its certificate: the one name that no entry can have."""
_DISPLAY_NAMES = {BEST_PLAY: "best play"}
LOOKS = (
    TileStyle(None),
    *(TileStyle(seat, accent) for seat in SEATS for accent in ("none", "last", "completed")),
)
"""The looks of a tile: empty; a stone of X, as the last move, in a completed set; the same of O."""
RESULTS = "results.json"
_TEMPLATE = "index.html"
_SMALL = 112  # pixels: the width of a small board


def check_folder(folder: Path) -> None:
    """Raise `ParameterError` for a folder, or a file, that holds anything but the results of a tournament."""
    is_other = folder.exists() and not folder.is_dir()
    if is_other or (folder.is_dir() and any(folder.iterdir()) and not (folder / RESULTS).exists()):
        raise ParameterError(f"{str(folder)!r} holds something else: choose another folder (--out)")


def write_results(results: Documents, folder: Path) -> None:
    """Write the results of all that is finished to a folder, where they replace others. Raises `OSError`."""
    texts = {
        RESULTS: as_json(results.to_dict()),
        "table.md": results.to_markdown(),
        "table.csv": results.to_csv(),
        "games.txt": "".join(f"{each.played.record}\n" for each in results.games()),
        "index.html": page(results),
    }
    for name in results.order:
        if (certificate := results.verdict(name).certificate) is not None:
            texts[results.certificate_file(name)] = certificate.to_json()
    for old in (folder / CERTIFICATES).glob("*.certificate.json"):
        old.unlink()
    for name, text in texts.items():
        # A program may have sent half a letter.
        write_atomically(folder / name, text.encode("utf-8", "replace"))


def templates_in(package: str, folder: str) -> "Environment":
    """The templates in a folder of a package, whose variables must all be there, and are escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(results: Documents) -> str:
    """The page as HTML."""
    environment = templates_in("ttt_env.bots", "static")
    environment.globals |= {
        "quote_reply": quote_reply,
        "notes": (RANKING, LEGEND),
        "ratings": RATINGS,
        "share": share,
    }
    static = resources("ttt_env.bots") / "static"
    return environment.get_template(_TEMPLATE).render(
        page=_Page(results),
        style=(static / "page.css").read_text("utf-8"),
        script=(static / "page.js").read_text("utf-8"),
    )


class _GameView(NamedTuple):
    """A game on the page, with the names of X and O, its cells, its kind, and its end."""

    x: str
    o: str
    cells: tuple[int, ...]
    kind: str
    end: str
    loser: str | None


class _Board(NamedTuple):
    """A small board with the text below it."""

    svg: str
    caption: str


class _Loss(NamedTuple):
    """A lost game: its number on the page, what was wrong in it, and the boards that show that."""

    number: int
    reason: str
    boards: list[_Board]


class _Page:
    """The data of the template."""

    def __init__(self, results: Documents) -> None:
        self.results, self.plan = results, results.plan
        rows = results.standings
        self._low = min(row.rating - row.rating_margin for row in rows)
        self._width = max(row.rating + row.rating_margin for row in rows) - self._low or 1.0

    @cached_property
    def games(self) -> list[_GameView]:
        """All games of the tournament, then the games of the certificates."""
        numbers: Counter[frozenset[str]] = Counter()
        games = []
        for each in self.results.games():
            pair = frozenset((each.x, each.o))
            numbers[pair] += 1
            kind = f"game {numbers[pair]}"
            if not each.counts:
                kind = f"{kind}: an example, as the result is computed"
            games.append(_game_view(each.x, each.o, each.played, kind))
        for name in self.results.order:
            certificate = self.results.verdict(name).certificate
            if certificate is not None and (record := certificate.shortest_refutation) is not None:
                x, o = (name, BEST_PLAY) if certificate.refuted_as == "X" else (BEST_PLAY, name)
                game = PlayedGame(record, certificate.forfeit_after(record))
                games.append(_game_view(x, o, game, f"certificate of {name}"))
        return games

    def game_of(self, name: str, other: str = BEST_PLAY) -> int | None:
        """The number of the first game between the two, None if there is none."""
        return self._first_games.get(frozenset((name, other)))

    @cached_property
    def _first_games(self) -> dict[frozenset[str], int]:
        numbered = list(enumerate(self.games))
        return {frozenset((game.x, game.o)): number for number, game in reversed(numbered)}

    def verdict_text(self, name: str) -> str:
        """The verdict on an entry, or the reason why there is none."""
        certificate = self.results.verdict(name).certificate
        if certificate is not None:
            return verdict_in_a_line(certificate)
        text = self.results.proof_text(name)
        return f"{text[0].upper()}{text[1:]}"

    def lost_to(self, name: str) -> list[str]:
        """The opponents that took more than half of the points from an entry, the best first."""
        matches = self.results.tournament.matches
        return [
            other
            for other in self.results.order
            if (match := matches.get((name, other))) is not None and share(match) < 0.5
        ]

    def loss(self, name: str) -> _Loss | None:
        """A game that an entry lost: the shortest that refutes it, else the first that it played."""
        number = self.game_of(name)
        if number is None:
            number = next((at for at, game in enumerate(self.games) if game.loser == name), None)
        if number is None:
            return None
        game = self.games[number]
        seat: Seat = "X" if game.x == name else "O"
        record = GameRecord(self.plan.game, game.cells)
        verdicts = list(map(judge, record.positions(), record.cells))[SEATS.index(seat) :: 2]
        blunder = next((each for each in reversed(verdicts) if each.is_blunder and each.after == -1), None)
        boards = [_Board(_blunder_svg(blunder), f"Move {blunder.position.ply + 1}")] if blunder else []
        if record.cells:  # else the reason says it all
            end = draw_svg(record.positions()[-1], record.cells[-1], _SMALL)
            boards.append(_Board(end, _result_text(record)))
        return _Loss(number, blunder.sentence if blunder else "", boards)

    def interval(self, row: Standing) -> tuple[float, float, float]:
        """The places of the lower end of a rating's interval, the rating and the upper end, in percent."""
        ends = (row.rating - row.rating_margin, row.rating, row.rating + row.rating_margin)
        low, middle, high = (100 * (end - self._low) / self._width for end in ends)
        return low, middle, high

    @property
    def board(self) -> str:
        """The empty board, whose tiles are one group that the script fills."""
        layout = layout_of(self.plan.game)
        tiles = [tile(box, LOOKS[0], layout) for box in layout.tiles]
        return document("the board", layout, layout.width // 2, ['<g id="tiles">', *tiles, "</g>"])

    @property
    def data(self) -> dict[str, Any]:
        """The data of the script, with the tiles in all looks, the winning sets, the names and the games."""
        names = [*self.results.order, BEST_PLAY]
        place = {name: at for at, name in enumerate(names)}
        layout = layout_of(self.plan.game)
        return {
            "names": [_DISPLAY_NAMES.get(name, name) for name in names],
            "sets": self.plan.game.winning_sets,
            "tiles": [[tile(box, look, layout) for look in LOOKS] for box in layout.tiles],
            "games": [
                [place[game.x], place[game.o], list(game.cells), game.kind, game.end] for game in self.games
            ],
        }


def _game_view(x: str, o: str, game: PlayedGame, kind: str) -> _GameView:
    loser = {"X": o, "O": x, None: None}[game.winner]
    return _GameView(x, o, game.record.cells, kind, _end(x, o, game), loser)


def _blunder_svg(blunder: MoveVerdict) -> str:
    position = blunder.position.play(blunder.cell)
    return draw_svg(position, blunder.cell, _SMALL, is_blunder=True, better=blunder.better)


def _result_text(record: GameRecord) -> str:
    if not record.is_over:
        return f"{record.positions()[-1].to_move} makes no legal move"
    return f"{record.winner} wins" if record.winner else "draw"


def _end(x: str, o: str, game: PlayedGame) -> str:
    names = {"X": _DISPLAY_NAMES.get(x, x), "O": _DISPLAY_NAMES.get(o, o)}
    if game.forfeit is not None:
        position, outcome, reply = game.forfeit
        loser, why = names[position.to_move], quote_reply(reply, outcome)
        return f"{loser} ({position.to_move}) makes no legal move and loses: {outcome} ({why})"
    if game.winner is None:
        return "Draw"
    return f"{names[game.winner]} ({game.winner}) wins"
