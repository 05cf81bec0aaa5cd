"""`ttt tournament`: a tournament that a file describes, played and shown."""

from pathlib import Path
from typing import Annotated

import typer

from ttt_env.app.console import Interrupted, print_json, progress_line
from ttt_env.app.options import JsonOption, argument, option


def tournament(
    file: Annotated[
        Path, argument("FILE", "a TOML file that says who plays and how: see docs/reference/files.md")
    ],
    out: Annotated[
        Path | None, option("FOLDER", "folder for the results; by default NAME-results beside the file")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play a tournament that a file describes.

    Programs, models and agents take part. Results are exact where possible. Ctrl-C ends the tournament with
    the results so far.

    Exit code: 0 if all entries played, 3 if one could not be judged.
    """
    from contextlib import chdir

    from ttt_env.bots.contest import Contest
    from ttt_env.bots.documents import Documents
    from ttt_env.bots.page import check_folder, write_results
    from ttt_env.bots.plan import read_plan

    plan = read_plan(file)
    folder = (out or file.with_name(f"{file.stem}-results")).absolute()
    check_folder(folder)
    interrupt: KeyboardInterrupt | None = None
    # Relative paths are relative to the folder of the file, in spec strings too.
    with (
        progress_line(f"tournament {plan.name}") as line,
        chdir(plan.folder),
        Contest(plan, line.say) as contest,
    ):
        try:
            contest.play()
        except KeyboardInterrupt as signal:
            interrupt = signal
        results = Documents(contest)
        write_results(results, folder)
    if as_json:
        print_json(results.to_dict())
    else:
        proved = [f"{name}: {results.proof_text(name)}" for name in results.order]
        lines = [*results.notes(), *proved, *results.forfeit_lines()]
        typer.echo("\n".join([str(results.to_table()), "", *lines]))
    typer.echo(f"Results in {folder}: index.html shows them, with every game.", err=True)
    if interrupt is not None:
        raise Interrupted.by(interrupt, "the results so far are saved")
    if results.tournament.not_judged or any(each.not_judged for each in contest.verdicts.values()):
        raise typer.Exit(3)
