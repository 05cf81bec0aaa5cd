"""Policies whose network sees a board as its winning sets, and so treats symmetric positions the same way.

The state of a winning set is which player may still complete it, with how many stones. The network learns one
vector for each state, adds up the vectors of the sets through a cell, and lets cells and sets exchange
messages for some rounds. All cells share its weights, so that it has a few thousand of them on every board,
and generalises from one corner to all. It is a message passing network (Gilmer et al., "Neural message
passing for quantum chemistry", 2017) on the graph of cells and winning sets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ttt_env.errors import ParameterError, extra_for
from ttt_env.rules import Game, motions
from ttt_env.training.masking import MaskedDQN, MaskedDQNPolicy, MaskedQNetwork

with extra_for("networks of winning sets need", "train"):
    import torch
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn

_N_STONES = 3  # of a cell: none, mine, theirs
_FIRST_SCALE = 0.5  # the initial scale of learned vectors of sets and cells
_SUM_SCALE = 0.5  # of sums over the sets of a cell or the cells of a set
_TIE = 1e-4  # far above rounding errors, far below the value of a move


class WinningSets(BaseFeaturesExtractor):
    """A vector for each cell, `[B, cells · width]`, from observations `[B, *shape, 2]` of the kind "planes".

    A symmetry of the board moves the vectors of the cells as it moves the stones. B is read from `shape` here
    and below, since `len` would make it a constant of the network that is written as ONNX.
    """

    _incidence: torch.Tensor
    _incidence_of_cells: torch.Tensor
    _rows_of_sets: torch.Tensor
    _rows_of_cells: torch.Tensor

    def __init__(
        self, observation_space: spaces.Space[Any], game: Game, width: int = 32, rounds: int = 2
    ) -> None:
        super().__init__(observation_space, game.n_cells * width)
        self.n_cells, self.width = game.n_cells, width
        incidence = np.zeros((len(game.winning_sets), game.n_cells), np.float32)
        for row, cells in zip(incidence, game.winning_sets, strict=True):
            row[list(cells)] = 1
        self._largest = max(map(len, game.winning_sets))
        self._dead = 2 * self._largest + 1  # the state of a set that neither player can complete any more
        set_kinds, cell_kinds = _symmetry_classes(game)
        keep = partial(self.register_buffer, persistent=False)
        keep("_incidence", torch.from_numpy(incidence))
        keep("_incidence_of_cells", torch.from_numpy(incidence.T.copy()))
        keep("_rows_of_sets", torch.from_numpy(set_kinds * (self._dead + 1))[:, None])
        keep("_rows_of_cells", torch.from_numpy(cell_kinds * _N_STONES)[:, None])
        self.states = nn.Embedding((set_kinds.max() + 1) * (self._dead + 1), width)
        self.stones = nn.Embedding((cell_kinds.max() + 1) * _N_STONES, width)
        for table in (self.states, self.stones):
            nn.init.normal_(table.weight, std=_FIRST_SCALE)
        self.rounds = nn.ModuleList(_Round(width) for _ in range(rounds))

    def forward(self, planes: torch.Tensor) -> torch.Tensor:  # noqa: D102
        mine, theirs = planes.reshape(planes.shape[0], self.n_cells, 2).permute(2, 1, 0)
        own, other = (self._incidence @ mine).long(), (self._incidence @ theirs).long()
        of_other = torch.where(own == 0, self._largest + other, self._dead)
        sets = self.states(torch.where(other == 0, own, of_other) + self._rows_of_sets)
        stones = self.stones((mine + 2 * theirs).long() + self._rows_of_cells)
        cells = torch.relu(stones + _sum_by_row(self._incidence_of_cells, sets))
        for exchange in self.rounds:
            cells = exchange(cells, sets, self._incidence, self._incidence_of_cells)
        return cells.transpose(0, 1).flatten(1)


class _Round(nn.Module):
    """One message-passing round: cells → winning sets → cells, `[cells, B, width]`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_sets = nn.Linear(width, width)
        self.of_cells = nn.Linear(2 * width, width)
        self.of_board = nn.Linear(width, width)

    def forward(
        self,
        cells: torch.Tensor,
        sets: torch.Tensor,
        incidence: torch.Tensor,
        incidence_of_cells: torch.Tensor,
    ) -> torch.Tensor:
        informed_sets = torch.relu(sets + self.of_sets(_sum_by_row(incidence, cells) * _SUM_SCALE))
        informed = _sum_by_row(incidence_of_cells, informed_sets) * _SUM_SCALE
        new = self.of_cells(torch.cat([cells, informed], dim=-1)) + self.of_board(cells.mean(dim=0))
        return cells + torch.relu(new)


