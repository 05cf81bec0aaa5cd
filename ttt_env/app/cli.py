"""The command `ttt`."""

import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
except ImportError as missing:  # pragma: no cover (needs an install without the extra)
    raise SystemExit('the command line needs the extra "cli": pip install "ttt-env[cli]"') from missing

import numpy as np

from ttt_env.agent import agent_names, make_agent
from ttt_env.analysis.tournament import tournament
from ttt_env.app.terminal import Table
from ttt_env.errors import TttEnvError
from ttt_env.rules.catalogue import CATALOGUE, get_game
from ttt_env.rules.game import Position
from ttt_env.rules.notation import as_seat

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Tic-tac-toe and every game like it: train agents, play them, know exactly how strong they are.",
)
_AGENTS = "name, name:value or name:key=value,key=value; see `ttt agents`"
GameOption = Annotated[str, typer.Option("--game", help="id of the game, such as mnk-v0:m=4,n=3,k=3")]
Seconds = Annotated[float, typer.Option(min=0.1, help="time to train")]
Seed = Annotated[int, typer.Option(min=0, help="the same seed gives the same random numbers")]


@app.command()
def demo(seconds: Seconds = 60.0, seed: Seed = 0, out: Path = Path("models/demo.zip")) -> None:
    """Train an agent for about a minute and prove how strong it is."""
    _learn("tictactoe-v0", ["random", "minimax"], seconds, seed, out)


@app.command()
def train(
    opponent: Annotated[list[str] | None, typer.Option(help=f"repeatable; {_AGENTS}")] = None,
    game: GameOption = "tictactoe-v0",
    seconds: Seconds = 60.0,
    seed: Seed = 0,
    out: Path = Path("models/model.zip"),
) -> None:
    """Train MaskablePPO against agents of your choice."""
    _learn(game, opponent or ["random", "minimax"], seconds, seed, out)


def _learn(game: str, opponents: list[str], seconds: float, seed: int, out: Path) -> None:
    from ttt_env.app.learning import train_and_judge

    train_and_judge(get_game(game), opponents, seconds, seed, out, Console())


@app.command()
def bench(
    agents: Annotated[list[str], typer.Argument(help=f"at least two; {_AGENTS}")],
    game: GameOption = "tictactoe-v0",
    width: Annotated[float, typer.Option(help="of the 95 % interval where games are sampled")] = 0.05,
    jobs: Annotated[int | None, typer.Option(help="processes; -1 for one on each core")] = None,
    seed: Seed = 0,
    csv: Annotated[Path | None, typer.Option(help="also write the table here")] = None,
    plot: Annotated[Path | None, typer.Option(help="also draw a heat map here (SVG, PNG, PDF)")] = None,
) -> None:
    """Let agents play each other: cross table, ratings, exploitability; exact where it can be."""
    found = tournament(agents, game, width=width, rng=seed, n_jobs=jobs, progress=sys.stderr.isatty())
    typer.echo(str(found))
    if csv is not None:
        csv.write_text(found.to_csv())
    if plot is not None:
        found.plot(plot)


@app.command()
def certify(
    agent: Annotated[str, typer.Argument(help=f"the file of a model, or {_AGENTS}")],
    game: GameOption = "tictactoe-v0",
    out: Annotated[Path | None, typer.Option(help="certificate; default: beside the model's file")] = None,
) -> None:
    """Prove that an agent is unbeatable, or show the games that beat it; save that as JSON."""
    from ttt_env.app.models import certify_and_tell

    typer.echo(certify_and_tell(agent, get_game(game), out))


@app.command()
def export(
    model: Annotated[str, typer.Argument(help=f"the file of a model, or {_AGENTS}")],
    out: Annotated[Path, typer.Argument(help="the table to write, such as policy.npz")],
    game: GameOption = "tictactoe-v0",
) -> None:
    """Turn an agent into a table of plain numbers, which loads anywhere and runs no code."""
    from ttt_env.app.models import export

    typer.echo(export(model, get_game(game), out))


@app.command()
def solve(
    game: Annotated[str, typer.Argument(help="id of the game")] = "tictactoe-v0",
    parameters: Annotated[list[str] | None, typer.Argument(help="of the game, such as m=5 n=5 k=4")] = None,
    position: Annotated[str | None, typer.Option(help="such as X../.O./...; the empty board if none")] = None,
    nodes: Annotated[int | None, typer.Option(help="budget")] = None,
    seconds: Annotated[float | None, typer.Option(help="budget")] = None,
    save: Annotated[Path | None, typer.Option(help="write the values of all positions here (.npz)")] = None,
) -> None:
    """Prove who wins under best play; Ctrl-C ends the search."""
    from ttt_env.app.solving import save_tablebase, solve_and_tell

    made = get_game(f"{game}{',' if ':' in game else ':'}{','.join(parameters)}" if parameters else game)
    start = made.start if position is None else Position.parse(position, made)
    solve_and_tell(made, start, nodes, seconds, Console())
    if save is not None:
        save_tablebase(made, save, Console())


@app.command()
def play(
    opponent: Annotated[str, typer.Argument(help=_AGENTS)] = "minimax",
    game: GameOption = "tictactoe-v0",
    seat: Annotated[str, typer.Option(help="X or O in the first game; sides swap after each")] = "X",
    seed: Annotated[int | None, typer.Option(min=0)] = None,
) -> None:
    """Play against an agent in the terminal."""
    made = get_game(game)
    table = Table(made, make_agent(opponent, made), np.random.default_rng(seed), input, typer.echo)
    table.sit_down(as_seat(seat.upper()))


@app.command()
def agents() -> None:
    """List the agents and games that are installed."""
    typer.echo("agents: " + ", ".join(agent_names()))
    typer.echo("games:  " + ", ".join(CATALOGUE))


def main() -> None:
    """Run the command; a mistake in its arguments is told in one line."""
    try:
        app()
    except (TttEnvError, ImportError, OSError) as error:
        typer.echo(f"ttt: {error}", err=True)
        sys.exit(2)
