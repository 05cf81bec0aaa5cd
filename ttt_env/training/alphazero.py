"""AlphaZero: a network that learns from games that a search which it guides plays against itself.

Silver et al., A general reinforcement learning algorithm that masters chess, shogi and Go through self-play,
Science 2018. Importing this module does not import torch.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ttt_env.agent import make_agent
from ttt_env.agents.alphazero.agent import AlphaZero
from ttt_env.agents.alphazero.network import PolicyValueNetwork
from ttt_env.errors import ParameterError, PolicyFileError
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_integer, as_number, one_of
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import MAX_SEED, check_size, is_enumerable
from ttt_env.training.alphazero_games import ReplayBuffer, SelfPlay
from ttt_env.training.alphazero_settings import KIND, Settings, settings_for
from ttt_env.training.checkpoint import checkpoint_of, read_state, write_state
from ttt_env.training.evaluation import Evaluation, Report, Until, evaluate
from ttt_env.training.threads import one_thread

SECONDS = 600.0
"""How long a training lasts at most for which neither seconds nor steps are given."""
_PAUSE = 10.0  # seconds between two writings of the checkpoint
_MANY = 10**9
Log = Callable[[Mapping[str, float], int], None]
"""Takes numbers by name, and the games that have ended."""


class AlphaZeroTraining:
    """A training of AlphaZero, round by round: games, then steps of the network.

    The same game, settings and seed give the same training, on one machine. Needs torch.
    """

    def __init__(self, game: Game, settings: Settings, seed: int) -> None:
        import torch

        from ttt_env.agents.alphazero.search import PuctSearch, prepare
        from ttt_env.training.residual import ResidualNetwork

        prepare()
        self.game, self.settings, self.seed = game, settings, seed
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.network = ResidualNetwork(game, settings.size)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.l2
        )
        self.games = SelfPlay(game, settings, self.rng)
        self.replay = ReplayBuffer(game, settings.replay)
        self.search = PuctSearch(self.exported(), noise=settings.noise, threats=settings.threats)
        self.rounds = 0
        self.losses = math.nan, math.nan  # of the last round: value, policy
        self.seconds = {"search": 0.0, "network": 0.0, "learning": 0.0}

    def exported(self) -> PolicyValueNetwork:
        """The network as it plays now."""
        return self.network.exported()

    def step(self) -> None:
        """A round of the training."""
        begin, evaluating = perf_counter(), self.search.seconds
        self.search.ask(self.exported())
        for _ in range(self.settings.moves):
            self.replay.add(self.games.move(self.search))
        played = perf_counter()
        if len(self.replay) >= self.settings.batch:
            self.losses = self._learn()
        network = self.search.seconds - evaluating
        self.seconds["search"] += played - begin - network
        self.seconds["network"] += network
        self.seconds["learning"] += perf_counter() - played
        self.rounds += 1

    def _learn(self) -> tuple[float, float]:
        """Take the steps of a round. Returns the mean losses, of the value and of the policy."""
        import torch
        from torch.nn.functional import log_softmax, mse_loss

        from ttt_env.training.residual import planes_of

        losses = np.zeros(2)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(self.games.ended)
        self.network.train()
        for _ in range(self.settings.updates):
            positions = self.replay.sample(self.settings.batch, self.rng)
            logits, values = self.network(planes_of(positions.boards))
            illegal = torch.from_numpy(~positions.boards.legal)
            chances = log_softmax(logits.masked_fill(illegal, -1e9), dim=1)
            value_loss = mse_loss(values, torch.from_numpy(positions.values))
            policy_loss = -(torch.from_numpy(positions.policies) * chances).sum(dim=1).mean()
            self.optimizer.zero_grad()
            (value_loss + policy_loss).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            losses += value_loss.item(), policy_loss.item()
        self.network.eval()
        value, policy = losses / self.settings.updates
        return float(value), float(policy)

    def scalars(self) -> dict[str, float]:
        """What a log shows of the training, by name."""
        shares = {
            name: seconds / max(1e-9, sum(self.seconds.values())) for name, seconds in self.seconds.items()
        }
        return {
            "train/value loss": self.losses[0],
            "train/policy loss": self.losses[1],
            "train/learning rate": self.optimizer.param_groups[0]["lr"],
            "self-play/games": self.games.ended,
            "self-play/positions": self.replay.added,
            **{f"time/{name}": share for name, share in shares.items()},
        }

    def __getstate__(self) -> dict[str, Any]:
        """What a checkpoint keeps: all but what the network has said, which each round forgets."""
        return {name: part for name, part in vars(self).items() if name != "search"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from ttt_env.agents.alphazero.search import PuctSearch, prepare

        prepare()
        vars(self).update(state)
        self.search = PuctSearch(self.exported(), noise=self.settings.noise, threats=self.settings.threats)


@dataclass
class _Progress:
    """How far a training is, and the best network that it has found."""

    seconds: float = 0.0
    evaluation: Evaluation | None = None
    best: Evaluation | None = None
    network: PolicyValueNetwork | None = None
    rank: tuple[float, ...] = ()  # of the best network: what it passes, then its mistakes


def train(
    game: Game | str = "tictactoe-v0",
    *,
    seed: int = 0,
    steps: int | None = None,
    seconds: float | None = None,
    until: Until = "unbeatable",
    hyperparameters: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    tensorboard: str | Path | None = None,
    report: Report | None = None,
) -> AlphaZero:
    """The least exploitable network that AlphaZero found, as an agent that searches.

    The training ends after so many `seconds`, by default ten minutes, or `steps`, which are games that have
    ended; and sooner when `until` is reached: when the agent is certified unbeatable with each number of
    simulations that the settings judge it by ("optimal": when it gives value away in no position of the game
    at all; "budget": never). A game that cannot be enumerated is trained until the budget is used up, and the
    last network is returned. `hyperparameters` take the place of what `settings_for` the game says, by the
    names of `Settings`. `report` is called after every evaluation, with the first numbers of simulations that
    does not pass.

    With `out` the network is written there whenever it is better than before, and all that is needed to go on
    to the file `checkpoint_of(out)`, at least every ten seconds. `resume` goes on from that file, with the
    seed and hyperparameters of the beginning; budgets include what was used before. A log for TensorBoard is
    written to the folder `tensorboard`.

    Raises `ParameterError` for a parameter out of its range, `PolicyFileError` if there is nothing to resume
    or it is a training of another game, `GameTooLargeError` for more than 64 cells, `ImportError` without the
    extra `train`.
    """
    played_game = get_game(game)
    check_size(played_game)
    one_of("until", until, ("unbeatable", "optimal", "budget"))
    if steps is not None:
        as_integer("steps", steps, KIND, 1)
    limit = as_number("seconds", seconds, KIND) if seconds is not None else math.inf if steps else SECONDS
    if resume and (out is None or hyperparameters):
        raise ParameterError(
            "resume=True needs out=, to know its checkpoint, and goes on with its hyperparameters"
        )
    settings = settings_for(played_game).adjusted(hyperparameters or {})
    as_integer("seed", seed, KIND, 0, MAX_SEED)
    _check_torch()
    with one_thread():
        training, progress = (
            _left_off(out, played_game)
            if resume and out is not None
            else (AlphaZeroTraining(played_game, settings, seed), _Progress())
        )
        with _log(tensorboard) as log:
            _run(training, progress, steps or _MANY, limit, until, out, log, report)
    assert progress.network is not None
    return AlphaZero.of(progress.network)


def _check_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError('AlphaZero learns with the extra "train": pip install "ttt-env[train]"') from error


def evaluations_of(path: Path) -> tuple[Evaluation | None, Evaluation | None]:
    """The best and the last evaluation of the training in a checkpoint.

    Raises `PolicyFileError` for a file that is no checkpoint of this version.
    """
    _, progress = read_state(path)
    return progress.best, progress.evaluation


def _left_off(out: str | Path, game: Game) -> tuple[AlphaZeroTraining, _Progress]:
    """The training in the checkpoint of this model. Raises `PolicyFileError` if it holds none of the game."""
    path = checkpoint_of(out)
    state = read_state(path)
    if not isinstance(state, tuple) or not isinstance(state[0], AlphaZeroTraining):
        raise PolicyFileError(f"{path} is no training of {KIND}")
    training, progress = state
    if training.game != game:
        raise PolicyFileError(f"{path} is a training of {KIND} on {training.game.name}, not on {game.name}")
    return training, progress


def _run(
    training: AlphaZeroTraining,
    progress: _Progress,
    steps: int,
    seconds: float,
    until: Until,
    out: str | Path | None,
    log: Log,
    report: Report | None,
) -> None:
    """Train until the goal is reached or a budget used up, and write the files."""
    begin, written = perf_counter() - progress.seconds, 0.0
    while True:
        is_over = training.games.ended >= steps or progress.seconds >= seconds
        if is_over or (training.rounds and training.rounds % training.settings.pause == 0):
            if progress.evaluation is None or progress.evaluation.steps < training.games.ended:
                evaluation = _judge(training, progress, until, out)
                if evaluation.certificate is not None and training.rounds % training.settings.pause == 0:
                    training.games.blunders = evaluation.certificate.blunders
                log(training.scalars() | evaluation.scalars(), training.games.ended)
                if report is not None:
                    report(evaluation)
            assert progress.evaluation is not None
            is_over = is_over or progress.evaluation.reaches(until)
        if out is not None and (is_over or perf_counter() - written > _PAUSE):
            write_state(checkpoint_of(out), (training, progress))
            written = perf_counter()
        if is_over:
            return
        training.step()
        progress.seconds = perf_counter() - begin


def _judge(
    training: AlphaZeroTraining, progress: _Progress, until: Until, out: str | Path | None
) -> Evaluation:
    """Evaluate the network as it is, and keep it if it is the best so far."""
    network = training.exported()
    evaluation, n_passed = _evaluated(training, progress, network, until)
    progress.evaluation = evaluation
    is_sampled, rank = evaluation.exploitability is None, (-n_passed, *evaluation.mistakes)
    if progress.network is None or is_sampled or rank < progress.rank:
        progress.best, progress.network, progress.rank = evaluation, network, rank
        if out is not None:
            network.save(out)
    return evaluation


def _evaluated(
    training: AlphaZeroTraining, progress: _Progress, network: PolicyValueNetwork, until: Until
) -> tuple[Evaluation, int]:
    """The evaluation by the first number of simulations that does not pass, by the last if all do.

    Also how many have passed.
    """
    goal: Until = "unbeatable" if until == "budget" else until
    opponents = {}
    if not is_enumerable(training.game):
        opponents = {spec: make_agent(spec, training.game) for spec in training.settings.opponents}
    for n_passed, simulations in enumerate(training.settings.judged):
        agent = AlphaZero.of(network, simulations, threats=training.settings.threats)
        evaluation = evaluate(
            agent, opponents, training.games.ended, progress.seconds, everywhere=until == "optimal"
        )
        if not evaluation.reaches(goal):
            return evaluation, n_passed
    return evaluation, len(training.settings.judged)


@contextmanager
def _log(folder: str | Path | None) -> Iterator[Log]:
    """A function that writes scalars to a TensorBoard log, for the time of a with statement."""
    if folder is None:
        yield lambda scalars, step: None
        return
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:

        def write(scalars: Mapping[str, float], step: int) -> None:
            for name, value in scalars.items():
                writer.add_scalar(name, value, step)
            writer.flush()

        yield write
