"""`ttt games`: the log of the games that were played here, for people."""

from pathlib import Path
from typing import Annotated

import typer

from ttt_env.storage.game_log import GameLog, default_path

app = typer.Typer(help="The games that were recorded here, which the agent imitation learns from.")
RecordFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="a record a line, as tictactoe-v0: 4 0 8 2 6")
]


@app.callback(invoke_without_command=True)
def summary(context: typer.Context) -> None:
    """How many games are recorded, and where."""
    if context.invoked_subcommand is not None:
        return
    typer.echo(default_path())
    if not default_path().exists():
        typer.echo("No games yet: `ttt play --record` records them.")
        return
    with GameLog() as log:
        for name, count in log.counts().items():
            typer.echo(f"{count:8,}  {name}")


@app.command("import")
def import_games(file: RecordFile) -> None:
    """Add the games of a text file."""
    with GameLog() as log:
        typer.echo(f"{log.import_text(file):,} games added to {log.path}, which holds {len(log):,}")


@app.command("export")
def export_games(file: RecordFile) -> None:
    """Write all recorded games to a text file."""
    with GameLog() as log:
        typer.echo(f"{log.export_text(file):,} games written to {file}")
