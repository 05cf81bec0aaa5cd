"""The command `ttt`."""

import re
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, get_args

from ttt_env.errors import missing_extra

try:
    import typer
    from rich.console import Console
except ImportError as missing:  # pragma: no cover (needs an install without the extra)
    raise SystemExit(str(missing_extra("the command line needs", "cli"))) from missing

from ttt_env.agent import Agent, agent_names, make_agent
from ttt_env.agent.learner import learner_names
from ttt_env.app.console import (
    INTERRUPTED,
    STANDARD_OUTPUT,
    JsonOption,
    check_outputs,
    print_json,
    progress_line,
    write_file,
)
from ttt_env.app.dataset import dataset
from ttt_env.app.engine import engine
from ttt_env.app.games import games_app
from ttt_env.app.tournament import tournament as tournament_of_file
from ttt_env.errors import ParameterError, TttEnvError
from ttt_env.rules.catalogue import game_names, get_game, register_game
from ttt_env.rules.checks import one_of
from ttt_env.rules.game import Game, Position
from ttt_env.storage.game_file import load_game
from ttt_env.storage.game_log import GameLog
from ttt_env.storage.models import game_of, spec_of
from ttt_env.tournament import tournament

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_AGENTS = (
    "the file of a model, a function as file.py:function, or an agent as name, name:value or "
    "name:key=value,key=value (see `ttt agents`)"
)
_PLAYERS = (
    "your opponent; or who plays X and who plays O: an agent of `ttt agents`, the file of a model, or person"
)
_ALGORITHMS = ", ".join(learner_names())
_NETWORK: dict[str, Any] = {"rich_help_panel": "Options of value-network"}
_SWEEP: dict[str, Any] = {
    "rich_help_panel": "Options of a sweep: many trainings, results in the folder --out"
}
_ASKED: dict[str, Any] = {"rich_help_panel": "Options of a program or a language model"}
_RAY = "let Ray share out the work: on this machine, or on the cluster at host:port, or auto"
_WORKERS = "number of processes that share the work"
LOCAL_RAY = "local"  # the address of a Ray of this machine that the command begins and ends
_ADDRESS = re.compile(rf"auto|{LOCAL_RAY}|[^-].*:\d+")
_DASH = "- for standard output"
CLONE = Path(__file__).parents[2]  # of the repository, if the package runs from one
GameOption = Annotated[
    str,
    typer.Option(
        "--game", help="id of the game, such as mnk-v0:m=4,n=3,k=3, or the .json file of one of yours"
    ),
]
Seconds = Annotated[float, typer.Option(min=0.1, help="how long to train")]
RayOption = Annotated[str | None, typer.Option(metavar="[ADDRESS]", help=_RAY)]
Seed = Annotated[int, typer.Option(min=0, help="the same seed gives the same random numbers")]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="processes that share the work; by default one, with Ray one for each CPU"),
]


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"ttt-env {version('ttt-env')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="print this package's version"
        ),
    ] = False,
) -> None:
    """Tic-tac-toe and every game like it: train agents, play them, know exactly how strong they are."""


@app.command()
def demo(seconds: Seconds = 60.0, seed: Seed = 0, out: Path = Path("models/demo.zip")) -> None:
    """Train an agent for about a minute and prove how strong it is."""
    from ttt_env.app.learning import train_and_judge
    from ttt_env.training.loop import TrainingOptions

    options = TrainingOptions(get_game("tictactoe-v0"), seconds=seconds, seed=seed, out=out)
    raise typer.Exit(train_and_judge(options, Console()))


