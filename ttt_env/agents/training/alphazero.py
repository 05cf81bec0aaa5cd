"""AlphaZero: a network that learns from games that a search which it guides plays against itself.

Silver et al., A general reinforcement learning algorithm that masters chess, shogi and Go through self-play,
Science 2018. Importing this module does not import torch.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats, make_agent
from ttt_env.agents.alphazero.agent import AlphaZero
from ttt_env.agents.alphazero.network import NetworkSize, PolicyValueNetwork
from ttt_env.agents.training.checkpoint import checkpoint_of, read_state, write_state
from ttt_env.agents.training.evaluation import Evaluation, Report, Until, evaluate
from ttt_env.agents.training.threads import one_thread
from ttt_env.errors import ParameterError, PolicyFileError, unknown
from ttt_env.rules.boards import Boards
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_integer, as_number, one_of
from ttt_env.rules.game import Game, random_position
from ttt_env.rules.sizes import MAX_SEED, check_size, is_enumerable, is_instant

if TYPE_CHECKING:
    from ttt_env.agents.alphazero.search import PuctSearch

_KIND = "alphazero"
SECONDS = 600.0
"""How long a training lasts at most for which neither seconds nor steps are given."""
_PAUSE = 10.0  # seconds between two writings of the checkpoint
_MANY = 10**9


@dataclass(frozen=True)
class Settings:
    """How AlphaZero is trained.

    So many `games` are played at a time, each move by a search of so many `simulations` that ends as soon as
    its position is proved. The priors of the position have a share `noise` of noise, drawn from the Dirichlet
    distribution of the concentration `concentration` / (number of legal moves). The first `sampled_moves` of
    a game are drawn by how often the search visited them; the others are the most visited. A game begins with
    probability `random_starts` after a random number of random moves, with probability `blunder_starts` in
    one of the positions in which the agent gave value away when it was last judged, if it was exactly and
    there are any, and else with the empty board.

    After `moves` moves of all games the network takes `updates` steps of Adam, each on `batch` of the last
    `replay` positions, down the gradient of the squared error of the value, plus the cross entropy of the
    policy, plus `l2` times half the squared weights, at the rate `learning_rate`. The network has the size
    `channels`, `blocks`, `filters`, `units`: see `NetworkSize`.

    After every `pause` of these rounds the agent is judged by as many simulations as `judged` says, one after
    the other as long as it passes: 1 is the network alone. On a game that cannot be enumerated it plays some
    games with the `opponents`.
    """

    games: int = 256
    simulations: int = 50
    noise: float = 0.25
    concentration: float = 10.0
    sampled_moves: int = 4
    random_starts: float = 0.25
    blunder_starts: float = 0.25
    moves: int = 4
    updates: int = 16
    batch: int = 256
    replay: int = 20_000
    learning_rate: float = 2e-3
    l2: float = 1e-4
    channels: int = 32
    blocks: int = 2
    filters: int = 4
    units: int = 32
    pause: int = 2
    judged: tuple[int, ...] = (1, 50)
    opponents: tuple[str, ...] = ("random", "mcts:simulations=1000,seed=0")

    @property
    def size(self) -> NetworkSize:
        """The size of the network."""
        return NetworkSize(self.channels, self.blocks, self.filters, self.units)

    def adjusted(self, hyperparameters: Mapping[str, Any]) -> "Settings":
        """The settings with these in the place of their own.

        Raises `ParameterError` for a name that is none of them, or a value that cannot be.
        """
        names = [field.name for field in fields(self)]
        for name in hyperparameters:
            if name not in names:
                raise ParameterError(unknown(f"hyperparameter of {_KIND}", name, names))
        changed = replace(self, **hyperparameters)
        changed.size.checked()
        for name in ("games", "simulations", "moves", "updates", "batch", "replay", "pause"):
            as_integer(name, getattr(changed, name), _KIND, 1, _MANY)
        as_integer("sampled_moves", changed.sampled_moves, _KIND, 0)
        for name, most in (("noise", 1.0), ("l2", 1.0), ("learning_rate", 1.0)):
            as_number(name, getattr(changed, name), _KIND, most)
        shares = [
            as_number(name, getattr(changed, name), _KIND, 1.0)
            for name in ("random_starts", "blunder_starts")
        ]
        if sum(shares) > 1:
            raise ParameterError(f"random_starts and blunder_starts of {_KIND} are more than 1: {shares}")
        if not as_number("concentration", changed.concentration, _KIND) > 0:
            raise ParameterError(f"concentration={changed.concentration!r} of {_KIND}: it must be above 0")
        if not isinstance(changed.judged, list | tuple) or not changed.judged:
            raise ParameterError(f"judged={changed.judged!r} of {_KIND}: numbers of simulations are needed")
        judged = tuple(as_integer("judged", number, _KIND, 1) for number in changed.judged)
        return replace(changed, judged=judged)


def settings_for(game: Game) -> Settings:
    """The settings that a game is trained with if no others are given."""
    if is_instant(game):
        return Settings()
    return Settings(simulations=100, sampled_moves=8, replay=100_000, blocks=3, pause=20, judged=(200,))


@dataclass(frozen=True)
class Positions:
    """What is learned of positions: the move probabilities `[P, cells]` and values `[P]` to be predicted."""

    boards: Boards
    policies: NDArray[np.float32]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)


class Replay:
    """The last positions that were played, as their canonical images: at most so many."""

    def __init__(self, game: Game, most: int) -> None:
        self.masks = np.zeros((2, most), np.uint64)
        self.policies = np.zeros((most, game.n_cells), np.float32)
        self.values = np.zeros(most, np.float32)
        self._game = game
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, len(self.values))

    def add(self, positions: Positions) -> None:
        """Keep these positions in the place of the oldest ones."""
        from ttt_env.agents.alphazero.search import merged

        boards, cells = merged(positions.boards)
        at = (self.added + np.arange(len(positions))) % len(self.values)
        self.masks[0, at], self.masks[1, at] = boards.mine, boards.theirs
        moved = np.empty_like(positions.policies)
        np.put_along_axis(moved, cells, positions.policies, axis=1)
        self.policies[at], self.values[at] = moved, positions.values
        self.added += len(positions)

    def sample(self, n: int, rng: np.random.Generator) -> Positions:
        """So many of the positions, drawn uniformly."""
        at = rng.integers(len(self), size=n)
        return Positions(Boards(self._game, *self.masks[:, at]), self.policies[at], self.values[at])


class SelfPlayGames:
    """Games that a search plays against itself, so many at a time; a new one begins where one has ended."""

    def __init__(self, game: Game, settings: Settings, rng: np.random.Generator) -> None:
        n, n_cells = settings.games, game.n_cells
        self.settings, self.rng, self.game = settings, rng, game
        self.masks = np.zeros((2, n), np.uint64)  # of the positions
        self.lengths = np.zeros(n, np.int64)  # moves of each game since its start
        self.played = np.zeros((2, n, n_cells), np.uint64)  # the positions before these moves
        self.policies = np.zeros((n, n_cells, n_cells), np.float32)  # what was found in them
        self.values = np.zeros((n, n_cells), np.float32)  # what was proved of them, else NaN
        self.ended = 0
        self.blunders = Boards.joined(game, [])
        for number in range(n):
            self._begin(number)

    def _begin(self, number: int) -> None:
        start, draw = self.game.start, self.rng.random()
        if draw < self.settings.random_starts:
            start = random_position(self.game, self.rng)
        elif draw < self.settings.random_starts + self.settings.blunder_starts and len(self.blunders):
            start = self.blunders[int(self.rng.integers(len(self.blunders)))]
        self.masks[:, number] = start.mine, start.theirs
        self.lengths[number] = 0

    def move(self, search: "PuctSearch") -> Positions:
        """Make a move in every game; the positions of the games that it ended, with what is to be learned.

        The policy of a position is how often each move was visited. If moves are proved wins, it is uniform
        among these; proved losses have none of it if there is anything else. The value is what is proved, or
        else the result of the game.
        """
        boards, numbers = Boards(self.game, *self.masks.copy()), np.arange(len(self.lengths))
        found = search.find(
            boards, self.settings.simulations, int(self.rng.integers(1 << 63)), self._noise(boards)
        )
        policies = _targets(found, boards.legal)
        at = numbers, self.lengths
        self.played[(slice(None), *at)] = self.masks
        self.policies[at], self.values[at] = policies, found.proved
        after = boards.play(self._chosen(policies))
        self.masks[:] = after.mine, after.theirs
        self.lengths += 1
        return self._harvest(after)

    def _noise(self, boards: Boards) -> Floats:
        """Noise over the legal moves, `[B, cells]`, which sums to 1."""
        legal = boards.legal
        n_legal = legal.sum(axis=1, keepdims=True)
        drawn = self.rng.gamma(np.where(legal, self.settings.concentration / n_legal, 1.0)) * legal
        total = drawn.sum(axis=1, keepdims=True)
        noise: Floats = np.where(total > 0, drawn / np.maximum(total, 1e-300), legal / n_legal)
        return noise

    def _chosen(self, policies: NDArray[np.float32]) -> NDArray[np.intp]:
        """The cells to play: drawn at the beginning of a game, later the likeliest."""
        totals = policies.cumsum(axis=1, dtype=np.float64)
        draws = self.rng.random((len(totals), 1)) * totals[:, -1:]
        drawn = (totals <= draws).sum(axis=1)
        is_drawn = self.lengths < self.settings.sampled_moves
        cells: NDArray[np.intp] = np.where(is_drawn, drawn, policies.argmax(axis=1))
        return cells

    def _harvest(self, after: Boards) -> Positions:
        """The positions of the games that are over, in whose places new games begin."""
        over = np.flatnonzero(after.is_over)
        lengths = self.lengths[over]
        game_of, ply = (
            np.repeat(np.arange(len(over)), lengths),
            np.concatenate([np.arange(0), *map(np.arange, lengths)]),
        )
        at = over[game_of], ply
        result = np.where(after.is_won[over], -1.0 if self.game.misere else 1.0, 0.0)[game_of]
        result *= np.where((lengths[game_of] - ply) % 2, 1.0, -1.0)  # for the player to move
        values = np.where(np.isnan(self.values[at]), result, self.values[at]).astype(np.float32)
        positions = Positions(Boards(self.game, *self.played[(slice(None), *at)]), self.policies[at], values)
        for number in over:
            self._begin(int(number))
        self.ended += len(over)
        return positions


def _targets(found: Any, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The policy that is to be learned of each position: see `SelfPlayGames.move`."""
    wins, losses = found.values == 1, found.values == -1
    open_visits = np.where(losses, 0, found.visits).astype(np.float64)
    kept = np.where(open_visits.any(axis=1, keepdims=True), open_visits, found.visits)
    kept = np.where(kept.any(axis=1, keepdims=True), kept, legal & ~losses)
    kept = np.where(kept.any(axis=1, keepdims=True), kept, legal)
    kept = np.where(wins.any(axis=1, keepdims=True), wins, kept)
    targets: NDArray[np.float32] = (kept / kept.sum(axis=1, keepdims=True)).astype(np.float32)
    return targets


