"""What the parts of the Compare page have in common."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from ttt_env.app.web.compare.fields import a_number, an_agent, read
from ttt_env.app.web.compare.ladder import GAMES
from ttt_env.app.web.compare.replay import Replay, address
from ttt_env.app.web.house import House
from ttt_env.app.web.insight import judged_moves
from ttt_env.app.web.table import Table
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import TABLE_CELLS, is_instant

TABS = {
    "/compare": "Ladder",
    "/compare/agent": "Certificates",
    "/compare/softmax": "Temperatures",
    "/compare/runs": "Training",
}


class ComparePart:
    """A part of the page; it keeps nothing between two requests."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._agent = an_agent(house.roster)

    def _page(self, name: str, complaints: list[str], **context: Any) -> Response:
        shared = {"tabs": TABS, "games": GAMES, "most_cells": TABLE_CELLS, "address": address}
        status = 400 if complaints else 200
        return self._house.page(name, status, complaints=complaints, **shared, **context)

    async def _study(self, make: Callable[..., Any], game: Game, agents: tuple[str, ...], *more: int) -> Any:
        """What the function returns for these agents, computed once, unless they learn meanwhile."""
        desk, roster = self._house.desk, self._house.roster
        slow = any("mcts" in agent or agent in roster.models for agent in agents)
        quick = is_instant(game) and not slow
        learns = any("imitation" in agent for agent in agents)
        return await (desk.move if learns else desk.study)(quick, make, roster, game, *agents, *more)

    async def _replay(
        self, whole: Table, path: str, shown: dict[str, object], fields: Mapping[str, str]
    ) -> tuple[Replay, list[str]]:
        """The game after as many moves as the field `at` says, by default all; and what is wrong with it."""
        n_moves = len(whole.cells)
        found, complaints = read(fields, at=a_number("at", n_moves, n_moves))
        judged = await self._house.desk.study(is_instant(whole.game), judged_moves, whole)
        return Replay(whole.at_move(found["at"]), tuple(judged), path, shown), complaints