@app.command()
def train(
    algo: Annotated[str, typer.Argument(help=_ALGORITHMS)] = "maskable-ppo",
    opponent: Annotated[
        list[str] | None, typer.Option(help=f"{_AGENTS}, to learn against; may be given several times")
    ] = None,
    game: GameOption = "tictactoe-v0",
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="how long to train; by default as the recipe says")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="how many moves of the agent, or games, to train")
    ] = None,
    seed: Seed = 0,
    until: Annotated[
        str, typer.Option(help="stop once it is unbeatable, or optimal everywhere; budget: do not stop")
    ] = "unbeatable",
    out: Annotated[
        Path | None, typer.Option(help="the file of the best model; by default in models/")
    ] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="folder for TensorBoard's logs")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="continue the training that writes to --out")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="train from each of these: 0-99, or 0,3,7", **_SWEEP)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="try values: learning_rate=3e-4,1e-3; several times for more", **_SWEEP),
    ] = None,
    asha: Annotated[
        bool, typer.Option("--asha", help="with --ray: stop trainings that fall behind", **_SWEEP)
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help=_WORKERS, **_SWEEP)] = None,
    ray: Annotated[str | None, typer.Option(metavar="[ADDRESS]", help=_RAY, **_SWEEP)] = None,
    hidden: Annotated[str | None, typer.Option(help="units of the hidden layers: 18,9,3", **_NETWORK)] = None,
    start: Annotated[str | None, typer.Option(help="weights: uniform01 or symmetric", **_NETWORK)] = None,
    view: Annotated[str | None, typer.Option(help="mover, xo, or xo+turn", **_NETWORK)] = None,
    empty: Annotated[float | None, typer.Option(help="input of an empty cell: 0.01", **_NETWORK)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="of each step: 0.025", **_NETWORK)] = None,
) -> None:
    """Train an agent, and prove how strong it is. A training that was killed goes on with --resume.

    With --seeds or --set it is a sweep of many trainings; the same command goes on with what is missing.
    """
    from ttt_env.training.evaluation import Until

    given: dict[str, object] = {
        "pool.scripted": opponent and list(map(spec_of, opponent)),
        "hidden": hidden and [int(size) if size.isdecimal() else size for size in hidden.split(",")],
        "start": start,
        "view": view,
        "empty": empty,
        "learning_rate": learning_rate,
    }
    hyperparameters = {name: value for name, value in given.items() if value is not None}
    if seeds is not None or settings or asha or workers is not None or ray is not None:
        from ttt_env.app.sweeping import SweepOrder, search_of, seeds_of, sweep_and_judge

        if resume or tensorboard is not None:
            raise ParameterError("a sweep has no --tensorboard, and goes on by itself, without --resume")
        search = search_of(settings or [])
        sweep_order = SweepOrder(
            algo,
            game_of(game),
            [seed] if seeds is None else seeds_of(seeds),
            search | {name: [value] for name, value in hyperparameters.items() if name not in search},
            steps=steps,
            seconds=seconds,
            until=one_of("until", until, get_args(Until)),
            out=out,
            asha=asha,
            workers=workers,
            ray=ray is not None,
            address=None if ray == LOCAL_RAY else ray,
        )
        raise typer.Exit(sweep_and_judge(sweep_order, Console()))
    from ttt_env.app.learning import default_file, train_and_judge
    from ttt_env.training.loop import TrainingOptions

    trained = game_of(game)
    options = TrainingOptions(
        trained,
        algo,
        seed,
        hyperparameters,
        steps,
        seconds,
        one_of("until", until, get_args(Until)),
        out or default_file(algo, trained),
        resume,
        tensorboard,
    )
    raise typer.Exit(train_and_judge(options, Console(), game))


