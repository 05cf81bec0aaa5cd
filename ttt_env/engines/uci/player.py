"""A UCI engine as a player."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ttt_env.agent import Answer
from ttt_env.engines.serving import answered, as_milliseconds
from ttt_env.engines.uci.engine import check_squares, position_command, read_move, variant_name, variants_file
from ttt_env.errors import ParameterError, shown
from ttt_env.rules import Game, Position, as_integer, as_path
from ttt_env.text.players.program import STARTUP, TIMEOUT, Program, ProgramAgent

_SECONDS = 1.0
_VARIANT, _FILE = "UCI_Variant", "VariantPath"


class UciAgent(ProgramAgent):
    """Plays as a UCI engine answers, such as Fairy-Stockfish, which plays every game of k in a row.

    The engine thinks for `seconds` a move (the default, 1), to a `depth`, or for a number of `nodes`; it ends
    its search with the first of those that are given. It gets `timeout` seconds more, and `startup` to start,
    before it is ended. Between two questions it has to answer `isready`, so that a late move is noticed.

    `variant` is the engine's name for the game. By default it is that of `notation.variant_name`; an engine
    that does not know it, but reads files of variants, as Fairy-Stockfish does, is told the rules of a game
    of k in a row by such a file. `variants` is a file of your own. `options` are other settings of the
    engine, separated by semicolons: `options=Skill Level=3;Hash=1`.

    The position is sent anew for each move, so that the engine may be asked in any of them.

    Raises `ParameterError` for a game of three axes or more than 26 columns, and for parameters out of their
    ranges. Where the engine does not know the game, `answer` raises `PlayerError`, and `ParameterError` where
    it could read the rules, but the game is not one of k in a row.
    """

    def __init__(
        self,
        game: Game,
        command: str | Sequence[str],
        variant: str | None = None,
        variants: str | None = None,
        seconds: float | None = None,
        depth: int | None = None,
        nodes: int | None = None,
        options: str | None = None,
        timeout: float = TIMEOUT,
        folder: str | Path | None = None,
        memory: int | None = None,
        startup: float = STARTUP,
    ) -> None:
        super().__init__(game, command, timeout=timeout, folder=folder, memory=memory, startup=startup)
        settings = {
            "variant": variant, "variants": variants, "seconds": seconds, "depth": depth, "nodes": nodes,
            "options": options,
        }  # fmt: skip
        self._settings = {name: value for name, value in settings.items() if value is not None}
        if seconds is None and depth is None and nodes is None:
            seconds = _SECONDS
        limits = {
            "movetime": None if seconds is None else as_milliseconds(seconds, "uci"),
            "depth": None if depth is None else as_integer("depth", depth, "uci", 1),
            "nodes": None if nodes is None else as_integer("nodes", nodes, "uci", 1),
        }
        self._go = " ".join(["go", *(f"{name} {limit}" for name, limit in limits.items() if limit)])
        self._seconds = seconds or 0.0
        if variant is not None and not (variant.isprintable() and variant.strip()):
            raise ParameterError(f"variant={shown(variant)} of uci: a name on one line is needed")
        self._variant, self._variants = variant, _checked_file(variants)
        self._options = _checked_options(options)

    FAREWELL = ("quit",)

    @staticmethod
    def check(game: Game) -> None:  # noqa: D102
        check_squares(game)

    def _greet(self, program: Program) -> None:
        choices = _choices(program)
        for name, value in self._options.items():
            if name.lower() not in choices:
                self._refuse(f"has no option {name!r}; it has {', '.join(sorted(choices))}")
            program.send(f"setoption name {name} value {value}")
        if self._variants is not None:
            choices = self._with_variants(program, choices, self._variants)
        variant = self._variant or variant_name(self.game)
        if _VARIANT.lower() in choices:
            if variant not in choices[_VARIANT.lower()] and self._variant is None and self._variants is None:
                choices = self._told(program, choices)
            if variant not in choices[_VARIANT.lower()]:
                self._refuse(f"has no variant {variant!r}; it has {', '.join(choices[_VARIANT.lower()])}")
            program.send(f"setoption name {_VARIANT} value {variant}")
        elif self._variant is not None:
            self._refuse(f"has no option {_VARIANT}, and variant={self._variant} needs it")
        self._wait(program)

    def _told(self, program: Program, choices: dict[str, list[str]]) -> dict[str, list[str]]:
        """The engine's options after it has read the rules of the game from a file."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / "variants.ini"
            file.write_text(variants_file(self.game), encoding="ascii")
            return self._with_variants(program, choices, file)

    def _with_variants(
        self, program: Program, choices: dict[str, list[str]], file: Path
    ) -> dict[str, list[str]]:
        """The engine's options after it has read a file of variants."""
        if _FILE.lower() not in choices:
            self._refuse(
                f"reads no files of variants; its own are {', '.join(choices.get(_VARIANT.lower(), []))}"
            )
        program.send(f"setoption name {_FILE} value {file}")
        return _choices(program)

    def _is_answer(self, line: str) -> bool:
        return line.split()[:1] == ["bestmove"]

    def _wait(self, program: Program) -> None:
        """Wait until the engine has done what it was told. Raises `UntrustedAnswersError` for a late move."""
        program.send("isready")
        while (line := program.read().strip()) != "readyok":
            self._check_lines(line)

    def _ask(self, program: Program, position: Position) -> Answer:
        self._wait(program)
        program.send(position_command(position), self._go)
        while True:
            line = program.read().strip()
            if self._is_answer(line):
                return answered(read_move, " ".join(line.split()[1:2]), position)


def _choices(program: Program) -> dict[str, list[str]]:
    """The answer of the engine to `uci`: the names of its options in small letters, and the values of each.

    Only options of a list have values: an engine that has read a file of variants names them here.
    """
    program.send("uci")
    choices: dict[str, list[str]] = {}
    while (line := program.read().strip()) != "uciok":
        words = line.split()
        if words[:2] == ["option", "name"] and "type" in words:
            at = words.index("type")
            values = [
                word for before, word in zip(words[at:], words[at + 1 :], strict=False) if before == "var"
            ]
            choices[" ".join(words[2:at]).lower()] = values
    return choices


def _checked_file(path: str | None) -> Path | None:
    """The file. Raises `ParameterError` if there is none, which an engine would pass over in silence."""
    if path is None:
        return None
    file = as_path("variants", path, "uci").absolute()
    if not file.is_file():
        raise ParameterError(f"variants={shown(path)} of uci: there is no such file")
    return file


def _checked_options(options: str | None) -> dict[str, str]:
    """The settings by name. Raises `ParameterError` for text of another form than `name=value;name=value`."""
    settings: dict[str, str] = {}
    for item in options.split(";") if options else []:
        name, sign, value = (part.strip() for part in item.partition("="))
        if not (name and sign and value.isprintable()) or not name.isprintable():
            raise ParameterError(f"options={shown(options)} of uci: name=value;name=value is needed")
        settings[name] = value
    return settings
