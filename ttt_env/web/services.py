"""The parts that all pages share: players, threads that compute, the game log, templates, static files."""

import os
import re
import secrets
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ttt_env.agent.explanation import fact_text
from ttt_env.agents.mcts.search import trees_of
from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.known import known_value
from ttt_env.analysis.verdict import verdict_of
from ttt_env.bots.page import templates_in
from ttt_env.errors import GameLogError, ParameterError
from ttt_env.render.words import OUTCOMES, RESULTS, gain, percent, signed, told_value
from ttt_env.rules import Game, get_game
from ttt_env.storage.game_log import GameLog
from ttt_env.web import board
from ttt_env.web.compare.curves import text_of
from ttt_env.web.compare.trainings import Trainings
from ttt_env.web.computing import Lane, WorkQueues
from ttt_env.web.games import title_of
from ttt_env.web.insight import SEARCHES, Evaluators
from ttt_env.web.roster import PERSON, Roster, presets
from ttt_env.web.sweeping import Sweeper
from ttt_env.web.table import PlayTable, Tickets, Visit

_PACKAGE, _FOLDER = "ttt_env.web", "static"
_KEPT = "public, max-age=31536000, immutable"
_ASKED_AGAIN = "no-cache"  # kept, and used once the server says that it is still the same


@cache
def edition() -> str:
    """A text that is another one whenever the content of one of the files is."""
    digest = sha256()
    for file in sorted(files(_PACKAGE).joinpath(_FOLDER).iterdir(), key=lambda file: file.name):
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


@cache
def modules_of(name: str) -> tuple[str, ...]:
    """A script and all that it imports, each after what it imports itself."""
    text = files(_PACKAGE).joinpath(_FOLDER, f"{name}.js").read_text(encoding="utf-8")
    imported = re.findall(r'^import .* from "\./(\w+)\.js";$', text, re.MULTILINE)
    return tuple(dict.fromkeys([*(each for other in imported for each in modules_of(other)), name]))


class Assets(StaticFiles):
    """Answers with the files, under `edition()` as files that never change.

    The pages name them so: a visitor's next page asks for none of them again, and after an update of this
    package for all. What a script imports lies under the same edition.
    """

    def __init__(self) -> None:
        super().__init__(packages=[(_PACKAGE, _FOLDER)])

    async def get_response(self, path: str, scope: Scope) -> Response:  # noqa: D102
        first, _, rest = path.partition(os.sep)
        is_edition = first == edition()
        response = await super().get_response(rest if is_edition else path, scope)
        response.headers["cache-control"] = _KEPT if is_edition else _ASKED_AGAIN
        return response


_SOURCE = "web"
_SEARCHED_GAME = "qubic-v0"
_MAX_ADDRESS_LETTERS = 4_000
_MAX_TREE = 1 << 21  # nodes of a search, 67 MB: some seconds of searching