@app.command()
def bench(
    agents: Annotated[list[str], typer.Argument(help=f"two or more, each {_AGENTS}")],
    game: GameOption = "tictactoe-v0",
    width: Annotated[
        float, typer.Option(help="sampled scores: play until the 95 % interval is this narrow")
    ] = 0.05,
    workers: WorkersOption = None,
    ray: RayOption = None,
    seed: Seed = 0,
    csv: Annotated[Path | None, typer.Option(help=f"write the table to this CSV file too; {_DASH}")] = None,
    plot: Annotated[
        Path | None, typer.Option(help=f"draw a heat map to this file too (SVG, PNG, PDF); {_DASH}, as SVG")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Let agents play each other: cross table, ratings, exploitability; exact where it can be."""
    json_to = STANDARD_OUTPUT if as_json else None
    check_outputs(csv, plot, json_to)
    # Ray writes to standard output when a process of its ends.
    with progress_line(f"bench on {game}, matches") as line, redirect_stdout(sys.stderr):
        result = tournament(
            list(map(spec_of, agents)),
            game_of(game),
            width=width,
            rng=seed,
            workers=workers,
            backend="ray" if ray else "loky",
            address=None if ray == LOCAL_RAY else ray,
            progress=line.count,
        )
    if as_json:
        print_json(result.to_dict())
    else:
        typer.echo(str(result), err=STANDARD_OUTPUT in (csv, plot))
    if csv is not None:
        write_file(csv, lambda path: path.write_text(result.to_csv(), encoding="utf-8"))
    if plot is not None:
        write_file(plot, result.plot, ".svg")


@app.command()
def certify(
    agents: Annotated[list[str] | None, typer.Argument(help=f"one or more, each {_AGENTS}")] = None,
    game: GameOption = "tictactoe-v0",
    out: Annotated[
        Path | None,
        typer.Option(help=f"file of the certificate; by default beside the model's file; {_DASH}"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="of several agents, processes that share the work; else questions at once"),
    ] = None,
    ray: RayOption = None,
    as_json: JsonOption = False,
    command: Annotated[
        str | None,
        typer.Option(help='a program that answers questions on standard input: "python mybot.py"', **_ASKED),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="an OpenAI-compatible endpoint: http://localhost:8000/v1", **_ASKED),
    ] = None,
    model: Annotated[str | None, typer.Option(help="name of the model at --url", **_ASKED)] = None,
    temperature: Annotated[
        float | None, typer.Option(help="of the model; by default the endpoint's", **_ASKED)
    ] = None,
    key_variable: Annotated[
        str | None,
        typer.Option(help="environment variable with the key: OPENAI_API_KEY by default", **_ASKED),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="seconds for an answer: 60, of a model 600", **_ASKED)
    ] = None,
    startup: Annotated[
        float | None, typer.Option(min=0.001, help="seconds for a program to start: 30", **_ASKED)
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="file that keeps the answers, to go on from; by default in models/", **_ASKED),
    ] = None,
) -> None:
    """Prove that an agent is unbeatable, or show the games that beat it; save that as JSON.

    Several agents are told in one line each, and the work is shared out.

    A program (--command) or a language model (--url, --model) is asked once
    in each position that can come up; a run that was killed goes on by the
    same command.
    """
    from ttt_env.app.certifying import Order, certify_and_tell

    settings = {
        "temperature": temperature,
        "key_variable": key_variable,
        "timeout": timeout,
        "startup": startup,
    }
    order = Order(
        agents or [],
        game_of(game),
        out=out,
        workers=workers,
        ray=ray is not None,
        address=None if ray == LOCAL_RAY else ray,
        as_json=as_json,
        command=command,
        url=url,
        model=model,
        settings={name: value for name, value in settings.items() if value is not None},
        answers=answers,
    )
    certify_and_tell(order)


@app.command()
def export(
    model: Annotated[str, typer.Argument(help=_AGENTS)],
    out: Annotated[
        Path | None, typer.Argument(help=f"the table to write, such as policy.npz; {_DASH}")
    ] = None,
    game: GameOption = "tictactoe-v0",
    onnx: Annotated[
        Path | None, typer.Option(help=f"write the model's network as this ONNX file instead; {_DASH}")
    ] = None,
) -> None:
    """Turn an agent into a table of plain numbers, which loads anywhere and runs no code.

    With --onnx the network of a model is written, for browsers and other
    languages: its input "planes", float32 [B, rows, columns, 2], has the
    stones of the player to move and of the other, 0 or 1; its output
    "scores", float32 [B, cells], is highest for the cell that it plays.
    """
    if (out is None) == (onnx is None):
        raise ParameterError("export writes a table or, with --onnx FILE, a network: name one file")
    agent = make_agent(spec_of(model), game_of(game))
    if out is not None:
        _write_table(agent, out, model)
    if onnx is not None:
        _write_network(agent, onnx, model)


def _write_network(agent: Agent, out: Path, model: str) -> None:
    """Write the network of an agent as an ONNX file, and say how large it is."""
    from ttt_env.integrations.onnx.export import export_onnx

    with progress_line(f"export {model}"):
        write_file(out, lambda path: export_onnx(agent, path))
    if out != STANDARD_OUTPUT:
        typer.echo(f"the network in {out}, {out.stat().st_size / 1000:.0f} kB: play it as onnx:{out}")


def _write_table(agent: Agent, out: Path, model: str) -> None:
    """Write the policy of an agent as a table, and say how large it is."""
    from ttt_env.agents.learned.lookup import Lookup

    with progress_line(f"export {model}"):
        table = Lookup.of(agent, agent.game)
    if out != STANDARD_OUTPUT:
        out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, table.save)
    if out == STANDARD_OUTPUT:
        typer.echo(f"{len(table):,} positions", err=True)
    else:
        size = out.stat().st_size / 1000
        typer.echo(f"{len(table):,} positions in {out}, {size:.0f} kB: play it as lookup:{out}")


@app.command()
def solve(
    game: Annotated[
        str | None, typer.Argument(help="id of the game, or the .json file of one of yours  [tictactoe-v0]")
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Argument(help="parameters of the game, such as m=5 n=5 k=4")
    ] = None,
    named: Annotated[
        str | None, typer.Option("--game", help="the game, as the other commands take it")
    ] = None,
    position: Annotated[
        str | None, typer.Option(help="position to solve, such as X../.O./...; by default the empty board")
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="stop after so many positions")] = None,
    seconds: Annotated[float | None, typer.Option(help="stop after so many seconds")] = None,
    save: Annotated[
        Path | None, typer.Option(help=f"write the values of all positions to this file (.npz); {_DASH}")
    ] = None,
    proof_file: Annotated[
        Path | None,
        typer.Option(
            "--proof", help="write the proof, with the strategies that show it, to this file (.npz)"
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="file that keeps what the search knows, to go on from")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove who wins under best play; Ctrl-C ends the search and prints what is proved by then."""
    from ttt_env.analysis.solution import solve as solution_of
    from ttt_env.app.solving import InterruptibleProof, check_can_be_saved, save_proof

    solved = _game_to_solve(game, parameters or [], named)
    start = solved.start if position is None else Position.parse(position, solved)
    if save is not None:
        check_can_be_saved(solved)
        check_outputs(save if save == STANDARD_OUTPUT else None, STANDARD_OUTPUT if as_json else None)
    if STANDARD_OUTPUT in (proof_file, checkpoint):
        raise ParameterError("--proof and --checkpoint name files, which standard output is not")
    check_outputs(proof_file, checkpoint)
    search = InterruptibleProof(start)
    with progress_line("solve") as line:
        proof = search.run(nodes, seconds, checkpoint, line)
    if as_json:
        print_json(search.to_dict(proof))
    else:
        typer.echo(search.told(proof), err=save == STANDARD_OUTPUT)
    if search.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if proof_file is not None:
        save_proof(proof, proof_file)
        if not as_json:
            typer.echo(f"The proof is in {proof_file}: play from it as strategy:{proof_file}")
    if save is not None:
        with progress_line("solve, every position"):
            solution = solution_of(solved)
        if save != STANDARD_OUTPUT:
            save.parent.mkdir(parents=True, exist_ok=True)
        write_file(save, solution.save)
        if save != STANDARD_OUTPUT and not as_json:
            size = save.stat().st_size
            typer.echo(f"All positions saved as {save} ({size:,} bytes): play from it as lookup:{save}")


def _game_to_solve(game: str | None, parameters: list[str], named: str | None) -> Game:
    """The game of the argument or of the option --game, with parameters. Raises `ParameterError` for both."""
    if game is not None and named is not None:
        raise ParameterError(f"two games are named, {game!r} and {named!r}: one is solved")
    text = game or named or "tictactoe-v0"
    return game_of(f"{text}{',' if ':' in text else ':'}{','.join(parameters)}" if parameters else text)


@app.command()
def play(
    players: Annotated[list[str] | None, typer.Argument(help=_PLAYERS)] = None,
    game: GameOption = "tictactoe-v0",
    seat: Annotated[
        str | None, typer.Option(help="your seat in the first game, X or O; the seats swap after each game")
    ] = None,
    games: Annotated[
        int | None, typer.Option(min=1, help="play so many games without asking for another one")
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="record finished games; see `ttt games`")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="agents reply alike to the same seed")] = None,
) -> None:
    """Play in the terminal: against an agent, with somebody beside you, or watch two agents."""
    from ttt_env.app.terminal.play import seated, sit_down

    played = game_of(game)
    named = [spec_of(player) for player in players or ["minimax"]]
    sit_down(played, seated(named, seat, played), seed, games, record)


