"""The page for playing, and the parts of it that show what is known about the position."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from ttt_env.analysis.known import is_solved
from ttt_env.errors import GameLogError, IllegalMoveError, TttEnvError, unknown
from ttt_env.rules import SEATS, is_instant, parameters_of_game
from ttt_env.web.board import board_of, place_of
from ttt_env.web.computing import BusyError
from ttt_env.web.controls import spec_of_values
from ttt_env.web.games import SIDES, form_of_game, game_of_form, kinds, parse_game, rule_of
from ttt_env.web.insight import (
    SEARCHES,
    course,
    decisive_move,
    judged_moves,
    levels_of,
    strength,
    sweep_at,
)
from ttt_env.web.roster import PERSON, Roster, moved_over, presets
from ttt_env.web.services import Services, check, fields_of
from ttt_env.web.table import PACES, PlayTable, Visit, parse_moves, read_visit
from ttt_env.web.visitors import is_whole

_logger = logging.getLogger(__name__)
_REPLY_AFTER = 250  # milliseconds before an agent moves
_MAX_BODY_BYTES = 100
_RULE = "A move is one cell."


class PlayPages:
    """The pages under /play; they keep nothing between two requests."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """The addresses of these pages and what answers them."""
        return [
            Route("/play", self.show),
            Route("/play/move", self.move, methods=["POST"]),
            Route("/play/table", self.settle),
            Route("/play/see", self.see),
            Route("/play/moves", self.judge),
            Route("/play/strength", self.strength),
            Route("/play/ready", self.ready),
        ]

    async def show(self, request: Request) -> Response:
        """The table that the address describes."""
        return await self._answer(request, *self._read(request))

    async def _answer(self, request: Request, visit: Visit, complaints: list[str], **parts: Any) -> Response:
        """The page of a visit, with all that is known about the position if it must be whole."""
        if is_whole(request) and visit.sees and not visit.is_over:
            parts |= await self._seen(visit)
        if visit.is_told and (is_whole(request) or is_instant(visit.table.game)):
            parts |= await self._judged(visit)
        return await self._shown(visit, complaints, **parts)

    async def move(self, request: Request) -> Response:
        """A redirection to the table after a move: a person's if the body names a cell, else the agent's.

        A script that prefers the page itself to a redirection (RFC 7240) gets it, with the agent's reply to a
        person's move where that is found during the pause before it.
        """
        visit, complaints = self._read(request)
        if complaints:
            return await self._shown(visit, complaints)
        try:
            form = await body_of(request)
            moved, complaints = await self._moved(visit, await self._cell(visit, form))
        except (TttEnvError, ImportError, BusyError) as error:
            return await self._shown(visit, [str(error)])
        if request.headers.get("prefer") != "return=representation" and not complaints:
            return RedirectResponse(moved.url(), 303)
        parts: dict[str, Any] = {}
        if "cell" in form and moved.agent_to_move and not moved.is_waiting:
            try:
                moved, complaints = await self._moved(moved, await self._reply_in_time(moved.table))
            except TimeoutError:
                parts = {"delay": 0}  # the pause is over, or will be long before the reply
            except (TttEnvError, ImportError, BusyError):
                pass  # which the agent's own answer says
        response = await self._answer(request, moved, complaints, is_lost=bool(complaints), **parts)
        response.headers["content-location"] = moved.url()
        return response

    async def _moved(self, visit: Visit, cell: int) -> tuple[Visit, list[str]]:
        """The visit after a move, recorded if the game has ended, or else the reason why it could not be."""
        after = visit.table.played(cell)
        moved = replace(
            visit, table=after, ticket=self._services.tickets.next(visit.table, visit.ticket, after)
        )
        try:
            await self._services.queues.move("quick", self._services.record, moved)
        except GameLogError as error:
            _logger.warning(error)  # it names the file, which is nothing for visitors
            return moved, ["This game could not be recorded: the file of games cannot be written to."]
        return moved, []

    async def _cell(self, visit: Visit, form: Mapping[str, str]) -> int:
        table, agent = visit.table, visit.agent_to_move
        if visit.is_review:
            raise IllegalMoveError("The game is only looked at here: choose Play from here first.")
        if visit.is_resigned:
            raise IllegalMoveError("The game is over: it was resigned.")
        if "cell" in form:
            if agent is not None:
                raise IllegalMoveError(f"It is not your turn: {agent} is to move.")
            return cell_of(form)
        if agent is None:
            raise IllegalMoveError("No agent is to move here.")
        return await self._services.choice(table)

    async def _reply_in_time(self, table: PlayTable) -> int:
        """The reply of the agent to move. Raises `TimeoutError` if it takes longer than the pause."""
        roster, pause = self._services.roster, _REPLY_AFTER / 1000
        if not await self._services.queues.move(
            "quick", roster.may_reply_within, pause, table.mover, table.game
        ):
            raise TimeoutError
        async with asyncio.timeout(pause):
            return await self._services.choice(table)

    async def settle(self, request: Request) -> Response:
        """A redirection to the table with the game and the players that the form describes."""
        form = fields_of(request)
        visit, complaints = read_visit(dict(parse_qsl(form.get("was", ""))), self._services.roster)
        if complaints:
            return await self._shown(visit, complaints)
        try:
            table = settled(visit.table, form, self._services.roster)
        except TttEnvError as error:
            return await self._shown(visit, [str(error)])
        is_new = table.game != visit.table.game or "anew" in form
        after = visit.anew(table.fresh()) if is_new else visit.seated(table.x, table.o)
        return RedirectResponse(after.url(), 303)

    async def see(self, request: Request) -> Response:
        """The board with what is known about each move, as a part of a page."""
        visit, complaints = self._read(request)
        allowed = [str(number) for number in SEARCHES]
        asked = fields_of(request).get("simulations", allowed[-1])
        if asked not in allowed:
            complaints.append(unknown("number of simulations", asked[:40], allowed))
        check(complaints)
        seen = await self._seen(visit, int(asked))
        return self._services.page("see.html", visit=visit, **seen)

    async def _seen(self, visit: Visit, simulations: int = SEARCHES[-1]) -> dict[str, Any]:
        table = visit.table
        queues, insight_solver = self._services.queues, self._services.insight_solver
        lane = await self._services.lane_of_study(table.game, table.x, table.o)
        edition = self._services.roster.edition(table.x, table.o)
        if lane == "sweep":  # for all positions of the game: whoever plays on meanwhile waits for the same
            preparation = insight_solver.prepare, table.game, table.x, table.o
            if simulations == SEARCHES[-1] or queues.knows(*preparation, edition=edition):
                simulations = SEARCHES[-1]
                await queues.study(lane, *preparation, edition=edition)
            else:
                lane = "search"
        insight = await queues.study(lane, insight_solver.insight, table, simulations, edition=edition)
        board = board_of(table.position, table.last, insight.moves)
        return {"board": board, "insight": insight, "sweep": sweep_at(table)}

    async def judge(self, request: Request) -> Response:
        """The moves of the game with the mistakes among them, as a part of a page."""
        visit, complaints = self._read(request)
        check(complaints)
        return self._services.page("moves.html", visit=visit, **await self._judged(visit))

    async def _judged(self, visit: Visit) -> dict[str, Any]:
        whole, queues = visit.table.at_move(len(visit.table.cells)), self._services.queues
        lane = await self._services.lane_of_study(whole.game)
        verdicts = await queues.study(lane, judged_moves, whole)
        values = await queues.study(lane, course, whole)
        has_ended = whole == visit.table and whole.position.is_over
        decisive = decisive_move(verdicts, values) if has_ended else None
        return {"verdicts": verdicts, "course": values, "decisive": decisive}

    async def strength(self, request: Request) -> Response:
        """The strength of an agent, as a part of a page."""
        fields, roster = fields_of(request), self._services.roster
        game, player = parse_game(fields.get("game", "")), roster.parse(fields.get("player", ""))
        lane = await self._services.lane_of_study(game, player) if is_solved(game) else "quick"
        question, edition = (roster, player, game), roster.edition(player)
        return PlainTextResponse(
            await self._services.queues.study(lane, strength, *question, edition=edition)
        )

    async def ready(self, request: Request) -> Response:
        """Nothing to see, once the agents at the table have looked at all positions that they look at first.

        The page asks while its visitor thinks about a move, so that the reply need not wait for that.
        """
        visit, complaints = self._read(request)
        check(complaints)
        queues, roster = self._services.queues, self._services.roster
        for player in await queues.move("quick", self._planners, visit.table):
            await queues.move("plan", roster.prepare, player, visit.table.game)
        return HTMLResponse("")

    def _read(self, request: Request) -> tuple[Visit, list[str]]:
        return read_visit(fields_of(request), self._services.roster)

    async def _shown(self, visit: Visit, complaints: list[str], **parts: Any) -> HTMLResponse:
        table, queues = visit.table, self._services.queues
        levels = await queues.study("quick", levels_of, self._services.roster, table.game)
        facts = await queues.move("quick", self._facts, visit)
        complaints = complaints or list(filter(None, facts.pop("refusals")))
        delay = PACES[visit.pace] if visit.is_watched else _REPLY_AFTER
        goes_on = visit.agent_to_move and not visit.is_waiting and not complaints
        shown = facts | {"delay": delay, "is_lost": False} | parts
        decisive, held = parts.get("decisive"), replace(visit, is_paused=visit.is_paused or bool(complaints))
        return self._services.page(
            "play.html",
            400 if complaints else 200,
            **shown | {"delay": shown["delay"] if goes_on else None},
            visit=visit,
            complaints=complaints,
            headline=visit.blame(decisive) if decisive and visit.outcome == "loss" else held.status,
            reply=reply_of(visit),
            levels=levels if visit.rival else [],
            rule=rule_of(table.game),
            see_url=visit.url("/play/see")
            + ("" if is_instant(table.game) else f"&simulations={SEARCHES[0]}"),
            is_exact=is_solved(table.game),
            is_midway=bool(table.cells) and not visit.is_over,
            kinds=kinds(),
            can_be_misere="misere" in parameters_of_game(table.game.name),
            sides=SIDES,
            form=form_of_game(table.game),
            is_known=self._services.tickets.holds(table, visit.ticket),
            branch=self._branch(visit).url(),
        )

    def _facts(self, visit: Visit) -> dict[str, Any]:
        """The facts about the players at a table that have to be looked up, all at once, and the board."""
        table, roster = visit.table, self._services.roster
        offers = roster.offers(table.game)
        return {
            "board": board_of(table.position, table.last),
            "offers": offers,
            "refused": {offer.name: offer.refusal for offer in offers if offer.refusal},
            "refusals": [roster.refusal(player, table.game) for player in (table.x, table.o)],
            "ready_url": f"/play/ready?{table.fresh().query()}" if self._planners(table) else None,
            "is_live": roster.lane_of_study(table.game, table.x, table.o) == "quick",
        }

    def _planners(self, table: PlayTable) -> list[str]:
        """The agents at a table whose moves wait until they have looked at all positions of the game."""
        roster = self._services.roster
        return [
            player
            for player in dict.fromkeys((table.x, table.o))
            if roster.lane_of_move(player, table.game) == "plan"
        ]

    def _branch(self, visit: Visit) -> Visit:
        """The visit that plays on from the position on the board."""
        table = replace(visit.table, cells=visit.table.record.cells)  # without moves that were taken back
        ticket = self._services.tickets.next(visit.table, visit.ticket, table)
        return replace(visit, table=table, ticket=ticket, is_review=False, is_resigned=False)


def reply_of(visit: Visit) -> str:
    """The last move of an agent, for visitors who hear the page; empty after a person's move."""
    table = visit.table
    if table.last is None or visit.is_review:
        return ""
    seat = SEATS[(table.at - 1) % 2]
    agent = table.player(seat)
    return "" if agent == PERSON else f"{visit.name_of(agent)} ({seat}): {place_of(table.game, table.last)}."


