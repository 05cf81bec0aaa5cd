"""`ttt games`: the recorded games."""

from collections import Counter
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ttt_env.app.console import STANDARD_OUTPUT, check_outputs, print_json, write_file
from ttt_env.app.options import Commands, JsonOption, OwnGameOption, argument, command, documentation
from ttt_env.errors import TttEnvError
from ttt_env.render.table import Table
from ttt_env.rules import SEATS, Seat, other_seat, register_game
from ttt_env.storage.game_log import PERSON, GameLog, default_path

games_app = typer.Typer(cls=Commands)


def add_games(app: typer.Typer) -> None:
    """Add `ttt games` and its commands to `app`."""
    games_app.callback(invoke_without_command=True, help=documentation(games), epilog="Example: ttt games")(
        games
    )
    app.add_typer(games_app, name="games")


class Tally(NamedTuple):
    """The finished games of people against an agent, by the seat of the person."""

    game: str
    agent: str
    person: Seat
    won: int
    drawn: int
    lost: int


def games(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the recorded games: how people did against each agent, on each seat.

    The agent imitation learns from these games.
    """
    if context.invoked_subcommand is not None:
        return
    path = default_path()
    counts: dict[str, int] = {}
    tallies: list[Tally] = []
    if path.exists():
        with GameLog(path) as log:
            counts, tallies = log.counts(), tallies_in(log)
    if as_json:
        print_json({"path": str(path), "games": counts, "people": [tally._asdict() for tally in tallies]})
        return
    if not counts:
        typer.echo(f"No games yet: `ttt play --record` and `ttt web` record them in {path}.")
        return
    typer.echo(Table.of(("game", "games"), list(counts.items()), "l"))
    if tallies:
        typer.echo("\nPeople against agents:")
        typer.echo(Table.of(Tally._fields, tallies, "lll"))
    typer.echo(f"\nThe games are in {path}")


def tallies_in(log: GameLog) -> list[Tally]:
    """The tallies of the log. Games of a name that is unknown here are omitted."""
    results: Counter[tuple[str, str, Seat, Seat | None]] = Counter()
    for name in log.counts():
        try:
            games = log.games(name)
        except TttEnvError:
            continue
        for game in games:
            end, players = game.record.positions()[-1], (game.x, game.o)
            if end.is_over and None not in players and players.count(PERSON) == 1:
                seat = SEATS[players.index(PERSON)]
                agent = str(players[1 - players.index(PERSON)])
                results[name, agent, seat, end.winner] += 1
    return [
        Tally(*key, *(results[*key, winner] for winner in (key[2], None, other_seat(key[2]))))
        for key in sorted({key[:3] for key in results})
    ]


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
