"""AlphaZero: a network that learns from the games that its own search plays against itself.

Silver et al., A general reinforcement learning algorithm that masters chess, shogi and Go through self-play,
Science 2018. Importing this module does not import torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ttt_env import rules
from ttt_env.agent import NO_LIMIT, Agent, AgentLike, Budget, Floats, Learner
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.alphazero.network import Evaluator, NetworkSize, PolicyValueNetwork
from ttt_env.errors import ParameterError, brief, extra_for
from ttt_env.rules import Boards, Game, check_names, is_enumerable, random_position
from ttt_env.training.evaluation import Evaluation
from ttt_env.training.pool import named_opponents

if TYPE_CHECKING:
    import torch

    from ttt_env.alphazero.search import PuctSearch, SearchResults

KIND = "alphazero"
"""The name of the algorithm in messages."""
_DROP = 0.3  # the factor by which the learning rate falls


@dataclass(frozen=True)
class AlphaZeroSettings:
    """The hyperparameters of AlphaZero.

    Of a search: `games` are played at a time, each move after `simulations` simulations, with or without
    `threats`; a search ends as soon as its position is proved. The priors of the position have a share
    `noise` of noise, drawn from the Dirichlet distribution of the concentration `concentration` / (number of
    legal moves). The first `sampled_moves` of a game are drawn in proportion to their visits; the others are
    the most visited.

    A game begins with probability `random_starts` after a random number of random moves, with probability
    `blunder_starts` in a position in which the agent blundered when it was last judged, if the evaluation was
    exact and found any, and else on the empty board.

    After `moves` moves of all games the network takes `updates` steps of Adam, each on `batch` of the last
    `replay` positions, down the gradient of the squared error of the value, plus the cross entropy of the
    policy, plus `l2` times half the squared weights. The rate is `learning_rate`, and falls to 0.3 times its
    value after each of the numbers of games in `drops`. `channels`, `blocks`, `filters` and `units` are the
    `NetworkSize`. The network runs on the `device` of PyTorch, such as "cuda"; with None it learns on the CPU
    and plays by compiled code, which is faster there on the smallest boards. A GPU wants many `games`.

    After every `pause` of these rounds the agent is judged with each number of simulations in
    `evaluation_simulations`, one after the other as long as it passes: 1 is the network alone. The training
    ends when all have passed. The agent that it returns, and its file, play with the simulations and
    `threats` with which the network was judged when it was best. On a game that cannot be enumerated the
    agent plays some games with the `opponents`.
    """

    games: rules.Count = 256
    simulations: rules.Count = 50
    threats: bool = False
    noise: rules.Share = 0.25
    concentration: Annotated[float, rules.Between(0, 1e6, is_open=True)] = 10.0
    sampled_moves: Annotated[int, rules.Between(0)] = 4
    random_starts: rules.Share = 0.25
    blunder_starts: rules.Share = 0.25
    moves: rules.Count = 4
    updates: rules.Count = 16
    batch: rules.Count = 256
    replay: rules.Count = 20_000
    learning_rate: rules.Share = 2e-3
    drops: tuple[int, ...] = ()
    l2: rules.Share = 1e-4
    channels: int = 32
    blocks: int = 2
    filters: int = 4
    units: int = 32
    device: str | None = None
    pause: rules.Count = 2
    evaluation_simulations: tuple[int, ...] = (1, 50)
    opponents: tuple[AgentLike, ...] = ("random", "mcts:simulations=1000")

    def rate(self, games: int) -> float:
        """The learning rate after this number of games."""
        return self.learning_rate * _DROP ** sum(games >= drop for drop in self.drops)

    @property
    def size(self) -> NetworkSize:
        """The size of the network."""
        return NetworkSize(self.channels, self.blocks, self.filters, self.units)

    def with_hyperparameters(self, hyperparameters: Mapping[str, Any]) -> AlphaZeroSettings:
        """The settings with these values in place of their own.

        Raises `ParameterError` for an unknown name, or a value that is out of range.
        """
        names = [field.name for field in fields(self)]
        check_names(KIND, hyperparameters, names, "hyperparameter")
        settings = replace(self, **hyperparameters)
        rules.check_fields(KIND, settings)
        rules.check_fields(KIND, settings.size)
        if settings.random_starts + settings.blunder_starts > 1:
            raise ParameterError(
                f"random_starts={settings.random_starts}, blunder_starts={settings.blunder_starts} of "
                f"{KIND}: their sum is at most 1"
            )
        if not isinstance(settings.opponents, list | tuple):
            raise ParameterError(
                f"opponents={brief(settings.opponents)} of {KIND}: expected a list of agents"
            )
        counts = _integers("evaluation_simulations", settings.evaluation_simulations)
        if not counts:
            raise ParameterError(f"evaluation_simulations=() of {KIND}: expected numbers of simulations")
        return replace(settings, evaluation_simulations=counts, drops=_integers("drops", settings.drops))


def _integers(name: str, value: object) -> tuple[int, ...]:
    """These numbers as integers of 1 or more. Raises `ParameterError` if they are not."""
    if not isinstance(value, list | tuple):
        raise ParameterError(f"{name}={brief(value)} of {KIND}: expected several numbers, such as (1, 50)")
    return tuple(rules.as_integer(name, number, KIND, 1) for number in value)


def settings_for(game: Game) -> AlphaZeroSettings:
    """The default settings for training this game."""
    if rules.is_instant(game):
        return AlphaZeroSettings()
    of_larger = AlphaZeroSettings(
        threats=True, sampled_moves=8, replay=100_000, device="cpu", pause=20, evaluation_simulations=(200,)
    )
    if len(game.shape) == 3:  # 27 neighbours a cell make the network slow: it learns more from each game
        return replace(of_larger, simulations=64, updates=32)
    return replace(of_larger, simulations=100, blocks=3)


@dataclass(frozen=True)
class Positions:
    """The training targets of positions: move probabilities `[P, cells]` and values `[P]`."""

    boards: Boards
    policies: NDArray[np.float32]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)


class ReplayBuffer:
    """The last positions that were played, up to a capacity, as their canonical images."""

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
        from ttt_env.alphazero.search import canonical_images

        boards, cells = canonical_images(positions.boards)
        at = (self.added + np.arange(len(positions))) % len(self.values)
        self.masks[0, at], self.masks[1, at] = boards.mine, boards.theirs
        moved = np.empty_like(positions.policies)
        np.put_along_axis(moved, cells, positions.policies, axis=1)
        self.policies[at], self.values[at] = moved, positions.values
        self.added += len(positions)

    def sample(self, n: int, rng: np.random.Generator) -> Positions:
        """A sample of `n` positions, drawn uniformly."""
        at = rng.integers(len(self), size=n)
        return Positions(Boards(self._game, *self.masks[:, at]), self.policies[at], self.values[at])


class SelfPlayGames:
    """Games that a search plays against itself, several at a time; a new one begins where one has ended."""

    def __init__(self, game: Game, settings: AlphaZeroSettings, rng: np.random.Generator) -> None:
        n, n_cells = settings.games, game.n_cells
        self.settings, self.rng, self.game = settings, rng, game
        self.masks = np.zeros((2, n), np.uint64)  # of the positions
        self.lengths = np.zeros(n, np.int64)  # moves of each game since its start
        self.played = np.zeros((2, n, n_cells), np.uint64)  # the positions before these moves
        self.policies = np.zeros((n, n_cells, n_cells), np.float32)  # the search's policies in them
        self.values = np.zeros((n, n_cells), np.float32)  # their proved values, else NaN
        self.ended = 0
        self.blunders = Boards.joined(game, [])
        for number in range(n):
            self._start_game(number)

    def _start_game(self, number: int) -> None:
        start, draw = self.game.start, self.rng.random()
        if draw < self.settings.random_starts:
            start = random_position(self.game, self.rng)
        elif draw < self.settings.random_starts + self.settings.blunder_starts and len(self.blunders):
            start = self.blunders[int(self.rng.integers(len(self.blunders)))]
        self.masks[:, number] = start.mine, start.theirs
        self.lengths[number] = 0

    def move(self, search: PuctSearch) -> Positions:
        """Make a move in every game; return the positions of the games that ended, with their targets.

        The target policy of a position is the share of visits of each move. If moves are proved wins, it is
        uniform among these; proved losses get none of it if there is anything else. The target value is the
        proved one, or else the result of the game.
        """
        boards, numbers = Boards(self.game, *self.masks.copy()), np.arange(len(self.lengths))
        results = search.search_boards(
            boards, self.settings.simulations, int(self.rng.integers(1 << 63)), self._noise(boards)
        )
        policies = _policy_targets(results, boards.legal)
        at = numbers, self.lengths
        self.played[(slice(None), *at)] = self.masks
        self.policies[at], self.values[at] = policies, results.proved
        after = boards.play(self._select(policies))
        self.masks[:] = after.mine, after.theirs
        self.lengths += 1
        return self._finished_games(after)

    def _noise(self, boards: Boards) -> Floats:
        """Noise over the legal moves, `[B, cells]`, which sums to 1."""
        legal = boards.legal
        n_legal = legal.sum(axis=1, keepdims=True)
        gammas = self.rng.gamma(np.where(legal, self.settings.concentration / n_legal, 1.0)) * legal
        total = gammas.sum(axis=1, keepdims=True)
        noise: Floats = np.where(total > 0, gammas / np.maximum(total, 1e-300), legal / n_legal)
        return noise

    def _select(self, policies: NDArray[np.float32]) -> NDArray[np.intp]:
        """The cells to play: drawn at the beginning of a game, later the likeliest."""
        totals = policies.cumsum(axis=1, dtype=np.float64)
        draws = self.rng.random((len(totals), 1)) * totals[:, -1:]
        random_cells = (totals <= draws).sum(axis=1)
        is_drawn = self.lengths < self.settings.sampled_moves
        cells: NDArray[np.intp] = np.where(is_drawn, random_cells, policies.argmax(axis=1))
        return cells

    def _finished_games(self, after: Boards) -> Positions:
        """The positions of the games that are over; new games take their places."""
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
            self._start_game(int(number))
        self.ended += len(over)
        return positions


def _policy_targets(results: SearchResults, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The target policy of each position: see `SelfPlayGames.move`."""
    wins, losses = results.values == 1, results.values == -1
    open_visits = np.where(losses, 0, results.visits).astype(np.float64)
    weights = np.where(open_visits.any(axis=1, keepdims=True), open_visits, results.visits)
    weights = np.where(weights.any(axis=1, keepdims=True), weights, legal & ~losses)
    weights = np.where(weights.any(axis=1, keepdims=True), weights, legal)
    weights = np.where(wins.any(axis=1, keepdims=True), wins, weights)
    targets: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return targets


