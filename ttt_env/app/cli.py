"""The command `ttt`."""

import sys
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from rich.console import Console
except ImportError as missing:  # pragma: no cover (needs an install without the extra)
    raise SystemExit('the command line needs the extra "cli": pip install "ttt-env[cli]"') from missing

from ttt_env.agent import agent_names
from ttt_env.analysis.tournament import tournament
from ttt_env.app.terminal import games as game_log
from ttt_env.errors import TttEnvError
from ttt_env.rules.catalogue import CATALOGUE, get_game
from ttt_env.rules.game import Position

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Tic-tac-toe and every game like it: train agents, play them, know exactly how strong they are.",
)
app.add_typer(game_log.app, name="games")
_AGENTS = "name, name:value or name:key=value,key=value; see `ttt agents`"
_PLAYERS = "your opponent, or X and O: person, or an agent of `ttt agents`"
_ALGORITHMS = "maskable-ppo, ppo, a2c, dqn, qr-dqn, q-learning or value-network"
GameOption = Annotated[str, typer.Option("--game", help="id of the game, such as mnk-v0:m=4,n=3,k=3")]
Seconds = Annotated[float, typer.Option(min=0.1, help="time to train")]
Seed = Annotated[int, typer.Option(min=0, help="the same seed gives the same random numbers")]


@app.command()
def demo(seconds: Seconds = 60.0, seed: Seed = 0, out: Path = Path("models/demo.zip")) -> None:
    """Train an agent for about a minute and prove how strong it is."""
    _learn("maskable-ppo", "tictactoe-v0", seconds=seconds, seed=seed, out=out)


@app.command()
def train(
    algo: Annotated[str, typer.Argument(help=_ALGORITHMS)] = "maskable-ppo",
    opponent: Annotated[list[str] | None, typer.Option(help=f"repeatable; {_AGENTS}")] = None,
    game: GameOption = "tictactoe-v0",
    seconds: Annotated[float | None, typer.Option(min=0.1, help="budget; by default the recipe's")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="budget: moves of the agent, or games")] = None,
    seed: Seed = 0,
    until: Annotated[str, typer.Option(help="ends it sooner: unbeatable, optimal, or budget")] = "unbeatable",
    out: Annotated[Path | None, typer.Option(help="the best model; by default in models/")] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="folder to log to")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on with the training of --out")] = False,
) -> None:
    """Train an agent, and prove how strong it is. A training that was killed goes on with --resume."""
    _learn(
        algo,
        game,
        seconds=seconds,
        seed=seed,
        out=out,
        opponents=opponent,
        steps=steps,
        until=until,
        tensorboard=tensorboard,
        resume=resume,
    )


def _learn(algo: str, game: str, **options: Any) -> None:
    from ttt_env.app.learning import Order, train_and_judge

    train_and_judge(Order(algo, get_game(game), **options), Console())


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
    players: Annotated[list[str] | None, typer.Argument(help=_PLAYERS)] = None,
    game: GameOption = "tictactoe-v0",
    seat: Annotated[str | None, typer.Option(help="yours in the first game, X or O; they swap")] = None,
    games: Annotated[int | None, typer.Option(min=1, help="so many, instead of asking for another")] = None,
    record: Annotated[bool, typer.Option("--record", help="keep finished games; see `ttt games`")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="the same seed, the same replies")] = None,
) -> None:
    """Play in the terminal: against an agent, with somebody beside you, or watch two agents."""
    from ttt_env.app.terminal.playing import seated, sit_down

    made = get_game(game)
    sit_down(made, seated(players or ["minimax"], seat, made), seed, games, record)


@app.command()
def replay(
    record: Annotated[list[str], typer.Argument(help="tictactoe-v0: 4 0 8 2 6, or a file of such lines")],
) -> None:
    """Show a game move by move, with its mistakes where the game can be solved."""
    from ttt_env.app.terminal.playing import ask_here
    from ttt_env.app.terminal.replay import records_of, replay_all

    replay_all(records_of(" ".join(record)), Console(), ask_here())


@app.command()
def web(
    host: Annotated[str, typer.Option(help="another than this machine's own lets others in")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free one")] = 8000,
    models: Annotated[
        list[str] | None, typer.Option(help="file of a model, also an agent; repeatable")
    ] = None,
    record: Annotated[bool, typer.Option(help="keep finished games; see `ttt games`")] = True,
    games_file: Annotated[
        Path | None, typer.Option(help="where games are kept, if not in the usual log")
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="folder of training runs whose curves are shown")] = None,
) -> None:
    """Play, and look into agents, on a page in the browser."""
    from ttt_env.app.web.start import start
    from ttt_env.storage.game_log import GameLog

    start(host, port, models or [], GameLog(games_file) if record else None, runs, typer.echo)


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
