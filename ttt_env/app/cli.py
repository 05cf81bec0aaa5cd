"""The command `ttt`."""

import re
import sys
import traceback
from contextlib import redirect_stdout
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, Literal, NoReturn

from ttt_env.errors import missing_extra

try:
    import typer
    from rich.console import Console
except ImportError as missing:  # pragma: no cover (needs an install without the extra)
    raise SystemExit(str(missing_extra("the command line needs", "cli"))) from missing

from ttt_env.agent import agent_names, learner_class, learner_names
from ttt_env.app.console import (
    STANDARD_OUTPUT,
    Interrupted,
    catching_signals,
    check_outputs,
    prepare_streams,
    print_json,
    progress_line,
    write_file,
)
from ttt_env.app.games import add_games
from ttt_env.app.options import (
    AGENTS,
    DASH,
    TICTACTOE,
    Commands,
    GameOption,
    GamesOption,
    JsonOption,
    OwnGameOption,
    argument,
    command,
    documentation,
    option,
)
from ttt_env.app.solving import solve
from ttt_env.app.tournament import tournament as tournament_of_file
from ttt_env.errors import NoVerdictError, ParameterError, TttEnvError, WorkerError, nearest
from ttt_env.render.charts import FORMATS, new_figure
from ttt_env.render.svg import format_of
from ttt_env.rules import Between, Count, Seconds, Seed, game_names, one_of, register_game
from ttt_env.storage import write_atomically
from ttt_env.storage.game_log import GameLog
from ttt_env.storage.models import spec_of
from ttt_env.tournament import tournament
from ttt_env.training.evaluation import Until
from ttt_env.workers import MAX_WORKERS

EXIT_CODES = {
    0: "yes, or done",
    1: "no: the agent is beatable",
    2: "wrong usage or input",
    3: "undecided: the budget was too small, or an agent or the program failed",
    130: "ended by Ctrl-C",
    141: "the program that reads the output has ended",
    143: "ended by SIGTERM",
}
app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,  # plain help and plain errors: no boxes around them
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\n".join(["\b\nExit codes:", *(f"  {code:<4} {what}" for code, what in EXIT_CODES.items())]),
)
_PLAYERS = f"your opponent (default: minimax), or two players, X first; each is person, {AGENTS}"
_RAY = "distribute the work with Ray, on this machine (no ADDRESS) or a cluster (host:port or auto)"
LOCAL_RAY = "local"  # the address of a Ray on this machine that the command starts and stops
_ADDRESS = re.compile(rf"auto|{LOCAL_RAY}|[^-].*:\d+")
_UsageError: type[Any] = typer.BadParameter.__mro__[1]  # of Click, or of Typer's own copy of it
_START = """\
ttt: tic-tac-toe and every game like it, with exact strength

  ttt play minimax     play against an agent in this terminal
  ttt web              open the web app: play, look inside agents, see all positions
  ttt new bot.py       write a template for your own bot
  ttt certify bot.py   prove that it is unbeatable, or see a game that beats it
  ttt train dqn        train an agent until it is unbeatable

`ttt -h` lists all commands, `ttt COMMAND -h` the options of one."""
RayOption = Annotated[str | None, option("[ADDRESS]", _RAY)]
SeedOption = Annotated[Seed, option("N", "random seed")]
WorkerCount = Annotated[int, Between(1, MAX_WORKERS)]