@app.command()
def text(
    opponent: Annotated[str, typer.Argument(help=_AGENTS)] = "minimax",
    game: GameOption = "tictactoe-v0",
    seat: Annotated[str, typer.Option(help="your seat: X, O or random")] = "random",
    illegal: Annotated[str, typer.Option(help="what a reply that is no move does: retry or lose")] = "retry",
    reward: Annotated[str, typer.Option(help="result, regret or shaped")] = "result",
    board: Annotated[str, typer.Option(help="grid, coordinates or line")] = "grid",
    answer: Annotated[str, typer.Option(help="how a reply names a cell")] = "[{cell}]",
    seed: Annotated[int | None, typer.Option(min=0, help="agents reply alike to the same seed")] = None,
) -> None:
    """Play a game as a language model sees it: prompts out, a line of free text in."""
    from ttt_env.app.console import converse
    from ttt_env.text import TextEnv

    settings: dict[str, Any] = {"play_as": seat, "reward": reward, "board": board}
    settings["illegal"] = one_of("illegal", illegal, ("retry", "lose"))
    env = TextEnv(game_of(game), spec_of(opponent), answer=answer, seed=seed, **settings)
    raise typer.Exit(converse(env, sys.stdin, typer.echo))


app.command()(dataset)
app.command()(engine)
app.command("tournament")(tournament_of_file)