@dataclass
class Services:
    """The parts that the pages of one server share.

    `log` receives finished games, `runs` is a folder of training curves (by default a temporary one), `pages`
    are the addresses and names of the pages that a visitor can open.
    """

    evaluators: Evaluators
    log: GameLog | None = None
    runs: Path | None = None
    pages: tuple[tuple[str, str], ...] = ()
    tickets: Tickets = field(default_factory=Tickets)
    is_warming_up: bool = False

    def __post_init__(self) -> None:
        self.roster, self.insight_solver = self.evaluators.roster, self.evaluators.insight_solver
        self.tree_solver = self.evaluators.tree_solver
        self.trainings = Trainings(self.runs)
        self.sweeper = Sweeper(self.evaluators)
        self.queues = WorkQueues(self.sweeper.plans, self.sweeper.sweeps)

    def warm_up(self) -> None:
        """Begin to compile what searches call, once on this machine, before somebody waits for a reply."""
        self.is_warming_up = True
        Thread(target=self._warm_up, name="warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        try:
            game = get_game(_SEARCHED_GAME)
            for preset in presets(game):
                shortest = re.sub("simulations=[0-9]+", "simulations=1", preset.player)
                chosen(self.roster, PlayTable(game, shortest), seed=0)
            self.insight_solver.insight(PlayTable(game, PERSON, PERSON), simulations=SEARCHES[0])
            known_value(game.start)
        finally:
            self.is_warming_up = False

    def page(self, name: str, code: int = 200, /, **context: Any) -> HTMLResponse:
        """The template of this name as a response with this status code."""
        return HTMLResponse(self.rendered(name, **context), code)

    def rendered(self, name: str, **context: Any) -> str:
        """The template of this name as HTML."""
        return templates().get_template(name).render(services=self, **context)

    async def choice(self, table: PlayTable) -> int:
        """The cell that the agent to move plays."""
        lane = await self.lane_of_move(table.mover, table.game)
        return await self.queues.move(lane, chosen, self.roster, table, secrets.randbits(64))

    async def lane_of_move(self, player: str, game: Game) -> Lane:
        """The lane in which this player's moves are computed. May construct the agent to find out."""
        return await self.queues.move("quick", self.roster.lane_of_move, player, game)

    async def lane_of_study(self, game: Game, *players: str) -> Lane:
        """The lane for a computation that may need these players' policies in every position."""
        return await self.queues.move("quick", self.roster.lane_of_study, game, *players)

    def record(self, visit: Visit) -> None:
        """Write a finished game to the log, once: if it was played here and the visitor allows it."""
        if self.log is None or visit.is_unrecorded or not visit.is_over or not visit.ticket:
            return
        if self.tickets.spend(visit.ticket):
            x, o = (self.roster.models.get(player, player) for player in (visit.table.x, visit.table.o))
            try:
                self.log.add(visit.table.record, x=x, o=o, source=_SOURCE)
            except GameLogError:
                self.tickets.give_back(visit.ticket)
                raise
            self.roster.forget_reader()


def chosen(roster: Roster, table: PlayTable, seed: int) -> int:
    """The cell that the agent to move draws by this seed."""
    with trees_of(_MAX_TREE):
        agent, rng = roster.make(table.mover, table.game), np.random.default_rng(seed)
        return agent.choose(table.position, rng)


def check(complaints: list[str]) -> None:
    """Raise `ParameterError` for a part of a page with something wrong in its address."""
    if complaints:
        raise ParameterError("\n".join(complaints))


def address(path: str, **fields: object) -> str:
    """The address of a page with these fields; those that are None are left out."""
    texts = {name: str(value) for name, value in fields.items() if value is not None}
    return f"{path}?{urlencode(texts, safe=':,=', quote_via=quote)}" if texts else path


def fields_of(request: Request, lists: tuple[str, ...] = ()) -> dict[str, str]:
    """The fields of a request's address; of the `lists`, which alone may be given again and again, the last.

    Raises `HTTPException` for an address that says something twice, or is longer than any page makes it.
    """
    if len(request.scope["query_string"]) > _MAX_ADDRESS_LETTERS:
        raise HTTPException(414, f"The address is too long: {_MAX_ADDRESS_LETTERS:,} letters are allowed")
    given = Counter(name for name, _ in request.query_params.multi_items() if name not in lists)
    for name, times in given.items():
        if times > 1:
            raise HTTPException(400, f"The address gives {name[:40]!r} {times} times: once is allowed")
    return dict(request.query_params)


def _verdict(certificate: Certificate) -> str:
    """The verdict as a seal shows it."""
    return verdict_of(certificate).lower().replace("as x", "as X").replace("as o", "as O")


@cache
def templates() -> Environment:
    """The templates of all pages."""
    environment = templates_in(_PACKAGE, "templates")
    environment.filters |= {"percent": percent, "signed": signed, "gain": gain, "verdict": _verdict}
    environment.filters |= {"fact": fact_text, "title": title_of, "number": text_of, "told": told_value}
    environment.globals |= {
        "exported": False,
        "scripts": (),
        "static": f"/static/{edition()}/",
        "train_url": "/train",
        "address": address,
        "modules_of": modules_of,
        "STONES": board.STONES,
        "STONE_WIDTH": board.STONE_WIDTH,
        "OUTCOMES": OUTCOMES,
        "RESULTS": RESULTS,
        "WORDS": {name: RESULTS[value] for value, name in OUTCOMES.items()},
    }
    return environment
