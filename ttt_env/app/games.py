"""`ttt games`: the games that were recorded here."""

from pathlib import Path
from typing import Annotated

import typer

from ttt_env.app.console import STANDARD_OUTPUT, JsonOption, check_outputs, print_json, write_file
from ttt_env.storage.game_log import GameLog, default_path

games_app = typer.Typer(help="The games that were recorded here, which the agent imitation learns from.")


@games_app.callback(invoke_without_command=True)
def games(context: typer.Context, as_json: JsonOption = False) -> None:
    """How many games are recorded, and where."""
    if context.invoked_subcommand is not None:
        return
    path = default_path()
    counts: dict[str, int] = {}
    if path.exists():
        with GameLog(path) as log:
            counts = log.counts()
    if as_json:
        print_json({"path": str(path), "games": counts})
        return
    typer.echo(path)
    if not path.exists():
        typer.echo("No games yet: `ttt play --record` records them.")
    for name, count in counts.items():
        typer.echo(f"{count:8,}  {name}")


@games_app.command("import")
def import_games(
    file: Annotated[Path, typer.Argument(help="a record a line, such as tictactoe-v0: 4 0 8 2 6")],
) -> None:
    """Add the games of a text file."""
    with GameLog() as log:
        typer.echo(f"{log.import_text(file):,} games added to {log.path}, which holds {len(log):,}")


@games_app.command("export")
def export_games(
    file: Annotated[
        Path, typer.Argument(help="the text file to write, a record a line; - for standard output")
    ],
) -> None:
    """Write all recorded games to a text file."""
    check_outputs(file)
    with GameLog() as log:
        write_file(file, log.export_text)
        if file != STANDARD_OUTPUT:
            typer.echo(f"{len(log):,} games written to {file}")
