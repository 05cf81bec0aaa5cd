"""The page that looks inside the agents: why one has moved, a game tree, a search step by step, weights."""

from dataclasses import replace
from math import sqrt
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ttt_env.analysis.known import is_solved
from ttt_env.errors import GameTooLargeError, IllegalMoveError, TttEnvError
from ttt_env.rules import is_instant
from ttt_env.web.board import board_of
from ttt_env.web.games import kinds, parse_game
from ttt_env.web.inside.look import (
    EXAMPLE,
    PACES,
    SETTINGS,
    VIEWS,
    AgentMove,
    InsideLook,
    board_of_reason,
    explained,
    last_move_of_an_agent,
    read_look,
)
from ttt_env.web.inside.trees import MAX_SIMULATIONS, Branch, grid_of, searched, tree_layout
from ttt_env.web.insight import sweep_of
from ttt_env.web.play import body_of, cell_of
from ttt_env.web.roster import moved_over
from ttt_env.web.services import Services, fields_of
from ttt_env.web.table import PlayTable
from ttt_env.web.visitors import is_whole

MAX_ROWS = 12  # of the table of the cells
_MANY = 5  # cells that are only counted


class InsidePages:
    """The pages under /inside; what they show follows from the address alone."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """The addresses of these pages and what answers them."""
        return [
            Route("/inside", self.show),
            Route("/inside/move", self.move, methods=["POST"]),
            Route("/inside/step", self.step, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """The view that the address asks for."""
        return await self._shown(*self._read(request), whole=is_whole(request))

    async def move(self, request: Request) -> Response:
        """A redirection to the position after the player to move has played the cell that the body names."""
        look, complaints = self._read(request)
        if complaints:
            return await self._shown(look, complaints)
        try:
            after = look.table.played(cell_of(await body_of(request)))
        except TttEnvError as error:
            return await self._shown(look, [str(error)])
        return RedirectResponse(look.url(table=after), 303)

    async def step(self, request: Request) -> Response:
        """A redirection to the search after one more simulation."""
        look, complaints = self._read(request)
        if complaints:
            return await self._shown(look, complaints)
        try:
            await body_of(request, None, "A simulation is no move.")
        except IllegalMoveError as error:
            return await self._shown(look, [str(error)])
        return RedirectResponse(look.url({"mcts.done": min(look.done + 1, MAX_SIMULATIONS)}), 303)

    def _read(self, request: Request) -> tuple[InsideLook, list[str]]:
        return read_look(fields_of(request), self._services.roster)

    async def _shown(self, look: InsideLook, complaints: list[str], whole: bool = False) -> Response:
        is_later = not whole and await self._is_slow(look)
        context = self._around(look) if is_later else await self._seen(look)
        return self._services.page(
            "inside.html",
            400 if complaints else 200,
            complaints=complaints,
            is_later=is_later,
            games={name: _moved(look.table, kind) for kind, name in kinds().items()},
            **context,
        )

    async def _is_slow(self, look: InsideLook) -> bool:
        """True if the view is sent after the page, because it may take seconds."""
        if look["view"] != "move":
            return look["view"] == "tree" and not is_instant(look.table.game)
        try:
            move = last_move_of_an_agent(look.table)
        except TttEnvError:
            return False
        return await self._services.lane_of_move(move.player, move.table.game) != "quick"

    def _around(self, look: InsideLook) -> dict[str, Any]:
        """The variables that all templates of the page use."""

        def to(branch: Branch) -> str:
            cells = (*look.table.cells[: look.table.at], *branch.cells)
            return look.url(table=replace(look.table, cells=cells, at=len(cells)))

        return {
            "look": look,
            "board": board_of(look.table.position, look.table.last),
            "views": VIEWS,
            "paces": PACES,
            "settings": SETTINGS,
            "grid": grid_of(look.table.game),
            "to": to,
            "example": EXAMPLE.url(),
            "is_live": look["view"] == "tree" and is_instant(look.table.game),
        }

    async def _seen(self, look: InsideLook) -> dict[str, Any]:
        """The variables of the templates for the chosen view; `lack` says why there is nothing to show."""
        views = {
            "move": self._last_move,
            "tree": self._foreseen,
            "mcts": self._searched,
            "weights": self._weighed,
        }
        try:
            return self._around(look) | await views[look["view"]](look)
        except (TttEnvError, ImportError) as error:
            return self._around(look) | {"lack": str(error)}

    async def _foreseen(self, look: InsideLook) -> dict[str, Any]:
        game = look.table.game
        if not is_solved(game):
            raise GameTooLargeError(
                f"{game.name} has too many positions to check them all. The other views work."
            )
        is_soft = look["tree.agent"] == "softmax"
        x, o = (float(look[f"{seat}.temperature"]) if is_soft else 0.0 for seat in ("x", "o"))
        question = look.table.position, (x, o), int(look["tree.plies"])
        lane = await self._services.lane_of_study(game)
        solved_tree = await self._services.queues.study(lane, self._services.tree_solver.tree_of, *question)
        sweep = sweep_of(game, look.table.record.cells, "x-temperature", "o-temperature") if is_soft else None
        return {"solved_tree": solved_tree, "plan": tree_layout(solved_tree.tree), "sweep": sweep}

    async def _searched(self, look: InsideLook) -> dict[str, Any]:
        c = float(look["mcts.c"]) if "mcts.c" in look.settings else sqrt(2)  # the page shows six digits
        settings = int(look["mcts.seed"]), c, float(look["mcts.draw"]), look["mcts.playout"]
        tolerance = float(look["mcts.tolerance"]) if look["mcts.tolerance"] else None
        stops = int(look["mcts.simulations"]), look["mcts.early_stop"] == "true", tolerance
        question = look.table.position, look.done, *settings, *stops
        result = await self._services.queues.study("quick", searched, *question)
        return {"result": result, "plan": tree_layout(result.tree)}

    async def _last_move(self, look: InsideLook) -> dict[str, Any]:
        move = last_move_of_an_agent(look.table)
        return {"headline": move.headline, "chosen": "", "move_url": None} | await self._explained(look, move)

    async def _weighed(self, look: InsideLook) -> dict[str, Any]:
        shown = await self._explained(look, AgentMove(look.table, "weights"))
        cells = shown["why"].cells
        listed = " or ".join(map(str, cells)) if len(cells) < _MANY else f"one of {len(cells)}"
        return shown | {
            "headline": look.status,
            "chosen": f"weights plays {listed}",
            "move_url": look.url(path="/inside/move"),
        }

    async def _explained(self, look: InsideLook, move: AgentMove) -> dict[str, Any]:
        """The variables of the template that shows why this move was made."""
        queues, roster = self._services.queues, self._services.roster
        lane = await self._services.lane_of_move(move.player, move.table.game)
        question, edition = (roster, move.player, move.table.position), roster.edition(move.player)
        why = await queues.study(lane, explained, *question, edition=edition)
        is_search = move.player.partition(":")[0] == "mcts"
        return {
            "move": move,
            "why": why,
            "marked": why.cells if move.cell is None else [move.cell],
            "reason_board": board_of_reason(move, why),
            "is_search": is_search,
            "is_renewed": is_search and "seed" not in why.facts,
            "most_rows": MAX_ROWS,
            "view": look["view"],
        }


def _moved(table: PlayTable, kind: str) -> PlayTable:
    """A table of the same two players at the start of another kind of game."""
    game = parse_game(kind)
    x, o = (moved_over(player, table.game, game) for player in (table.x, table.o))
    return PlayTable(game, x, o)
