"""The command `ttt`."""

import re
import shlex
import sys
import traceback
from contextlib import redirect_stdout
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, NoReturn, get_args

from ttt_env.errors import missing_extra

try:
    import typer
    from rich.console import Console
except ImportError as missing:  # pragma: no cover (needs an install without the extra)
    raise SystemExit(str(missing_extra("the command line needs", "cli"))) from missing

from ttt_env.agent import agent_names, learner_class, learner_names, make_agent
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.app.console import (
    DASH,
    STANDARD_OUTPUT,
    Command,
    JsonOption,
    argument,
    check_outputs,
    option,
    prepare_streams,
    print_json,
    progress_line,
    write_file,
)
from ttt_env.app.games import OwnGameOption, games_app
from ttt_env.app.solving import solve
from ttt_env.app.tournament import tournament as tournament_of_file
from ttt_env.errors import NoVerdictError, ParameterError, TttEnvError, WorkerError
from ttt_env.render.charts import FORMATS, new_figure
from ttt_env.render.svg import format_of
from ttt_env.rules import game_names, one_of, register_game
from ttt_env.storage import load_game, write_atomically
from ttt_env.storage.game_log import GameLog
from ttt_env.storage.models import game_of, spec_of
from ttt_env.tournament import tournament

app = typer.Typer(
    rich_markup_mode=None,  # plain help and plain errors: no boxes around them
    context_settings={"help_option_names": ["-h", "--help"]},
)
_command = partial(app.command, cls=Command)
_AGENTS = (
    "a model's file, a bot as file.py or file.py:function, or a spec string such as "
    "mcts:simulations=100 (see `ttt agents`)"
)
_PLAYERS = f"your opponent, by default minimax; or two players, X first. Each is person, {_AGENTS}"
_RAY = "distribute the work with Ray: on this machine (no ADDRESS), or on a cluster (host:port, or auto)"
_WORKERS = "number of processes"
LOCAL_RAY = "local"  # the address of a Ray of this machine that the command begins and ends
_ADDRESS = re.compile(rf"auto|{LOCAL_RAY}|[^-].*:\d+")
_UsageError: type[Any] = typer.BadParameter.__mro__[1]  # of Click, or of Typer's own copy of it
_START = """\
ttt: tic-tac-toe and every game like it, with exact strength

  ttt play minimax     play against an agent, in this terminal
  ttt web              the web app: all positions, play, a look into agents
  ttt new bot.py       write a bot of your own to start from
  ttt certify bot.py   prove that it is unbeatable, or see the game that beats it
  ttt train dqn        train an agent until nobody beats it

ttt -h lists all commands, and -h behind one of them shows its options."""
CLONE = Path(__file__).parents[2]  # of the repository, if the package runs from one
GameOption = Annotated[
    str,
    option(
        "GAME",
        "id of the game, such as mnk-v0:m=4,n=3,k=3, or the .json file of one of yours",
        "--game",
        autocompletion=game_names,
    ),
]
RayOption = Annotated[str | None, option("[ADDRESS]", _RAY)]
Seed = Annotated[int, option("N", "the same seed gives the same random numbers", min=0)]
ReplySeed = Annotated[int | None, option("N", "seed of the agents' random numbers", min=0)]


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    is_version_asked: Annotated[bool, typer.Option("--version", help="print this package's version")] = False,
) -> None:
    """Tic-tac-toe and every game like it: train agents, play them, know exactly how strong they are."""
    if is_version_asked:
        typer.echo(f"ttt-env {version('ttt-env')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(_START)


@_command(epilog="Example: ttt train dqn --out models/dqn.zip")
def train(
    algo: Annotated[
        str, argument("ALGORITHM", ", ".join(learner_names()), autocompletion=learner_names)
    ] = "maskable-ppo",
    opponent: Annotated[
        list[str] | None,
        option(
            "AGENT",
            f"for SB3's algorithms, an opponent to learn against: {_AGENTS}; repeatable",
            autocompletion=agent_names,
        ),
    ] = None,
    game: GameOption = "tictactoe-v0",
    seconds: Annotated[
        float | None, option("SECONDS", "how long to train; by default as the recipe says", min=0.1)
    ] = None,
    steps: Annotated[
        int | None,
        option(
            "N",
            "how long to train, in moves; games for alphazero, q-learning, value-network; iterations for cfr",
            min=1,
        ),
    ] = None,
    seed: Seed = 0,
    until: Annotated[
        str, option("GOAL", "when to stop: unbeatable, optimal (no error in any position) or budget")
    ] = "unbeatable",
    out: Annotated[Path | None, option("FILE", "the file of the best model; by default in models/")] = None,
    tensorboard: Annotated[Path | None, option("FOLDER", "folder for TensorBoard's logs")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="continue the training that writes to --out")
    ] = False,
    settings: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "set a hyperparameter, as learning_rate=3e-4; repeatable; a wrong name lists the right ones",
            "--set",
        ),
    ] = None,
) -> None:
    """Train an agent, and prove how strong it is.

    A training run that was killed continues with --resume.
    """
    from ttt_env.app.learning import default_file, settings_of, train_and_judge
    from ttt_env.training.evaluation import Until
    from ttt_env.training.loop import TrainingOptions

    hyperparameters = settings_of(settings or [])
    if opponent:
        with_opponents = [name for name in learner_names() if learner_class(name).plays_as == "sb3"]
        if one_of("algorithm", algo, learner_names()) not in with_opponents:
            raise ParameterError(f"--opponent is for {', '.join(with_opponents)}: {algo} learns without")
        if "pool.scripted" in hyperparameters:
            raise ParameterError("--opponent and --set pool.scripted name the same opponents: give only one")
        hyperparameters["pool.scripted"] = list(map(spec_of, opponent))
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


