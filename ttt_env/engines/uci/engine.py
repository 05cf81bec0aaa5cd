"""One of our agents as a UCI engine."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise

import numpy as np

from ttt_env.agent import AgentLike
from ttt_env.engines.serving import Engine, name_shown, one_line
from ttt_env.engines.thinking import DEFAULT_SECONDS, Thinker, seconds_of_clock, seconds_of_limit
from ttt_env.engines.uci.notation import check_squares, format_move, read_position, variant_name
from ttt_env.errors import NotationError, shown
from ttt_env.rules import Game, Position

_NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "movetime", "depth", "nodes", "mate")
_MOST = 10**10  # of a limit: some months
_MILLISECONDS = 1000.0


class UciEngine(Engine):
    """Plays one game as the agent does, over UCI (Stefan Meyer-Kahlen, April 2006).

    Moves are written as in Fairy-Stockfish, `P@b2`, X is white, and the game is the only value of the option
    `UCI_Variant`. Of the limits of `go` only the time limits count: `movetime`, `wtime` and its like, and
    `infinite`; an agent that cannot be told how long to think moves when it is done. `depth`, `nodes` and
    `mate` are passed over. What cannot be obeyed is answered by `info string error` and the reason.

    Raises as `make_agent` does for an agent that does not play the game, `ParameterError` for a game of three
    axes or more than 26 columns.
    """

    def __init__(
        self,
        agent: AgentLike,
        game: Game,
        say: Callable[[str], object],
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(say)
        check_squares(game)
        self._mind = self._thinker = Thinker(agent, game, rng)
        self._game, self._position = game, game.start
        self._name = name_shown(agent)

    def _obey(self, line: str) -> bool:
        word, *rest = line.split() or [""]
        match word:
            case "uci":
                self._introduce()
            case "isready":
                self._say("readyok")
            case "position":
                self._position = read_position(rest, self._game)
            case "go":
                self._go(rest)
            case "stop":
                self._mind.move_now()
            case "setoption":
                self._set_option(rest)
            case "quit":
                return False
            case "" | "ucinewgame" | "debug" | "register" | "ponderhit":
                pass
            case _:
                raise NotationError(f"unknown command {shown(word)}")
        return True

    def _introduce(self) -> None:
        self._say(f"id name ttt_env {version('ttt-env')} {self._name}")
        self._say("id author the ttt_env maintainers")
        variant = variant_name(self._game)
        self._say(f"option name UCI_Variant type combo default {variant} var {variant}")
        self._say("uciok")

    def _set_option(self, words: Sequence[str]) -> None:
        """Raises `NotationError` for another option than the one there is, and for another game than this."""
        line, variant = " ".join(words), variant_name(self._game)
        name, _, value = line.removeprefix("name ").partition(" value ")
        if name.lower() != "uci_variant":
            raise NotationError(f"no such option: {shown(name)}; there is UCI_Variant")
        if value != variant:
            raise NotationError(f"UCI_Variant {shown(value)}: this engine plays {variant}")

    def _go(self, words: Sequence[str]) -> None:
        if self._position.is_over:
            self._say("bestmove (none)")
            return
        limits = _limits(words, self._complain)
        is_endless = "infinite" in words or "ponder" in words
        seconds = None if is_endless else thinking_seconds(limits, self._position)
        self._mind.begin(self._position, seconds, self._tell, waits=is_endless)

    def _tell(self, move: int | str) -> None:
        if isinstance(move, str):
            self._complain(move)
            self._say("bestmove (none)")
        else:
            self._say(f"bestmove {format_move(move, self._game)}")

    def _at_end(self, thinker: Thinker) -> None:
        thinker.move_now()  # nobody is left to say `stop`

    def _complain(self, why: str) -> None:
        self._say(f"info string error: {one_line(why)}")


def _limits(words: Sequence[str], complain: Callable[[str], object]) -> dict[str, int]:
    """The numbers of a `go`; those that cannot be read are passed over, with a complaint."""
    limits = {}
    for name, text in pairwise([*words, ""]):
        if name in _NUMBERS:
            try:
                limits[name] = min(max(int(text), 0), _MOST)
            except ValueError:
                complain(f"go {name} {shown(text)}: an integer is needed")
    return limits


def thinking_seconds(limits: dict[str, int], position: Position) -> float:
    """The seconds to think about a move under these limits of `go`, which are in milliseconds.

    `movetime` goes before the clock of the side to move; without either it is a second.
    """
    if "movetime" in limits:
        return seconds_of_limit(limits["movetime"] / _MILLISECONDS)
    side = "w" if position.to_move == "X" else "b"
    if f"{side}time" not in limits:
        return DEFAULT_SECONDS
    left, increment = (limits.get(f"{side}{name}", 0) / _MILLISECONDS for name in ("time", "inc"))
    return seconds_of_clock(left, position, increment, limits.get("movestogo"))
