"""Games as tools of the Model Context Protocol, with which a model plays and gets exact values.

    python -m ttt_env.integrations.mcp

serves one client over standard input and output, as MCP clients start a server. `make_server` makes it in
Python, for another transport or fastmcp's own client. See https://modelcontextprotocol.io.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from ttt_env.analysis.known import PROOF_NODES, known_value
from ttt_env.envs.board import PlayAs
from ttt_env.errors import TttEnvError, extra_for
from ttt_env.text.env import TextEnv
from ttt_env.text.wording import prompt_text

with extra_for("The MCP server needs", "mcp"):
    from fastmcp import FastMCP
    from fastmcp.exceptions import ToolError

__all__ = ["make_server"]

KnownResult = Literal["win", "draw", "loss", "unknown"]
_FOR_MOVER: dict[int | None, KnownResult] = {1: "win", 0: "draw", -1: "loss", None: "unknown"}
_FOR_OTHER: dict[int | None, KnownResult] = {1: "loss", 0: "draw", -1: "win", None: "unknown"}


def make_server() -> FastMCP:
    """Make a server with one game, tic-tac-toe against `minimax` as X until the client begins another one.

    A client names games and opponents by their specs; as in the row of a data set, an opponent is an agent of
    this package without files and commands. An invalid call, such as a move to a taken cell, is an error with
    the reason, and changes nothing.

    Returns:
        The server, whose `run()` serves standard input and output.

    Example:
        >>> make_server().run()  # doctest: +SKIP

    """
    server: FastMCP = FastMCP("ttt_env")
    env = TextEnv("tictactoe-v0", "minimax", play_as="X", illegal="raise")
    env.reset()

    @server.tool
    def new_game(game: str = "tictactoe-v0", opponent: str = "minimax", seat: PlayAs = "X") -> str:
        """Begin a game. Returns the rules, the board, and what to do.

        Args:
            game: Such as tictactoe-v0, tictactoe-v0:misere, connect-four-v0 or mnk-v0:m=5,n=5,k=4.
            opponent: An agent, such as random, rules, minimax or mcts:simulations=100.
            seat: X moves first.

        """
        nonlocal env
        with _as_tool_errors():
            new_env = TextEnv(game, play_as=seat, illegal="raise")
            prompt = new_env.reset(opponent=opponent)
            env = new_env
            return prompt

    @server.tool
    def show() -> str:
        """Show the rules, the board, and what to do."""
        return f"The game is over: {env.position}." if env.done else prompt_text(env.position)

    @server.tool
    def play(cell: int) -> str:
        """Put your mark on a free cell, by its number. Returns the opponent's reply and the board."""
        if env.done:
            raise ToolError("the game is over: call new_game")
        with _as_tool_errors():
            return env.move(cell)

    @server.tool
    def values() -> dict[str, KnownResult | dict[int, KnownResult]]:
        """The exact value of the position, and of each free cell, for you under best play by both.

        "unknown" where the game is large and a short search proves nothing.
        """
        if env.done:
            raise ToolError("the game is over: call new_game")
        position = env.position
        cells = {
            cell: _FOR_OTHER[known_value(position.child(cell), PROOF_NODES)] for cell in position.legal_cells
        }
        return {"position": _FOR_MOVER[known_value(position, PROOF_NODES)], "cells": cells}

    return server


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """Raise errors of the package as errors of the tool, which fastmcp does not report as server failures."""
    try:
        yield
    except TttEnvError as error:
        raise ToolError(str(error)) from None


if __name__ == "__main__":
    make_server().run(show_banner=False)
