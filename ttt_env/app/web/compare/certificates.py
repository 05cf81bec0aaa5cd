"""The part of the Compare page that shows what is proved about an agent."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from ttt_env.app.web.compare.certificate import picture, prove
from ttt_env.app.web.compare.fields import A_GAME, A_SEAT, AGENT, read
from ttt_env.app.web.compare.part import ComparePart
from ttt_env.app.web.compare.replay import Replay, address
from ttt_env.app.web.controls import spec_of_values
from ttt_env.app.web.house import fields_of
from ttt_env.app.web.roster import PERSON
from ttt_env.app.web.table import Table
from ttt_env.errors import TttEnvError
from ttt_env.rules.game import Game
from ttt_env.rules.notation import GameRecord


class Certificates(ComparePart):
    """Certificates, and their refuting games."""

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/compare/agent", self.show),
            Route("/compare/proof", self.proof),
            Route("/compare/certificate.json", self.save_json),
            Route("/compare/certificate.svg", self.save_svg),
        ]

    async def show(self, request: Request) -> Response:
        """Whose certificate is shown, and the controls with which somebody else is chosen."""
        fields = fields_of(request)
        if "was" not in fields:
            return self._shown(fields, [])
        try:
            chosen = self._agent_of_form(fields, fields["was"])
        except TttEnvError as error:
            return self._shown(fields | {"agent": fields["was"]}, [str(error)])
        return RedirectResponse(address("/compare/agent", game=fields.get("game"), agent=chosen), 303)

    def _shown(self, fields: Mapping[str, str], complaints: list[str]) -> Response:
        found, more = read(fields, game=A_GAME, agent=self._agent)
        shown = {key: fields[key] for key in ("seat", "at") if key in fields}
        return self._page("compare_agent.html", complaints + more, **found, shown=shown)

    def _agent_of_form(self, fields: Mapping[str, str], was: str) -> str:
        """The agent of a form, with the parameters of the controls that were shown for the one that it was.

        A search is given a seed: without one there is nothing to prove about it.
        """
        who, roster = fields.get("agent", AGENT), self._house.roster
        if who in roster.models:
            return who
        if who != was.partition(":")[0]:
            return f"{who}:seed=0" if "seed" in roster.controls(roster.parse(who)) else who
        values = {key.partition(".")[2]: text for key, text in fields.items() if key.startswith("agent.")}
        return roster.parse(spec_of_values(who, values))

    async def proof(self, request: Request) -> Response:
        """The certificate of an agent, as a part of a page; or in words why there is none."""
        fields = fields_of(request)
        found, complaints = read(fields, game=A_GAME, agent=self._agent, seat=A_SEAT)
        replay = proved = None
        try:
            proved = await self._study(prove, found["game"], (found["agent"],))
            if proved.refutations:
                replay, more = await self._refutation(proved.refutations, fields, **found)
                complaints += more
        except (TttEnvError, ImportError) as error:
            complaints = [str(error)]
        return self._house.page(
            "compare_proof.html",
            proved=proved,
            replay=replay,
            complaints=complaints,
            address=address,
            **found,
        )

    async def _refutation(
        self, records: Mapping[str, GameRecord], fields: Mapping[str, str], game: Game, agent: str, seat: str
    ) -> tuple[Replay, list[str]]:
        """The refuting game on this seat, or on the other if there is none."""
        seat = seat if seat in records else next(iter(records))
        x, o = (agent, PERSON) if seat == "X" else (PERSON, agent)
        cells = records[seat].cells
        shown: dict[str, object] = {"game": game.name, "agent": agent, "seat": seat}
        return await self._replay(Table(game, x, o, cells, len(cells)), "/compare/agent", shown, fields)

    async def save_json(self, request: Request) -> Response:
        """The certificate as a file."""
        return await self._saved(request, "json", prove, lambda found: JSONResponse(found.facts))

    async def save_svg(self, request: Request) -> Response:
        """The certificate as a picture."""
        return await self._saved(request, "svg", picture, partial(Response, media_type="image/svg+xml"))

    async def _saved(
        self, request: Request, kind: str, make: Callable[..., Any], respond: Callable[[Any], Response]
    ) -> Response:
        found, complaints = read(fields_of(request), game=A_GAME, agent=self._agent)
        if complaints:
            return PlainTextResponse("\n".join(complaints), 400)
        try:
            response = respond(await self._study(make, found["game"], (found["agent"],)))
        except (TttEnvError, ImportError) as error:
            return PlainTextResponse(str(error), 400)
        response.headers["content-disposition"] = f'attachment; filename="certificate.{kind}"'
        return response
