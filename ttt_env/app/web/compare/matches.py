"""The part of the Compare page on which everyone meets everyone: the heat map, and the match of a cell."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ttt_env.app.web.compare.fields import A_GAME, A_SEAT, a_number, read
from ttt_env.app.web.compare.ladder import drawn_game, ladder, met
from ttt_env.app.web.compare.part import ComparePart
from ttt_env.app.web.compare.replay import address
from ttt_env.app.web.house import fields_of
from ttt_env.app.web.table import Table
from ttt_env.errors import TttEnvError
from ttt_env.rules.game import Game

_MOST_GAMES = 9_999


class Matches(ComparePart):
    """The ladder and its matches."""

    def routes(self) -> list[Route]:
        """Where they are."""
        return [Route("/compare", self.show), Route("/compare/ladder", self.ladder)]

    async def show(self, request: Request) -> Response:
        """The ladder, and the match of the row and the column that the address names."""
        fields = fields_of(request)
        found, complaints = read(
            fields,
            game=A_GAME,
            row=self._agent,
            column=self._agent,
            seat=A_SEAT,
            number=a_number("number", _MOST_GAMES),
        )
        context: dict[str, Any] = {"match": None, "replay": None}
        if {"row", "column"} <= fields.keys() and not complaints:
            try:
                context, complaints = await self._match(fields=fields, **found)
            except (TttEnvError, ImportError) as error:
                complaints = [str(error)]
        return self._page("compare.html", complaints, **found, **context)

    async def _match(
        self, fields: Mapping[str, str], game: Game, row: str, column: str, seat: str, number: int
    ) -> tuple[dict[str, Any], list[str]]:
        """The results of a match and one of its games, and what is wrong with the number of its moves."""
        match = await self._study(met, game, (row, column))
        x, o = (row, column) if seat == "X" else (column, row)
        cells = (await self._study(drawn_game, game, (x, o), number)).cells
        shown = {"game": game.name, "row": row, "column": column, "seat": seat, "number": number}
        replay, complaints = await self._replay(
            Table(game, x, o, cells, len(cells)), "/compare", shown, fields
        )
        return {"match": match, "replay": replay}, complaints

    async def ladder(self, request: Request) -> Response:
        """The heat map, as a part of a page."""
        fields = fields_of(request)
        game: Game = read(fields, game=A_GAME)[0]["game"]
        found = await self._house.desk.study(False, ladder, self._house.roster, game)
        chosen = fields.get("row"), fields.get("column")
        return self._house.page(
            "compare_ladder.html", game=game, ladder=found, chosen=chosen, address=address
        )