def _sum_by_row(incidence: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Sums `[M, B, width]` of the vectors `[N, B, width]` for which a row of `[M, N]` has a 1."""
    summed = incidence @ vectors.flatten(1)
    return summed.reshape(len(incidence), *vectors.shape[1:])


def _symmetry_classes(game: Game) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The class of symmetric sets or cells of each winning set, `[sets]`, and of each cell, `[cells]`."""
    moved = motions(game)
    numbers = {frozenset(cells): number for number, cells in enumerate(game.winning_sets)}
    first_sets = [
        min(numbers[frozenset(motion[list(cells)].tolist())] for motion in moved)
        for cells in game.winning_sets
    ]
    set_kinds, cell_kinds = (
        np.unique(first, return_inverse=True)[1].astype(np.int64)
        for first in (np.array(first_sets), moved.min(axis=0))
    )
    return set_kinds, cell_kinds


class _ScoreHead(nn.Module):
    """One number for each cell, `[B, cells]`, from their vectors, which prefers the first of symmetric cells.

    Otherwise rounding, which depends on the size of the batch, would choose among symmetric cells.
    """

    _order: torch.Tensor

    def __init__(self, extractor: WinningSets) -> None:
        super().__init__()
        self.n_cells = extractor.n_cells
        self.score = nn.Linear(extractor.width, 1)
        nn.init.zeros_(self.score.bias)
        self.register_buffer("_order", torch.arange(self.n_cells - 1, -1, -1) * _TIE, persistent=False)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.score(vectors.reshape(vectors.shape[0], self.n_cells, -1))[..., 0]
        return scores + self._order


class _ValueHead(nn.Module):
    """One number for each board, `[B, 1]`, from the mean of its cells' vectors."""

    def __init__(self, extractor: WinningSets) -> None:
        super().__init__()
        self.n_cells = extractor.n_cells
        self.worth = nn.Linear(extractor.width, 1)  # a key of saved models

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        worth: torch.Tensor = self.worth(vectors.reshape(vectors.shape[0], self.n_cells, -1).mean(dim=1))
        return worth


class WinningSetsActorCriticPolicy(MaskableActorCriticPolicy):
    """A `MaskableActorCriticPolicy` with a score of each cell and a value, from `WinningSets` features."""

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        extractor: Any = self.features_extractor
        scores, worth = _ScoreHead(extractor), _ValueHead(extractor)
        with torch.no_grad():
            scores.score.weight.mul_(0.1)  # nearly random at first
        self.action_net, self.value_net = scores, worth  # type: ignore[assignment]
        build: Any = self.optimizer_class
        self.optimizer = build(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class WinningSetsQNetwork(MaskedQNetwork):
    """Action values `[B, cells]` from the features of `WinningSets`, far below all others on taken cells."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        extractor: Any = self.features_extractor
        self.q_net = _ScoreHead(extractor)  # type: ignore[assignment]


class WinningSetsDQNPolicy(MaskedDQNPolicy):
    """A `MaskedDQNPolicy` of networks of winning sets."""

    network_class = WinningSetsQNetwork


@dataclass
class FallingRate:
    """A learning rate that is `first`, half of it after `halves_after` steps, a third after twice as many.

    Unlike the schedules of Stable-Baselines3 it does not need the length of the training. `steps` are the
    steps so far.
    """

    first: float
    halves_after: float
    steps: int = 0

    def __call__(self, progress_remaining: float) -> float:
        """The current rate."""
        return self.first / (1 + self.steps / self.halves_after)


class _WinningSetsMixin:
    """An algorithm that gives `WinningSets` the game of its environments.

    Its `learning_rate` may also be a mapping with the fields of `FallingRate`.
    """

    policy_class: Any
    policy_kwargs: dict[str, Any]
    env: Any
    learning_rate: Any
    num_timesteps: int

    def _setup_lr_schedule(self) -> None:
        if isinstance(self.learning_rate, Mapping):
            self.learning_rate = FallingRate(**self.learning_rate)
        super()._setup_lr_schedule()  # type: ignore[misc]

    def _update_learning_rate(self, optimizers: Any) -> None:
        if isinstance(self.learning_rate, FallingRate):
            self.learning_rate.steps = self.num_timesteps
        super()._update_learning_rate(optimizers)  # type: ignore[misc]

    def _setup_model(self) -> None:
        on_sets = issubclass(self.policy_class, (WinningSetsActorCriticPolicy, WinningSetsDQNPolicy))
        if on_sets and self.env is not None:
            game: Game | None = self.env.get_attr("game")[0] if self.env.has_attr("game") else None
            if game is None or self.env.observation_space.shape != (*game.shape, 2):
                raise ParameterError(
                    "WinningSetsPolicy needs environments of ttt_env.envs.sb3.make_vec_env "
                    'with observation="planes", the default'
                )
            options = {"game": game, **self.policy_kwargs}
            names = ("game", "width", "rounds")
            feature_options = {name: options.pop(name) for name in names if name in options}
            self.policy_kwargs = {
                "net_arch": [],
                "features_extractor_class": WinningSets,
                "features_extractor_kwargs": feature_options,
                **options,
            }
        super()._setup_model()  # type: ignore[misc]


class WinningSetsPPO(_WinningSetsMixin, MaskablePPO):
    """`sb3_contrib.MaskablePPO` that has the policy "WinningSetsPolicy", too."""

    policy_aliases = {  # noqa: RUF012 (as in the base class)
        **MaskablePPO.policy_aliases,
        "WinningSetsPolicy": WinningSetsActorCriticPolicy,
    }


class WinningSetsDQN(_WinningSetsMixin, MaskedDQN):
    """`MaskedDQN` that has the policy "WinningSetsPolicy", too."""

    policy_aliases = {**MaskedDQN.policy_aliases, "WinningSetsPolicy": WinningSetsDQNPolicy}  # noqa: RUF012
