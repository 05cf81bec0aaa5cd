"""The page on which an agent learns, in the browser of the visitor."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ttt_env.app.web.board import board_of, strokes_of
from ttt_env.app.web.services import Services
from ttt_env.rules import Game, get_game, symmetries

_GAME = get_game("tictactoe-v0")


def facts_of_game(game: Game) -> dict[str, Any]:
    """The rules of a game for the scripts, as JSON."""
    return {
        "cells": game.n_cells,
        "sets": game.winning_sets,
        "misere": game.misere,
        "symmetries": symmetries(game),
    }


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