@app.command()
def replay(
    record: Annotated[
        list[str],
        typer.Argument(help="a game such as tictactoe-v0: 4 0 8 2 6, or a file of them, one a line"),
    ],
    game: Annotated[
        Path | None, typer.Option(help="the .json file of the game that was played, if it is one of yours")
    ] = None,
) -> None:
    """Show a game move by move, with its mistakes where the game can be solved."""
    from ttt_env.app.terminal.play import ask_here
    from ttt_env.app.terminal.replay import records_of, replay_all

    if game is not None:
        register_game(load_game(game))
    replay_all(records_of(" ".join(record)), Console(), ask_here())


@app.command()
def web(
    host: Annotated[
        str, typer.Option(help="address to listen on; any but this one lets others in")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 is any free one")] = 8000,
    models: Annotated[
        list[str] | None,
        typer.Option(
            help="file of a model, or a bot as process:COMMAND, that may play too; may be given several times"
        ),
    ] = None,
    games: Annotated[
        list[Path] | None,
        typer.Option(help="file of a game of yours, which the page offers too; may be given several times"),
    ] = None,
    record: Annotated[bool, typer.Option(help="record finished games; see `ttt games`")] = True,
    games_file: Annotated[
        Path | None, typer.Option(help="file of the game log, if not the usual one")
    ] = None,
    runs: Annotated[
        Path | None, typer.Option(help="folder of training runs whose curves the page shows")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="start no server: write tic-tac-toe to this folder, for any server to serve"),
    ] = None,
) -> None:
    """Play, and look into agents, on a page in the browser.

    The server takes up to 1.7 GB of memory, 1 GB of it for sweeps over games of millions of positions.
    """
    from ttt_env.app.web.start import export as write_files
    from ttt_env.app.web.start import start

    for path in games or []:
        register_game(load_game(path))
    if export is not None:
        write_files(export, models or [], typer.echo)
        return
    start(host, port, models or [], GameLog(games_file) if record else None, runs, typer.echo)


@app.command()
def docs() -> None:
    """Open the documentation in the browser, once it is built, or say how to build it."""
    import webbrowser

    page = CLONE / "build" / "docs" / "index.html"
    if page.is_file():
        typer.echo(page.as_uri())
        webbrowser.open(page.as_uri())
    elif (CLONE / "docs" / "conf.py").is_file():
        typer.echo(f"The documentation is not built yet: run `make docs` in {CLONE}")
    else:
        typer.echo("`make docs` builds the documentation in a clone of the repository; help(ttt_env) is here")


@app.command()
def agents(
    name: Annotated[str | None, typer.Argument(help="show this agent with its parameters")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the agents and games that are installed, or show one agent with its parameters."""
    from ttt_env.app.installed import agent_facts, agent_text

    if name is not None:
        if as_json:
            print_json(agent_facts(name))
        else:
            typer.echo(agent_text(name))
    elif as_json:
        print_json({"agents": [agent_facts(each) for each in agent_names()], "games": game_names()})
    else:
        typer.echo("agents: " + ", ".join(agent_names()))
        typer.echo("games:  " + ", ".join(game_names()))
        typer.echo("`ttt agents NAME` shows an agent with its parameters.")


app.add_typer(games_app, name="games")


def with_address(arguments: list[str]) -> list[str]:
    """The arguments with "local" behind every `--ray` that has no address behind it, as Typer needs.

    >>> with_address(["--ray", "--seeds", "0-9"]), with_address(["--ray", "auto"]), with_address(["--ray"])
    (['--ray', 'local', '--seeds', '0-9'], ['--ray', 'auto'], ['--ray', 'local'])
    """
    completed: list[str] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        completed.append(argument)
        if argument == "--ray" and not _ADDRESS.fullmatch(following):
            completed.append(LOCAL_RAY)
    return completed


def main() -> None:
    """Run the command; a mistake in its arguments is told in one line."""
    try:
        app(with_address(sys.argv[1:]))
    except (TttEnvError, ImportError, OSError) as error:
        notes = (note.partition("\n")[0] for note in getattr(error, "__notes__", []))
        typer.echo(", ".join([f"ttt: {error}", *notes]), err=True)
        sys.exit(2)
