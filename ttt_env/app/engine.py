"""`ttt engine`: an agent that other programs play with, over standard input and output."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from ttt_env.agent import agent_names
from ttt_env.app.console import argument, option
from ttt_env.rules import game_names, get_game, one_of
from ttt_env.storage.models import game_of

if TYPE_CHECKING:
    from ttt_env.engines.serving import Engine

PROTOCOLS = ("json", "uci", "piskvork")
_GAME = (
    "id of the game. By default json plays the game of each question, uci tictactoe-v0, and piskvork "
    "five in a row on the board that START names"
)


def engine(
    agent: Annotated[
        str, argument("AGENT", "an agent of `ttt agents`, with its parameters", autocompletion=agent_names)
    ] = "minimax",
    protocol: Annotated[str, option("NAME", ", ".join(PROTOCOLS))] = "json",
    game: Annotated[str | None, option("GAME", _GAME, autocompletion=game_names)] = None,
    seed: Annotated[int | None, option("N", "seed of the agent's random numbers", min=0)] = None,
) -> None:
    """Run an agent as an engine for other programs.

    They ask it over standard input, and it answers on standard output.
    """
    out, lock = sys.stdout, Lock()

    def say(line: str) -> None:
        """Say a whole line, from any thread, as long as somebody listens."""
        with lock, suppress(BrokenPipeError):
            out.write(f"{line}\n")
            out.flush()

    with redirect_stdout(sys.stderr):  # nothing but the protocol is said
        made(agent, protocol, game, say, seed).serve(sys.stdin)


def made(
    agent: str, protocol: str, game: str | None, say: Callable[[str], object], seed: int | None = None
) -> "Engine":
    """The engine of this protocol. Raises `ParameterError` for another one, and as `make_agent` does."""
    from ttt_env.engines.piskvork import PiskvorkEngine
    from ttt_env.engines.serving import JsonEngine
    from ttt_env.engines.uci import UciEngine

    played = None if game is None else game_of(game)
    match one_of("protocol", protocol, PROTOCOLS):
        case "uci":
            return UciEngine(agent, played or get_game("tictactoe-v0"), say, seed)
        case "piskvork":
            return PiskvorkEngine(agent, played, say, seed)
        case _:
            return JsonEngine(agent, played, say, seed)