def options(
    context: typer.Context,
    is_version_asked: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    """Tic-tac-toe and every game like it: train agents, play them, know exactly how strong they are."""
    if is_version_asked:
        typer.echo(f"ttt-env {version('ttt-env')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(_START)


app.callback(invoke_without_command=True, help=documentation(options))(options)


@command(app, "play", "ttt play minimax --seat O")
def play(
    players: Annotated[list[str] | None, argument("PLAYER", _PLAYERS, autocompletion=agent_names)] = None,
    game: GameOption = TICTACTOE,
    seat: Annotated[
        Literal["X", "O"] | None,
        option("SEAT", "with one opponent: your seat in the first game, X or O; seats swap after each"),
    ] = None,
    rounds: Annotated[Count | None, option("N", "play this many games without asking")] = None,
    record: Annotated[bool, typer.Option("--record", help="record finished games; see `ttt games`")] = False,
    seed: Annotated[Seed | None, option("N", "random seed of the agents")] = None,
) -> None:
    """Play in the terminal: against an agent, or with a friend.

    With two agents you watch them play.
    """
    from ttt_env.app.terminal.play import play_in_terminal, players_for

    specs = [spec_of(player) for player in players or ["minimax"]]
    play_in_terminal(game, players_for(specs, seat, game), seed, rounds, record)


@command(app, "web", "ttt web models/demo.zip")
def web(
    agents: Annotated[
        list[str] | None,
        argument("AGENT", "more agents to offer: model files, bots (bot.py, process:COMMAND), spec strings"),
    ] = None,
    game: GamesOption = None,
    host: Annotated[
        str, option("HOST", "address to listen on; one that others can reach needs --public")
    ] = "127.0.0.1",
    port: Annotated[
        Annotated[int, Between(0, 65535)], option("PORT", "port to listen on; 0 picks a free one")
    ] = 8000,
    record: Annotated[bool, typer.Option(help="record finished games; see `ttt games`")] = True,
    public: Annotated[
        bool, typer.Option("--public", help="allow an address that other machines can reach")
    ] = False,
) -> None:
    """Open the web app: play, look inside agents, compare them.

    Add a game by --game, which can be repeated.
    `python -m ttt_env.web build DIR` writes the page as files for any web server.
    """
    from ttt_env.web.server import start

    own = game or []
    for each in own:
        if ":" not in each.name:
            register_game(each)
    start(host, port, agents or [], GameLog() if record else None, typer.echo, games=own, is_public=public)


@command(app, "train", "ttt train dqn --out models/dqn.zip", computes=True)
def train(
    algo: Annotated[
        str, argument("ALGORITHM", ", ".join(learner_names()), autocompletion=learner_names)
    ] = "maskable-ppo",
    opponent: Annotated[
        list[str] | None,
        option(
            "AGENT",
            f"for SB3's algorithms, an opponent to learn against: {AGENTS}; repeatable",
            autocompletion=agent_names,
        ),
    ] = None,
    game: GameOption = TICTACTOE,
    seconds: Annotated[
        Seconds | None,
        option(
            "SECONDS", "time limit; without it and --steps, the algorithm's own limit, shown at the start"
        ),
    ] = None,
    steps: Annotated[
        Count | None,
        option(
            "N",
            "step limit, in moves; for alphazero, q-learning, value-network in games; for cfr in iterations",
        ),
    ] = None,
    seed: SeedOption = 0,
    until: Annotated[
        Until,
        option("GOAL", "when to stop: unbeatable, optimal (no blunder in any position) or budget (limit)"),
    ] = "unbeatable",
    out: Annotated[Path | None, option("FILE", "where to save the best model; by default in models/")] = None,
    tensorboard: Annotated[Path | None, option("FOLDER", "folder for TensorBoard logs")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="resume the run that writes to --out")] = False,
    settings: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "set a hyperparameter, such as learning_rate=3e-4; repeatable; an unknown name lists them all",
            "--set",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train an agent, and prove how strong it is.

    A run that was stopped continues with --resume.
    """
    from ttt_env.app.learning import default_file, settings_of, train_and_judge
    from ttt_env.training.loop import TrainingOptions

    hyperparameters = settings_of(settings or [])
    if opponent:
        with_opponents = [name for name in learner_names() if learner_class(name).plays_as == "sb3"]
        if one_of("algorithm", algo, learner_names()) not in with_opponents:
            raise ParameterError(f"--opponent is for {', '.join(with_opponents)}: {algo} trains without one")
        if "pool.scripted" in hyperparameters:
            raise ParameterError("--opponent and --set pool.scripted name the same opponents: give only one")
        hyperparameters["pool.scripted"] = list(map(spec_of, opponent))
    options = TrainingOptions(
        game,
        algo,
        seed,
        hyperparameters,
        steps,
        seconds,
        until,
        out or default_file(algo, game),
        resume,
        tensorboard,
    )
    train_and_judge(options, as_json=as_json)


@command(app, "certify", "ttt certify bot.py --json > certificate.json", computes=True)
def certify(
    agents: Annotated[
        list[str], argument("AGENT", f"one or more, each {AGENTS}", autocompletion=agent_names)
    ],
    game: GameOption = TICTACTOE,
    out: Annotated[
        Path | None,
        option(
            "FILE", f"write the policy table, which is the proof (.npz), or the certificate (.json); {DASH}"
        ),
    ] = None,
    workers: Annotated[
        WorkerCount, option("N", "questions asked at a time, of a program or a language model")
    ] = 1,
    answers: Annotated[
        Path | None,
        option("FILE", "save each answer of a program or a language model in this file, and resume from it"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove that an agent is unbeatable, or show how to beat it.

    The agent is queried once in each position that it can reach; the answers
    are its policy table. --out FILE.npz saves the table: it is the proof
    (scripts/check_policy.py checks it), and you can play it as an agent.
    --out FILE.json saves the certificate with exact results. Several agents
    get a line each.

    A program is "process:python mybot.py", a language model
    "chat:http://localhost:8000/v1,model=NAME,temperature=0".

    Exit code: 0 if unbeatable, 1 if beatable (with several agents: if any
    is), 3 if not judged, for example after a time-out.
    """
    from ttt_env.app.certifying import CertifyOptions, certify_and_print

    raise typer.Exit(certify_and_print(CertifyOptions(agents, game, out, workers, answers, as_json)))


@command(app, "bench", "ttt bench random minimax mcts:simulations=100,seed=0", computes=True)
def bench(
    agents: Annotated[
        list[str], argument("AGENT", f"two or more, each {AGENTS}", autocompletion=agent_names)
    ],
    game: GameOption = TICTACTOE,
    workers: Annotated[
        WorkerCount | None, option("N", "number of processes; by default one, with Ray one for each CPU")
    ] = None,
    ray: RayOption = None,
    seed: SeedOption = 0,
    csv: Annotated[Path | None, option("FILE", f"also write the table to this CSV file; {DASH}")] = None,
    plot: Annotated[
        Path | None, option("FILE", f"also draw a heat map to this file (SVG, PNG, PDF); {DASH}, as SVG")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Let agents play each other: cross table and ratings.

    Results are exact where possible, else sampled. The table includes exploitability.
    """
    json_to = STANDARD_OUTPUT if as_json else None
    check_outputs(csv, plot, json_to)
    if plot is not None:  # errors of the picture are reported before anything is played
        new_figure(1, 1)
        if plot != STANDARD_OUTPUT:
            format_of(plot, FORMATS)
    # Ray writes to standard output when a process of its ends.
    with progress_line(f"bench on {game.name}, matches") as line, redirect_stdout(sys.stderr):
        result = tournament(
            list(map(spec_of, agents)),
            game,
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
    if result.not_judged:
        raise typer.Exit(3)


command(app, "tournament", "ttt tournament class.toml", computes=True)(tournament_of_file)
command(app, "solve", "ttt solve --game mnk-v0:m=5,n=5,k=4", computes=True)(solve)


@command(app, "agents", "ttt agents mcts")
def agents(
    name: Annotated[
        str | None, argument("NAME", "describe this agent and its parameters", autocompletion=agent_names)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List agents, games and algorithms, or describe an agent."""
    from ttt_env.app.installed import agent_facts, agent_text, installed_text

    if name is not None:
        if name in learner_names() and name not in agent_names():
            raise ParameterError(f"{name} is an algorithm, not an agent: `ttt train {name}` trains one")
        if as_json:
            print_json(agent_facts(name))
        else:
            typer.echo(agent_text(name))
    elif as_json:
        listed = [agent_facts(each) for each in agent_names()]
        print_json({"agents": listed, "games": game_names(), "algorithms": learner_names()})
    else:
        typer.echo(installed_text())


add_games(app)


@command(app, "new", "ttt new bot.py")
def new(file: Annotated[Path, argument("FILE", "the Python file to write, such as bot.py")]) -> None:
    """Write a template for your own bot.

    `python bot.py` then certifies the bot.
    """
    from ttt_env.app.starting import write_bot

    typer.echo(write_bot(file))


@command(app, "replay", "ttt replay tictactoe-v0: 4 1 0 8 2 6")
def replay(
    record: Annotated[
        list[str],
        argument("RECORD", "a game record such as tictactoe-v0: 4 0 8 2 6, or a file with one per line"),
    ],
    game: OwnGameOption = None,
) -> None:
    """Show a game move by move, with its blunders.

    Blunders are shown where the game can be solved.
    For a game of your own, give its file by --game.
    """
    from ttt_env.app.terminal.play import edit_lines
    from ttt_env.app.terminal.replay import records_of, replay_all

    if game is not None:
        register_game(game)
    edit_lines()
    is_terminal = sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()
    replay_all(records_of(" ".join(record)), Console(), input if is_terminal else None)


def with_address(arguments: list[str]) -> list[str]:
    """The arguments with "local" after every `--ray` without an address, as Typer needs.

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
    """Run the command; every error is reported in one line."""
    prepare_streams()
    arguments = with_address(sys.argv[1:])
    try:
        with catching_signals():
            status = app(arguments, prog_name="ttt", standalone_mode=False)
        sys.exit(status)
    except _UsageError as error:
        path = error.ctx.command_path if error.ctx else f"ttt {arguments[0]}"
        _end(f"{_usage_text(error)} (`{path} -h` shows the help)", 2)
    except Interrupted as error:
        _end(str(error), error.status)
    except KeyboardInterrupt as error:
        _end(str(ended := Interrupted.by(error)), ended.status)
    except (NoVerdictError, WorkerError) as error:
        _end(_in_a_line(error), 3)
    except (TttEnvError, ImportError, OSError) as error:
        _end(_in_a_line(error), 2)
    except Exception as error:
        with NamedTemporaryFile("w", prefix="ttt-", suffix=".txt", delete=False, encoding="utf-8") as file:
            traceback.print_exc(file=file)
        kind = type(error).__name__
        _end(f"unexpected error, {kind}: {error}. The traceback is in {file.name}", 3)


def _usage_text(error: Any) -> str:
    """The error of a command line, in this package's words."""
    if hasattr(error, "param_type"):
        missing = error.param
        name = missing.metavar if missing.param_type_name == "argument" else missing.opts[-1]
        return f"{name}: missing"
    if hasattr(error, "possibilities"):
        near = nearest(
            error.option_name.lstrip("-"), [each.lstrip("-") for each in error.possibilities or ()]
        )
        return f"{error.option_name}: no such option{f'; did you mean --{near}?' if near else ''}"
    if hasattr(error, "option_name"):
        wrong = "it takes no value" if "not take" in error.message else "a value is missing"
        return f"{error.option_name}: {wrong}"
    return "give a command"


def _in_a_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    notes = (note.partition("\n")[0] for note in getattr(error, "__notes__", []))
    return ", ".join([str(error), *notes])


def _end(message: str, status: int) -> NoReturn:
    typer.echo(f"ttt: {message}", err=True)
    sys.exit(status)
