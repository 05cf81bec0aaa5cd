"""AlphaZero: a network that learns from games that a search which it guides plays against itself.

Silver et al., A general reinforcement learning algorithm that masters chess, shogi and Go through self-play,
Science 2018. Importing this module does not import torch.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ttt_env.agent import NO_LIMIT, Agent, Budget, Learner, make_agent
from ttt_env.agents.alphazero.agent import AlphaZero
from ttt_env.agents.alphazero.network import PolicyValueNetwork
from ttt_env.errors import missing_extra
from ttt_env.rules import Game, check_size, is_enumerable
from ttt_env.training.alphazero_games import ReplayBuffer, SelfPlay
from ttt_env.training.alphazero_settings import KIND, settings_for
from ttt_env.training.evaluation import Evaluation


class AlphaZeroLearner(Learner):
    """AlphaZero, round by round: games, which are its steps, then updates of the network.

    The hyperparameters take the place of what `settings_for` the game says. The agent is due after every
    `pause` rounds, and is judged with each number of simulations in `judged`. The same game, settings and
    seed give the same training, on one machine.

    Raises `GameTooLargeError` for more than 64 cells, `ImportError` without the extra `train`.
    """

    name = plays_as = KIND
    about = "It plays against itself by a search that its network guides."
    default_budget = Budget(seconds=600.0)
    uses_torch = True

    def __init__(self, game: Game, seed: int = 0, **hyperparameters: Any) -> None:
        check_size(game)
        super().__init__(game, seed)
        settings = self.settings = settings_for(game).adjusted(hyperparameters)
        _check_torch()
        import torch

        from ttt_env.agents.alphazero.search import PuctSearch, prepare
        from ttt_env.training.residual import ResidualNetwork

        prepare()
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

    @classmethod
    def check(cls, game: Game, hyperparameters: Mapping[str, Any]) -> None:  # noqa: D102
        settings_for(game).adjusted(hyperparameters)
        _check_torch()

    @property
    def steps(self) -> int:  # noqa: D102
        return self.games.ended

    @property
    def is_due(self) -> bool:  # noqa: D102
        return self.rounds > 0 and self.rounds % self.settings.pause == 0

    def agent(self) -> AlphaZero:  # noqa: D102
        return AlphaZero.of(self.exported())

    def judged(self) -> Sequence[Agent]:  # noqa: D102
        network, threats = self.exported(), self.settings.threats
        return [AlphaZero.of(network, simulations, threats=threats) for simulations in self.settings.judged]

    def opponents(self) -> dict[str, Agent]:  # noqa: D102
        specs = () if is_enumerable(self.game) else self.settings.opponents
        return {spec: make_agent(spec, self.game) for spec in specs}

    def looked(self, evaluation: Evaluation) -> None:  # noqa: D102
        if evaluation.certificate is not None and self.is_due:
            self.games.blunders = evaluation.certificate.blunders

    def save(self, path: str | Path) -> None:  # noqa: D102
        self.exported().save(path)

    def advance(self, budget: Budget = NO_LIMIT) -> None:
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
        """All but what the network has said, which each round forgets."""
        return {name: part for name, part in vars(self).items() if name != "search"}

    def restore(self, state: Any) -> None:  # noqa: D102
        vars(self).update(state)
        self.search.ask(self.exported())


def _check_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise missing_extra("AlphaZero learns with", "train") from error
