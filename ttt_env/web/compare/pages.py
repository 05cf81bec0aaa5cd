"""The page on which agents are compared: the ladder, certificates, temperatures, training runs."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import monotonic_ns
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ttt_env.agent import learner_names
from ttt_env.analysis.known import blunders_of
from ttt_env.analysis.tally import Expectation, Tally
from ttt_env.errors import ParameterError, TttEnvError
from ttt_env.render.svg import CaptionedBoard, boards_of
from ttt_env.rules import TABLE_CELLS, Game, GameRecord, as_seat, is_tabulated
from ttt_env.web.compare import agents, curves
from ttt_env.web.computing import Answer, BusyError
from ttt_env.web.controls import Control
from ttt_env.web.games import parse_game
from ttt_env.web.inside.trees import grid_of
from ttt_env.web.insight import sweep_of
from ttt_env.web.play import body_of, player_of_form
from ttt_env.web.roster import Roster
from ttt_env.web.services import Services, address, check, fields_of
from ttt_env.web.table import PlayTable, Visit
from ttt_env.web.visitors import is_foreign, is_whole

_NUMBER = Control("number", "number", most=9_999)  # of a game of two agents
GAME, AGENT = "tictactoe-v0", "win-block"  # one that can be beaten has more to show

Strip = tuple[Visit, list[CaptionedBoard]]
"""A game board by board: the visit that reviews it on the page for playing, and the boards."""


def _marked_boards(record: GameRecord) -> list[CaptionedBoard]:
    """The boards of a game, its blunders marked."""
    return boards_of(record, blunders_of(record))


class AddressReader:
    """Reads the fields of an address; `complaints` is what was wrong with those that were read."""

    def __init__(self, fields: dict[str, str], roster: Roster) -> None:
        self.fields = fields
        self.complaints: list[str] = []
        self._roster = roster

    def read(self, name: str, parse: Callable[[str], Answer], default: str) -> Answer:
        """The value of a field; the default, with a complaint, where the address says something wrong."""
        try:
            return parse(self.fields.get(name, default))
        except TttEnvError as error:
            self.complaints.append(str(error))
            return parse(default)

    def game(self, parse: Callable[[str], Game] = agents.compared_game) -> Game:
        """The game, by default one that is compared here."""
        return self.read("game", parse, GAME)

    def agent(self, name: str = "agent") -> str:
        """An agent of the roster."""
        return self.read(name, partial(agents.compared_agent, roster=self._roster), AGENT)

    def choice(self, name: str, kind: str, allowed: Iterable[str]) -> str:
        """One of these texts, the first by default; `kind` is what errors call it."""
        control = Control(kind, kind, choices=tuple(allowed))
        return self.read(name, control.checked, control.choices[0])


TABS = {
    "/compare": "Ladder",
    "/compare/agent": "Certificates",
    "/compare/softmax": "Temperatures",
    "/compare/runs": "Training",
    "/compare/people": "People",
}
START = "/compare/runs/start"


def addresses_for(request: Request) -> Callable[..., str]:
    """`address`; for a visitor who came to a whole page, and so has no JavaScript, that of whole pages."""
    if not is_whole(request) or "part" in request.query_params:
        return address
    return lambda path, **fields: address(path, **fields, whole=1 if path in (*TABS, START) else None)


class ComparePages:
    """The pages under /compare; they keep nothing between two requests."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """The addresses of these pages and what answers them."""
        return [
            Route("/compare", self.match),
            Route("/compare/agent", self.certificate),
            Route("/compare/certificate.json", self.save),
            Route("/compare/certificate.svg", self.save),
            Route("/compare/softmax", self.softmax),
            Route("/compare/runs", self.runs),
            Route(START, self.start, methods=["POST"]),
            Route("/compare/people", self.people),
            Route("/compare/people/agent", self.people_against),
        ]

    def _reader(self, request: Request, lists: tuple[str, ...] = ()) -> AddressReader:
        return AddressReader(fields_of(request, lists), self._services.roster)

    def _page(self, request: Request, name: str, complaints: list[str], **context: Any) -> Response:
        shared = {
            "tabs": TABS,
            "games": agents.GAMES,
            "most_cells": TABLE_CELLS,
            "address": addresses_for(request),
        }
        status = 400 if complaints else 200
        return self._services.page(name, status, complaints=complaints, **shared, **context)

    async def _study(
        self, make: Callable[..., Answer], game: Game, players: tuple[str, ...], *more: int
    ) -> Answer:
        """The result of `make` for these agents, computed once and kept."""
        queues, roster = self._services.queues, self._services.roster
        lane = await self._services.lane_of_study(game, *players)
        return await queues.study(lane, make, roster, game, *players, *more, edition=roster.edition(*players))

    async def _strip(self, table: PlayTable) -> Strip:
        lane = await self._services.lane_of_study(table.game)
        boards = await self._services.queues.study(lane, _marked_boards, table.record)
        return Visit(table, is_paused=True), boards

    async def match(self, request: Request) -> Response:
        """The ladder, and the match of the row and the column that the address names."""
        reader = self._reader(request)
        game, seat = reader.game(), reader.read("seat", as_seat, "X")
        row, column = reader.agent("row"), reader.agent("column")
        number = int(reader.read("number", _NUMBER.checked, "0"))
        shown = {"row": row, "column": column, "seat": seat, "number": number}
        played = strip = None
        is_asked = {"row", "column"} <= reader.fields.keys() and not reader.complaints
        if is_asked and not is_foreign(request):
            try:
                played = await self._study(agents.met, game, (row, column))
                x, o = (row, column) if seat == "X" else (column, row)
                cells = (await self._study(agents.drawn_game, game, (x, o), number)).cells
                strip = await self._strip(PlayTable(game, x, o, cells, len(cells)))
            except (TttEnvError, ImportError) as error:
                reader.complaints.append(str(error))
        whole: dict[str, Any] = {}
        if is_whole(request):
            table = await self._services.queues.study("sweep", agents.ladder, self._services.roster, game)
            whole = {"ladder": table, "current": (reader.fields.get("row"), reader.fields.get("column"))}
        return self._page(
            request,
            "compare.html",
            reader.complaints,
            game=game,
            **shown,
            match=played,
            grid=grid_of(game),
            strip=strip,
            asks=is_asked and not played and not reader.complaints,
            **whole,
        )

    async def certificate(self, request: Request) -> Response:
        """The page of an agent's certificate, with the controls that choose another agent."""
        reader = self._reader(request)
        fields = reader.fields
        if "was" in fields:
            try:
                agent = self._agent_of_form(fields)
            except TttEnvError as error:
                reader.complaints.append(str(error))
                fields["agent"] = fields["was"]
            else:
                to = addresses_for(request)("/compare/agent", game=fields.get("game"), agent=agent)
                return RedirectResponse(to, 303)
        game, agent = reader.game(), reader.agent()
        shown: dict[str, Any] = {"game": game, "agent": agent, "grid": grid_of(game)}
        if is_whole(request):
            shown |= {"proved": None, "strips": {}}
            try:
                shown["proved"] = proved = await self._study(agents.prove, game, (agent,))
                shown["strips"] = {seat: await self._strip(lost) for seat, lost in proved.refutations.items()}
            except (TttEnvError, ImportError) as error:
                reader.complaints.append(str(error))
        offers = await self._services.queues.move("quick", self._services.roster.offers, game)
        refused = {offer.name: offer.refusal for offer in offers if offer.refusal}
        return self._page(request, "compare_agent.html", reader.complaints, refused=refused, **shown)

    def _agent_of_form(self, fields: Mapping[str, str]) -> str:
        """The agent of a form. A search that is chosen gets a seed: without one nothing can be proved."""
        roster, was = self._services.roster, fields["was"]
        agent = player_of_form(fields, "agent", roster.parse(was), roster)
        is_new = agent.partition(":")[0] != was.partition(":")[0]
        return f"{agent}:seed=0" if is_new and "seed" in roster.controls(agent) else agent

    async def save(self, request: Request) -> Response:
        """The certificate as a file: a picture, or JSON."""
        reader = self._reader(request)
        game, agent = reader.game(), reader.agent()
        check(reader.complaints)
        proved, name = await self._study(agents.prove, game, (agent,)), request.url.path.rpartition("/")[2]
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        if name.endswith(".json"):
            return JSONResponse(proved.facts, headers=headers)
        return Response(proved.certificate.picture().svg, headers=headers, media_type="image/svg+xml")

    async def softmax(self, request: Request) -> Response:
        """The curves of softmax minimax at the temperatures of the sliders."""
        complaints = []
        try:
            x, o = curves.temperatures(fields_of(request))
        except ParameterError as error:
            complaints, (x, o) = [str(error)], curves.temperatures({})
        ends, chances, worth = await self._services.queues.study("quick", curves.softmax_curves, x, o)
        return self._page(
            request,
            "compare_softmax.html",
            complaints,
            sliders=curves.SLIDERS,
            openings=curves.OPENINGS,
            sweep=sweep_of(curves.GAME, (), "t-x", "t-o"),
            shown={"x": f"{x:g}", "o": f"{o:g}"},
            ends=ends,
            chances=chances,
            worth=worth,
        )

    async def start(self, request: Request) -> Response:
        """A redirection to the curves after a training was queued."""
        try:
            form = await body_of(request, "algorithm", "A training names its algorithm alone.")
            await self._services.queues.move(
                "quick", self._services.trainings.start, form.get("algorithm", "")
            )
        except (TttEnvError, BusyError) as error:
            return await self.runs(request, str(error))
        return RedirectResponse(addresses_for(request)("/compare/runs"), 303)

    async def runs(self, request: Request, *complaints: str) -> Response:
        """The curves of the runs that the address names among those in the folder, and the queue."""
        queues, trainings = self._services.queues, self._services.trainings
        folder, in_training = trainings.folder, trainings.open
        reader = self._reader(request, ("run",))
        reader.complaints += complaints
        over = reader.choice("over", "axis", curves.OVER)
        listed = [] if folder is None else await queues.move("quick", curves.runs_in, folder)
        names = request.query_params.getlist("run")
        drawn_curves: list[curves.Curve] = []
        tags, tag = list[str](), curves.TAG
        try:
            runs = curves.chosen_runs(listed, names)
        except ParameterError as error:
            reader.complaints.append(str(error))
            runs = curves.chosen_runs(listed, [])
        try:
            tags = curves.in_order(
                [tag for run in runs for tag in await queues.study("search", curves.measures, run)]
            )
            tag = reader.choice("tag", "measure", [*tags, *curves.MEANINGS])
            drawn_curves = [await queues.study("search", curves.curve, run, tag) for run in runs]
        except ImportError as error:
            reader.complaints.append(str(error))
        return self._page(
            request,
            "compare_runs.html",
            reader.complaints,
            algorithms=learner_names(),
            in_training=in_training,
            turn=monotonic_ns(),
            query=request.url.query,
            listed=listed,
            curves=drawn_curves,
            chart=curves.drawn(drawn_curves, over, tag),
            tag=tag,
            tags=curves.in_order([*tags, tag]),
            meanings=curves.MEANINGS,
            most=curves.MAX_SHOWN,
            overs=curves.OVER,
            over=over,
        )

    async def people(self, request: Request) -> Response:
        """The page of the games of one kind that people have played."""
        reader = self._reader(request)
        game, log = reader.game(parse_game), self._services.log
        played = {} if log is None else await self._services.queues.move("quick", agents.games_of, log)
        whole = {"records": await self._records(game), "alone": False} if is_whole(request) else {}
        return self._page(
            request,
            "compare_people.html",
            reader.complaints,
            game=game,
            played=played,
            **whole,
        )

    async def people_against(self, request: Request) -> Response:
        """The results of people against one agent, as a part of a page; nothing if nobody has played it."""
        reader = self._reader(request)
        game = reader.game(parse_game)
        agent = reader.read("agent", self._services.roster.parse, AGENT)
        check(reader.complaints)
        records = await self._records(game, agent)
        return self._services.page("compare_people_table.html", game=game, records=records, alone=True)

    async def _records(self, game: Game, agent: str | None = None) -> list[tuple[Tally, Expectation]]:
        """The results of people, and what is expected of a random player, against this agent or many."""
        queues, roster, log = self._services.queues, self._services.roster, self._services.log
        if log is None:
            return []
        n_games = (await queues.move("quick", log.counts)).get(game.name, 0)
        tallies = await queues.study("quick", agents.tallies_here, log, roster, game, edition=n_games)
        wanted = [tally for tally in tallies if agent in (None, tally.agent)][: agents.MAX_AGENTS]
        records = []
        for tally in wanted:
            try:
                if is_tabulated(game):
                    expected = await self._study(agents.random_against, game, (tally.agent,))
                else:  # which it says at once
                    expected = agents.random_against(roster, game, tally.agent)
            except BusyError as error:
                expected = Expectation(None, str(error))
            records.append((tally, expected))
        return records