class AlphaZeroLearner(Learner):
    """AlphaZero, round by round: games, which are its steps, then updates of the network.

    The agent is due after every `pause` rounds, and is judged with each number of simulations in
    `evaluation_simulations`. The same game, settings and seed give the same training, on the CPU of one
    machine.

    Args:
        game: The game.
        seed: The seed of the training.
        **hyperparameters: Values in place of those of `settings_for` the game, by the names of
            `AlphaZeroSettings`: `games`, `simulations`, `threats`, `noise`, `concentration`, `sampled_moves`,
            `random_starts`, `blunder_starts`, `moves`, `updates`, `batch`, `replay`, `learning_rate`,
            `drops`, `l2`, `channels`, `blocks`, `filters`, `units`, `device`, `pause`,
            `evaluation_simulations` and `opponents`.

    Raises:
        ImportError: The extra `train` is not installed.
        ParameterError: A hyperparameter is unknown, or its value is out of range.

    Example:
        >>> from ttt_env import get_game
        >>> learner = AlphaZeroLearner(get_game("tictactoe-v0"), games=8, simulations=4)
        >>> learner.advance()
        >>> learner.rounds
        1

    """

    name = plays_as = KIND
    about = "It plays against itself by a search that its network guides."
    default_budget = Budget(seconds=600.0)
    uses_torch = True

    def __init__(self, game: Game, seed: int = 0, **hyperparameters: Any) -> None:
        super().__init__(game, seed)
        settings = self.settings = settings_for(game).with_hyperparameters(hyperparameters)
        self.simulations = settings.evaluation_simulations[0]  # of the agent that was judged last
        device = _device(settings)
        import torch

        from ttt_env.alphazero.search import PuctSearch, prepare
        from ttt_env.alphazero.torch_network import ResidualNetwork

        prepare()
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.network = ResidualNetwork(game, settings.size).to(device).eval()
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.l2
        )
        self.games = SelfPlayGames(game, settings, self.rng)
        self.replay = ReplayBuffer(game, settings.replay)
        self.search = PuctSearch(self._evaluator(), noise=settings.noise, threats=settings.threats)
        self.rounds = 0
        self.losses = math.nan, math.nan  # of the last round: value, policy
        self.seconds = {"search": 0.0, "network": 0.0, "learning": 0.0}

    def inference_network(self) -> PolicyValueNetwork:
        """The network as it plays now."""
        network, settings = self.network.inference_network(), self.settings
        return replace(network, simulations=self.simulations, threats=settings.threats)

    @classmethod
    def check(cls, game: Game, hyperparameters: Mapping[str, Any]) -> None:  # noqa: D102
        settings = settings_for(game).with_hyperparameters(hyperparameters)
        named_opponents(settings.opponents, game)
        _device(settings)

    @property
    def steps(self) -> int:  # noqa: D102
        return self.games.ended

    @property
    def is_due(self) -> bool:  # noqa: D102
        return self.rounds > 0 and self.rounds % self.settings.pause == 0

    def agent(self) -> AlphaZero:  # noqa: D102
        return AlphaZero.of(self.inference_network())

    def candidates(self) -> Iterator[Agent]:  # noqa: D102
        for simulations in self.settings.evaluation_simulations:
            self.simulations = simulations
            yield self.agent()

    def opponents(self) -> dict[str, Agent]:  # noqa: D102
        return {} if is_enumerable(self.game) else named_opponents(self.settings.opponents, self.game)

    def on_evaluation(self, evaluation: Evaluation) -> None:  # noqa: D102
        blunders = None if evaluation.certificate is None else evaluation.certificate.blunders
        if blunders is not None and self.is_due:
            self.games.blunders = blunders

    def save(self, path: str | Path) -> None:  # noqa: D102
        self.inference_network().save(path)

    def advance(self, budget: Budget = NO_LIMIT) -> None:
        """Run one round of the training."""
        begin, evaluating = perf_counter(), self.search.seconds
        self.search.set_network(self._evaluator())
        for _ in range(self.settings.moves):
            self.replay.add(self.games.move(self.search))
        end_of_games = perf_counter()
        if len(self.replay) >= self.settings.batch:
            self.losses = self._learn()
        network = self.search.seconds - evaluating
        self.seconds["search"] += end_of_games - begin - network
        self.seconds["network"] += network
        self.seconds["learning"] += perf_counter() - end_of_games
        self.rounds += 1

    def _learn(self) -> tuple[float, float]:
        """Take the gradient steps of a round, and return the mean losses of the value and of the policy."""
        import torch
        from torch.nn.functional import log_softmax, mse_loss

        device, losses = self.network.device, np.zeros(2)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(self.games.ended)
        self.network.train()
        for _ in range(self.settings.updates):
            positions = self.replay.sample(self.settings.batch, self.rng)
            planes = self.network.planes(positions.boards)
            logits, values = self.network(planes)
            chances = log_softmax(logits.masked_fill(planes[:, -1] == 0, -1e9), dim=1)
            value_loss = mse_loss(values, torch.from_numpy(positions.values).to(device))
            policy_loss = -(torch.from_numpy(positions.policies).to(device) * chances).sum(dim=1).mean()
            self.optimizer.zero_grad()
            (value_loss + policy_loss).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            losses += value_loss.item(), policy_loss.item()
        self.network.eval()
        value, policy = losses / self.settings.updates
        return float(value), float(policy)

    def scalars(self) -> dict[str, float]:  # noqa: D102
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

    def state(self) -> dict[str, Any]:
        """All but the cached answers of the network, which each round clears."""
        return {name: part for name, part in vars(self).items() if name != "search"}

    def restore(self, state: Any) -> None:  # noqa: D102
        vars(self).update(state)
        self.search.set_network(self._evaluator())

    def _evaluator(self) -> Evaluator:
        """The network that the games query."""
        return self.inference_network() if self.settings.device is None else self.network


def _device(settings: AlphaZeroSettings) -> torch.device:
    """The device on which the network learns.

    Raises `ImportError` without the extra `train`, `ParameterError` for a device that PyTorch does not have
    here.
    """
    with extra_for("AlphaZero learns with", "train"):
        import torch
    try:
        device = torch.zeros((), device=settings.device or "cpu").device
    except (RuntimeError, AssertionError) as error:  # PyTorch does not know the name, or the machine lacks it
        raise ParameterError(f"device={brief(settings.device)} of {KIND}: {error}") from error
    if device.type == "meta":  # its tensors have no values
        raise ParameterError(f"device={brief(settings.device)} of {KIND}: it has no values")
    return device