@_command(epilog="Example: ttt bench random minimax mcts:simulations=100,seed=0")
def bench(
    agents: Annotated[
        list[str], argument("AGENT", f"two or more, each {_AGENTS}", autocompletion=agent_names)
    ],
    game: GameOption = "tictactoe-v0",
    workers: Annotated[
        int | None, option("N", f"{_WORKERS}; by default one, with Ray one for each CPU")
    ] = None,
    ray: RayOption = None,
    seed: Seed = 0,
    csv: Annotated[Path | None, option("FILE", f"write the table to this CSV file too; {DASH}")] = None,
    plot: Annotated[
        Path | None, option("FILE", f"draw a heat map to this file too (SVG, PNG, PDF); {DASH}, as SVG")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Let agents play each other: cross table and ratings.

    Results are exact where they can be, and sampled elsewhere. The table also has the exploitability of each
    agent.
    """
    json_to = STANDARD_OUTPUT if as_json else None
    check_outputs(csv, plot, json_to)
    if plot is not None:  # what is wrong with a picture is said before anything is played
        new_figure(1, 1)
        if plot != STANDARD_OUTPUT:
            format_of(plot, FORMATS)
    # Ray writes to standard output when a process of its ends.
    with progress_line(f"bench on {game}, matches") as line, redirect_stdout(sys.stderr):
        result = tournament(
            list(map(spec_of, agents)),
            game_of(game),
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
        write_file(csv, lambda path: write_atomically(path, result.to_csv().encode()))
    if plot is not None:
        write_file(plot, result.plot, ".svg")


@_command(epilog="Example: ttt certify bot.py --json > certificate.json")
def certify(
    agents: Annotated[
        list[str] | None, argument("AGENT", f"one or more, each {_AGENTS}", autocompletion=agent_names)
    ] = None,
    game: GameOption = "tictactoe-v0",
    out: Annotated[
        Path | None,
        option("FILE", f"write the policy table (.npz), the proof, or the certificate (.json); {DASH}"),
    ] = None,
    workers: Annotated[
        int | None,
        option("N", "with several agents: number of processes; with one: questions asked at a time", min=1),
    ] = None,
    ray: RayOption = None,
    as_json: JsonOption = False,
    command: Annotated[
        str | None, option("COMMAND", 'a program that answers questions on standard input: "python mybot.py"')
    ] = None,
    url: Annotated[
        str | None, option("URL", "an OpenAI-compatible endpoint: http://localhost:8000/v1")
    ] = None,
    model: Annotated[str | None, option("NAME", "name of the model at --url")] = None,
    temperature: Annotated[
        float | None, option("X", "temperature of the model; by default the endpoint's")
    ] = None,
    key_variable: Annotated[
        str | None, option("NAME", "environment variable with the key; by default OPENAI_API_KEY")
    ] = None,
    timeout: Annotated[
        float | None,
        option("SECONDS", "seconds per answer; by default 10, for a language model 600", min=0.001),
    ] = None,
    startup: Annotated[
        float | None, option("SECONDS", "seconds for a program to start; by default 10", min=0.001)
    ] = None,
    answers: Annotated[
        Path | None, option("FILE", "keep each answer in this file, and go on from it")
    ] = None,
) -> None:
    """Say whether an agent is unbeatable, or show what beats it.

    The agent is asked once in each position that it can reach. Its answers
    are its policy table: --out policy.npz writes it, and anybody can check
    it with scripts/check_policy.py. --out FILE.json writes the certificate
    with exact results. Each of several agents gets one line.

    With --answers a run that was stopped goes on from the answers that it
    has, for a program (--command) or a language model (--url, --model).

    The exit code is 0 if the agent is unbeatable, 1 if it is beatable, 2 for
    wrong input, and 3 if it could not be judged, for example after a
    time-out. With several agents it is 1 if any is beatable.
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
    raise typer.Exit(certify_and_tell(order))


@_command(epilog="Example: ttt export models/dqn.zip models/dqn.npz")
def export(
    model: Annotated[str, argument("AGENT", _AGENTS, autocompletion=agent_names)],
    out: Annotated[Path | None, argument("FILE", f"the table to write, such as policy.npz; {DASH}")] = None,
    game: GameOption = "tictactoe-v0",
    onnx: Annotated[
        Path | None, option("FILE", f"write the model's network as this ONNX file instead; {DASH}")
    ] = None,
) -> None:
    """Write what an agent answers, once in each position.

    The policy table loads anywhere, runs no code, and is what ttt certify
    --out writes.

    With --onnx the network of a model is written, for browsers and other
    languages: its input "planes", float32 [B, rows, columns, 2], has the
    stones of the player to move and of the other, 0 or 1; its output
    "scores", float32 [B, cells], is highest for the cell that it plays.
    """
    if (out is None) == (onnx is None):
        raise ParameterError("export writes a table or, with --onnx FILE, a network: name one file")
    agent = make_agent(spec_of(model), game_of(game))
    if out is not None:
        with progress_line(f"export {model}") as line:
            table = PolicyTable.of(agent, progress=lambda asked: line.count(*asked), complete=True)
        write_file(out, table.save)
        if out == STANDARD_OUTPUT:
            typer.echo(f"{table.n_queries:,} positions", err=True)
        else:
            size = out.stat().st_size / 1000
            typer.echo(f"{table.n_queries:,} positions in {out}, {size:.0f} kB: play it as {out}")
    if onnx is not None:
        from ttt_env.integrations.onnx.export import export_onnx

        with progress_line(f"export {model}"):
            write_file(onnx, lambda path: export_onnx(agent, path))
        if onnx != STANDARD_OUTPUT:
            typer.echo(f"the network in {onnx}, {onnx.stat().st_size / 1000:.0f} kB: play it as onnx:{onnx}")


_command(epilog="Example: ttt solve mnk-v0 m=5 n=5 k=4")(solve)


@_command(epilog="Example: ttt play minimax --seat O")
def play(
    players: Annotated[list[str] | None, argument("PLAYER", _PLAYERS, autocompletion=agent_names)] = None,
    game: GameOption = "tictactoe-v0",
    seat: Annotated[
        str | None, option("SEAT", "your seat in the first game, X or O; the seats swap after each game")
    ] = None,
    games: Annotated[int | None, option("N", "play this many games without asking", min=1)] = None,
    record: Annotated[bool, typer.Option("--record", help="record finished games; see `ttt games`")] = False,
    seed: ReplySeed = None,
) -> None:
    """Play in the terminal: against an agent, or with a friend.

    With two agents you watch them play.
    """
    from ttt_env.app.terminal.play import seated, sit_down

    played = game_of(game)
    named = [spec_of(player) for player in players or ["minimax"]]
    sit_down(played, seated(named, seat, played), seed, games, record)


_command("tournament", epilog="Example: ttt tournament class.toml")(tournament_of_file)


@_command(epilog="Example: ttt replay tictactoe-v0: 4 1 0 8 2 6")
def replay(
    record: Annotated[
        list[str], argument("RECORD", "a game such as tictactoe-v0: 4 0 8 2 6, or a file of them, one a line")
    ],
    game: OwnGameOption = None,
) -> None:
    """Show a game move by move, with its blunders.

    Mistakes are shown where the game can be solved.
    """
    from ttt_env.app.terminal.play import edit_lines
    from ttt_env.app.terminal.replay import records_of, replay_all

    if game is not None:
        register_game(load_game(game))
    edit_lines()
    is_terminal = sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()
    replay_all(records_of(" ".join(record)), Console(), input if is_terminal else None)


@_command(epilog="Example: ttt web --models models/demo.zip")
def web(
    host: Annotated[
        str, option("HOST", "address to listen on; one that others can reach needs --public")
    ] = "127.0.0.1",
    port: Annotated[int, option("PORT", "port to listen on; 0 is any free one", min=0, max=65535)] = 8000,
    models: Annotated[
        list[str] | None,
        option(
            "MODEL",
            "a model's file, or a bot as process:COMMAND, that may play too; may be given several times",
        ),
    ] = None,
    games: Annotated[
        list[Path] | None,
        option("FILE", "file of a game of yours, which the page offers too; may be given several times"),
    ] = None,
    record: Annotated[bool, typer.Option(help="record finished games; see `ttt games`")] = True,
    public: Annotated[
        bool, typer.Option("--public", help="allow an address that other machines can reach")
    ] = False,
) -> None:
    """Open the web app: all positions, play, look inside, compare.

    `python -m ttt_env.web build DIR` writes the same page as files, for any web server.
    """
    from ttt_env.web.server import start

    for path in games or []:
        register_game(load_game(path))
    start(host, port, models or [], GameLog() if record else None, typer.echo, is_public=public)


@_command(epilog="Example: ttt docs")
def docs() -> None:
    """Open the documentation in the browser.

    Exits with 1 if it is not built yet, and says how to build it.
    """
    import webbrowser

    page = CLONE / "build" / "docs" / "index.html"
    if page.is_file():
        typer.echo(page.as_uri())
        webbrowser.open(page.as_uri())
        return
    is_clone = (CLONE / "docs" / "conf.py").is_file()
    where = f"-C {shlex.quote(str(CLONE))} docs" if is_clone else "docs"
    hint = "" if is_clone else " in a clone of the repository; help(ttt_env) is here"
    typer.echo(f"ttt: the documentation is not built: build it by `make {where}`{hint}", err=True)
    raise typer.Exit(1)


@_command(epilog="Example: ttt agents mcts")
def agents(
    name: Annotated[
        str | None, argument("NAME", "show this agent with its parameters", autocompletion=agent_names)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the agents, games and algorithms that are installed.

    With a NAME it shows this agent with its parameters.
    """
    from ttt_env.app.installed import agent_facts, agent_text, installed_text

    if name is not None:
        if as_json:
            print_json(agent_facts(name))
        else:
            typer.echo(agent_text(name))
    elif as_json:
        listed = [agent_facts(each) for each in agent_names()]
        print_json({"agents": listed, "games": game_names(), "algorithms": learner_names()})
    else:
        typer.echo(installed_text())


@_command(epilog="Example: ttt new bot.py")
def new(file: Annotated[Path, argument("FILE", "the Python file to write, such as bot.py")]) -> None:
    """Write a bot to start from, which can judge itself."""
    from ttt_env.app.starting import write_bot

    typer.echo(write_bot(file))


app.add_typer(games_app, name="games")


def with_address(arguments: list[str]) -> list[str]:
    """The arguments with "local" behind every `--ray` that has no address behind it, as Typer needs.

    >>> with_address(["--ray", "--json"]), with_address(["--ray", "auto"]), with_address(["--ray"])
    (['--ray', 'local', '--json'], ['--ray', 'auto'], ['--ray', 'local'])
    """
    completed: list[str] = []
    for word, following in pairwise([*arguments, ""]):
        completed.append(word)
        if word == "--ray" and not _ADDRESS.fullmatch(following):
            completed.append(LOCAL_RAY)
    return completed


def main() -> None:
    """Run the command; whatever goes wrong is told in one line."""
    prepare_streams()
    arguments = with_address(sys.argv[1:])
    try:
        sys.exit(app(arguments, prog_name="ttt", standalone_mode=False))
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx else f"ttt {arguments[0]}"
        told = error.format_message().rstrip(".")
        _end(f"{told[0].lower()}{told[1:]} (`{command} -h` shows the help)", 2)
    except typer.Abort:
        _end("interrupted", 1)
    except (NoVerdictError, WorkerError) as error:
        _end(_in_a_line(error), 3)
    except (TttEnvError, ImportError, OSError) as error:
        _end(_in_a_line(error), 2)
    except Exception as error:
        with NamedTemporaryFile("w", prefix="ttt-", suffix=".txt", delete=False, encoding="utf-8") as file:
            traceback.print_exc(file=file)
        kind = type(error).__name__
        _end(f"ended by an error that it did not expect, {kind}: {error}. {file.name} says where", 3)


def _in_a_line(error: Exception) -> str:
    notes = (note.partition("\n")[0] for note in getattr(error, "__notes__", []))
    return ", ".join([str(error), *notes])


def _end(told: str, status: int) -> NoReturn:
    typer.echo(f"ttt: {told}", err=True)
    sys.exit(status)