class AlphaZeroTraining:
    """A training of AlphaZero, round by round: games, then steps of the network.

    The same game, settings and seed give the same training, on one machine. Needs torch.
    """

    def __init__(self, game: Game, settings: Settings, seed: int) -> None:
        import torch

        from ttt_env.agents.alphazero.search import PuctSearch, prepare
        from ttt_env.agents.training.residual import ResidualNetwork

        prepare()
        self.game, self.settings, self.seed = game, settings, seed
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.network = ResidualNetwork(game, settings.size)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.l2
        )
        self.games = SelfPlayGames(game, settings, self.rng)
        self.replay = Replay(game, settings.replay)
        self.search = PuctSearch(self.exported(), noise=settings.noise)
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

        from ttt_env.agents.training.residual import planes_of

        losses = np.zeros(2)
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
        self.search = PuctSearch(self.exported(), noise=self.settings.noise)


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
        as_integer("steps", steps, _KIND, 1)
    limit = as_number("seconds", seconds, _KIND) if seconds is not None else math.inf if steps else SECONDS
    if resume and (out is None or hyperparameters):
        raise ParameterError(
            "resume=True needs out=, to know its checkpoint, and goes on with its hyperparameters"
        )
    settings = settings_for(played_game).adjusted(hyperparameters or {})
    as_integer("seed", seed, _KIND, 0, MAX_SEED)
    _check_torch()
    with one_thread():
        training, progress = (
            _left_off(out, played_game)
            if resume and out is not None
            else (AlphaZeroTraining(played_game, settings, seed), _Progress())
        )
        _run(training, progress, steps or _MANY, limit, until, out, tensorboard, report)
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
        raise PolicyFileError(f"{path} is no training of {_KIND}")
    training, progress = state
    if training.game != game:
        raise PolicyFileError(f"{path} is a training of {_KIND} on {training.game.name}, not on {game.name}")
    return training, progress


def _run(
    training: AlphaZeroTraining,
    progress: _Progress,
    steps: int,
    seconds: float,
    until: Until,
    out: str | Path | None,
    tensorboard: str | Path | None,
    report: Report | None,
) -> None:
    """Train until the goal is reached or a budget used up, and write the files."""
    begin, log, written = perf_counter() - progress.seconds, _writer(tensorboard), 0.0
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
        agent = AlphaZero.of(network, simulations)
        evaluation = evaluate(
            agent, opponents, training.games.ended, progress.seconds, everywhere=until == "optimal"
        )
        if not evaluation.reaches(goal):
            return evaluation, n_passed
    return evaluation, len(training.settings.judged)


def _writer(folder: str | Path | None) -> Callable[[Mapping[str, float], int], None]:
    """A function that writes scalars to a TensorBoard log."""
    if folder is None:
        return lambda scalars, step: None
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder))

    def write(scalars: Mapping[str, float], step: int) -> None:
        for name, value in scalars.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return write
