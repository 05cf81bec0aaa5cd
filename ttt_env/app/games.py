"""`ttt games`: the recorded games."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ttt_env.analysis.tally import Expectation, Tally, facts_of, tallies_in
from ttt_env.app.console import STANDARD_OUTPUT, check_outputs, print_json, write_file
from ttt_env.app.options import Commands, JsonOption, OwnGameOption, argument, command, documentation
from ttt_env.render.table import Table
from ttt_env.render.words import percent
from ttt_env.rules import register_game
from ttt_env.storage.game_log import GameLog, default_path

games_app = typer.Typer(cls=Commands)


def add_games(app: typer.Typer) -> None:
    """Add `ttt games` and its commands to `app`."""
    games_app.callback(invoke_without_command=True, help=documentation(games), epilog="Example: ttt games")(
        games
    )
    app.add_typer(games_app, name="games")


def games(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the recorded games: how people did against each agent.

    The table has wins, draws and losses for each agent and seat, beside the exact result of a random player.
    The agent imitation learns from these games.
    """
    if context.invoked_subcommand is not None:
        return
    path = default_path()
    counts: dict[str, int] = {}
    tallies: list[tuple[Tally, Expectation]] = []
    if path.exists():
        with GameLog(path) as log:
            counts, tallies = log.counts(), list(tallies_in(log))
    if as_json:
        people = [facts_of(*tally) for tally in tallies]
        print_json({"path": str(path), "games": counts, "people": people})
        return
    if not path.exists():
        typer.echo(f"No games yet: `ttt play --record` records them in {path}.")
        return
    for name, count in counts.items():
        typer.echo(f"{count:8,}  {name}")
    if tallies:
        typer.echo("\nPeople against agents, and the exact result of a random player:")
        typer.echo(_table_of(tallies))
    typer.echo(f"\nThe games are in {path}")


def _table_of(tallies: list[tuple[Tally, Expectation]]) -> Table:
    head = ("game", "agent", "person", "won", "drawn", "lost", "random wins", "draws", "loses")
    rows = []
    for tally, expectation in sorted(tallies, key=lambda each: each[0].game):
        for seat, counted in tally.seats.items():
            if counted.games:
                result = expectation.on(seat)
                shares = ["–"] * 3 if result is None else map(percent, result)
                numbers = counted.wins, counted.draws, counted.losses
                rows.append([tally.game, tally.agent, seat, *numbers, *shares])
    lacks = dict.fromkeys(f"–  {expectation.lack}" for _, expectation in tallies if expectation.lack)
    return replace(Table.of(head, rows, "lll"), notes=list(lacks))


@command(games_app, "import", "ttt games import class.txt")
def import_games(
    file: Annotated[
        Path, argument("FILE", "a text file, one record per line, such as tictactoe-v0: 4 0 8 2 6")
    ],
    game: OwnGameOption = None,
) -> None:
    """Add the games of a text file.

    For a game of your own, name its file with --game.
    """
    if game is not None:
        register_game(game)
    with GameLog() as log:
        typer.echo(f"{log.import_text(file):,} games added to {log.path}, which holds {len(log):,}")


@command(games_app, "export", "ttt games export games.txt")
def export_games(
    file: Annotated[
        Path, argument("FILE", "the text file to write, one record per line; - for standard output")
    ],
) -> None:
    """Write all recorded games to a text file."""
    check_outputs(file)
    with GameLog() as log:
        write_file(file, log.export_text)
        if file != STANDARD_OUTPUT:
            typer.echo(f"{len(log):,} games written to {file}")