async def body_of(request: Request, name: str | None = "cell", rule: str = _RULE) -> dict[str, str]:
    """The field of this name, if one is allowed, of a form that was sent, or none.

    Raises `IllegalMoveError`, which quotes the `rule`, for a form with other fields.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY_BYTES:
            raise IllegalMoveError(rule)
    fields = parse_qsl(body.decode("ascii", "replace"), keep_blank_values=True)
    if [each for each, _ in fields] not in ([], [name]):
        raise IllegalMoveError(rule)
    return dict(fields)


def cell_of(form: Mapping[str, str]) -> int:
    """The cell that a form names. Raises `NotationError` or `IllegalMoveError` unless it names one cell."""
    cells = parse_moves(form.get("cell", ""))
    if len(cells) != 1:
        raise IllegalMoveError(_RULE)
    return cells[0]


def settled(table: PlayTable, form: Mapping[str, str], roster: Roster) -> PlayTable:
    """The table with the game and the players of a form; the board is empty if the game is another one.

    Raises what `parse_game` and `Roster.parse` do.
    """
    game = parse_game(game_of_form(form, table.game)) if "kind" in form else table.game
    x, o = (player_of_form(form, name, getattr(table, name), roster) for name in ("x", "o"))
    if game == table.game:
        return replace(table, x=x, o=o)
    hardest = presets(game)[-1].player
    x, o = (moved_over(player, table.game, game) for player in (x, o))
    x, o = (hardest if roster.refusal(player, game) else player for player in (x, o))
    return PlayTable(game, x, o)


def player_of_form(form: Mapping[str, str], name: str, before: str, roster: Roster) -> str:
    """The player whom a form names, with the parameters of the controls that were shown for that agent.

    These are of the agent on that seat, or of the one that the form's field `of-x` or `of-o` names.
    """
    who = form.get(name, before)
    if who == PERSON or who in roster.models:
        return who
    is_same = who == before.partition(":")[0]
    if not is_same and who != form.get(f"of-{name}"):  # the controls were another agent's
        return roster.parse(who)
    values = {key.partition(".")[2]: text for key, text in form.items() if key.startswith(f"{name}.")}
    kept = roster.given(before) if is_same else {}  # what has its control in another form
    return roster.parse(spec_of_values(who, kept | values)) if values else roster.parse(before)
