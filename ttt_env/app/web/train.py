"""The page on which an agent learns, in the browser of the visitor."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ttt_env.app.web.board import board_of, facts_of_game, strokes_of
from ttt_env.app.web.services import Services
from ttt_env.rules import get_game

_GAME = get_game("tictactoe-v0")


class TrainPages:
    """The page at /train; it asks the server for nothing."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """The address of the page and what answers it."""
        return [Route("/train", self.show)]

    async def show(self, request: Request) -> Response:
        """The page."""
        return self._services.page(
            "train.html",
            game_facts=facts_of_game(_GAME),
            board=board_of(_GAME.start, None),
            all_strokes=strokes_of(_GAME, _GAME.winning_masks)[0],
        )
