"""The vocabulary of the command line: how its commands and options are declared, read and described."""

import ast
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from ttt_env.app.console import Interrupted, Verbosity, set_verbosity
from ttt_env.errors import ParameterError, TttEnvError, unknown
from ttt_env.rules import Game, GameRecord, declared, game_names, get_game
from ttt_env.rules.catalogue import stem_of
from ttt_env.rules.parameters import kinds_of, read_one
from ttt_env.rules.specs import spec_text
from ttt_env.storage.models import game_of

DASH = "- for standard output"
AGENTS = (
    "a model file, a bot (file.py or file.py:function), or a spec string such as "
    "mcts:simulations=100 (see `ttt agents`)"
)
TICTACTOE = get_game("tictactoe-v0")
_typed: dict[Game, str] = {}  # how games from files were named


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option of a command, with its value's name and its line of the help; `more` is for Typer."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """An argument of a command, described in the same way."""
    return typer.Argument(metavar=metavar, help=help, **more)


_GAME = option(
    "NAME:key=value",
    "the game, such as mnk-v0:m=4,n=3,k=3, or the .json file of your own game",
    "--game",
    autocompletion=game_names,
)
GameOption = Annotated[Game, _GAME]
OwnGameOption = Annotated[Game | None, _GAME]
GamesOption = Annotated[list[Game] | None, _GAME]
JsonOption = Annotated[bool, typer.Option("--json", help="print only the result, as JSON")]
_VERBOSITY = {
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="show no progress")],
    "verbose": Annotated[
        bool, typer.Option("--verbose", "-v", help="print each step of the progress on its own line")
    ],
}


class Command(TyperCommand):
    """A command whose help shows an argument by its metavar alone, without the type behind it."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: D102
        params = super().get_params(ctx)
        for param in params:
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]
        return params

    def invoke(self, ctx: Any) -> Any:  # noqa: D102
        if ctx.args:
            first = ctx.args[0]
            is_game = stem_of(first) in game_names() and any(param.name == "game" for param in self.params)
            hint = f": name the game by --game {first}" if is_game else ""
            raise ParameterError(
                f"unexpected argument {first!r}{hint} (`{ctx.command_path} -h` shows the help)"
            )
        try:
            return super().invoke(ctx)
        except ParameterError as error:  # of a function, which names its parameter and not the option
            options = {param.name: param.opts[-1] for param in self.params if param.opts[-1].startswith("--")}
            text, *others = error.args
            name = re.match(r"(\w+)(?::|=(?!\S* of ))", text)
            if name and name[1] in options:
                error.args = (options[name[1]] + text[name.end(1) :], *others)
            raise


class Commands(TyperGroup):
    """Commands by name. Ctrl-C and SIGTERM raise `Interrupted`; Typer would end without a word."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            raise Interrupted.by(interrupt) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: D102
        if not args[0].startswith("-") and args[0] not in self.commands:
            raise ParameterError(f"{unknown('command', args[0], self.commands, f'{ctx.command_path} -h')}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: D102
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise Interrupted.by(interrupt) from None
        except BrokenPipeError:  # as in `ttt … | head`: the status must not be read as a verdict
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # for what is flushed at the end
            raise typer.Exit(128 + 13) from None


def command(
    app: typer.Typer, name: str, example: str, *, computes: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the commands of `app`.

    Its options are read by their annotations, as parameters in spec strings are. A command that `computes`
    also has --quiet and --verbose.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        parameters = declared(function)

        def run(**texts: Any) -> None:
            if computes:
                set_verbosity(_verbosity_of(texts.pop("quiet"), texts.pop("verbose")))
            function(**{key: _read(parameters[key], text) for key, text in texts.items()})

        listed = [_as_text(parameter) for parameter in parameters.values()]
        if computes:
            kind = Parameter.POSITIONAL_OR_KEYWORD
            listed += [Parameter(key, kind, default=False, annotation=a) for key, a in _VERBOSITY.items()]
        run.__signature__ = Signature(listed)  # type: ignore[attr-defined]
        app.command(
            name,
            cls=Command,
            help=documentation(function),
            epilog=f"Example: {example}",
            context_settings={"allow_extra_args": True},
        )(run)
        return function

    return register


def documentation(thing: Any) -> str:
    """The docstring of a function or class, from its source where `python -OO` has dropped it."""
    text = thing.__doc__
    if text is None and sys.flags.optimize > 1:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
        assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
        text = ast.get_docstring(definition)
    return inspect.cleandoc(text or "")


def typed_as(game: Game) -> str:
    """The name of this game on the command line: its id, or the file that was typed."""
    return _typed.get(game, game.name)


def replay_command(record: GameRecord) -> str:
    """The command that shows a game move by move."""
    typed = typed_as(record.game)
    return f"ttt replay {record}{'' if typed == record.game.name else f' --game {typed}'}"


def _verbosity_of(quiet: bool, verbose: bool) -> Verbosity:
    if quiet and verbose:
        raise ParameterError("--quiet and --verbose exclude each other: give only one")
    return "quiet" if quiet else "verbose" if verbose else "normal"


def _as_text(parameter: Parameter) -> Parameter:
    """The parameter as Typer shall take it: a flag, a text or texts, with the text of its default."""
    kinds = [kind for kind, _ in kinds_of(_hint(parameter))]
    if bool in kinds:
        return parameter
    annotation: Any = list[str] if any(get_origin(kind) is list for kind in kinds) else str
    default = parameter.default
    if default is None:
        annotation |= None
    elif default is not parameter.empty:
        default = default.name if isinstance(default, Game) else spec_text(default)
    return parameter.replace(annotation=Annotated[annotation, _info(parameter)], default=default)


def _info(parameter: Parameter) -> Any:
    return parameter.annotation.__metadata__[-1]


def _hint(parameter: Parameter) -> Any:
    """The annotation without what it says to Typer."""
    origin, metadata = parameter.annotation.__origin__, parameter.annotation.__metadata__[:-1]
    return Annotated[origin, *metadata] if metadata else origin


def _read(parameter: Parameter, value: Any) -> Any:
    """The value of an option that was given as text, or as texts if it can be repeated."""
    hint = _hint(parameter)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        (each,) = (get_args(kind)[0] for kind, _ in kinds_of(hint) if get_origin(kind) is list)
        return [_read_one(parameter, text, each) for text in value]
    return _read_one(parameter, value, hint)


def _read_one(parameter: Parameter, text: str, hint: Any) -> Any:
    info = _info(parameter)
    is_option = isinstance(info, type(_GAME))
    names = [name for name in (info.default, *(info.param_decls or ())) if str(name).startswith("--")]
    name = f"--{parameter.name.replace('_', '-')}" if is_option else info.metavar
    name = names[0] if names else name
    kinds = [kind for kind, _ in kinds_of(hint)]
    if str in kinds:
        return text
    if Path in kinds:
        return Path(text)
    if Game in kinds:
        return _game(name, text)
    return read_one("", name, text, hint)


def _game(name: str, text: str) -> Game:
    try:
        game = game_of(text)
    except TttEnvError as error:
        raise ParameterError(f"{name}: {error}") from None
    if text.endswith(".json"):
        _typed[game] = text
    return game
