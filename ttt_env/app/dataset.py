"""`ttt dataset`: exact data of a game, as files."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ttt_env.app.console import argument, option, progress_line
from ttt_env.rules import game_names
from ttt_env.storage.models import game_of


def dataset(
    game: Annotated[
        str,
        argument(
            "GAME",
            "id of the game, such as mnk-v0:m=4,n=3,k=3, or the .json file of one of yours",
            autocompletion=game_names,
        ),
    ],
    out: Annotated[Path, option("FOLDER", "output folder; an existing data set there is replaced")],
    kind: Annotated[
        list[str] | None,
        option("KIND", "positions, games, chat or minari; repeatable; by default all"),
    ] = None,
    one_per_class: Annotated[
        bool, typer.Option("--one-per-class", help="one position of each symmetry class")
    ] = False,
    finished: Annotated[
        bool, typer.Option("--finished", help="also positions in which the game is over")
    ] = False,
    prompts: Annotated[
        bool | None,
        typer.Option(help="include prompts and answers; by default on boards of up to 12 cells"),
    ] = None,
    board: Annotated[
        str, option("STYLE", "how a prompt draws the board: grid, coordinates or line")
    ] = "grid",
    answer: Annotated[str, option("PATTERN", "how a reply names a cell")] = "[{cell}]",
    ties: Annotated[
        str,
        option("RULE", "all: one conversation for each perfect move; draw: one for a move drawn at random"),
    ] = "all",
    games: Annotated[int, option("N", "games of each kind of players: experts, novices, both", min=1)] = 1000,
    seed: Annotated[int, option("N", "seed of the games and answers", min=0)] = 0,
    published: Annotated[
        datetime | None,
        option("DATE", "publication date for the description, as 2026-01-31", formats=["%Y-%m-%d"]),
    ] = None,
) -> None:
    """Write exact data about a game as files.

    Positions, games and conversations are Parquet files; the rest are Minari data sets.
    """
    from ttt_env.datasets import write_dataset

    named: dict[str, Any] = {"kinds": kind or None, "board": board, "ties": ties}  # checked by the callee
    with progress_line(f"dataset {game}") as line:
        write_dataset(
            game_of(game),
            out,
            one_per_class=one_per_class,
            finished=finished,
            prompts=prompts,
            answer=answer,
            games=games,
            seed=seed,
            published=published and published.date(),
            progress=lambda part, done, total: line.say(f"{part}, {done:,} of {total:,}"),
            **named,
        )
    typer.echo(f"Saved in {out}: its README.md says what each file is")
