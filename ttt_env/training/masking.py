"""A2C, DQN and QR-DQN with action masks: taken cells are never explored, chosen, or used in a target.

The observation of this package's environments shows which cells are taken, so a network can mask by what it
sees, and the buffers of Stable-Baselines3 stay as they are. All are for observations of the kind "planes".
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import extra_for

with extra_for("masked algorithms need", "train"):
    import torch
    from sb3_contrib import QRDQN
    from sb3_contrib.qrdqn.policies import QRDQNPolicy, QuantileNetwork
    from stable_baselines3 import A2C, DQN
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import DQNPolicy, QNetwork

_TAKEN = -1e6  # below every value, and finite: where an episode has ended, DQN multiplies it by 0


def _is_taken(planes: Any) -> Any:
    """True where a cell has a stone, `[B, cells]`, in observations `[B, *shape, 2]`: arrays or tensors."""
    return planes.reshape(planes.shape[0], -1, 2).any(-1)


class MaskedActorCriticPolicy(ActorCriticPolicy):
    """An `ActorCriticPolicy` that gives taken cells no probability; for PPO, A2C, TRPO."""

    def forward(self, obs: Any, deterministic: bool = False) -> Any:  # noqa: D102
        self._taken = _is_taken(obs)
        return super().forward(obs, deterministic)

    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> Any:  # noqa: D102
        self._taken = _is_taken(obs)
        return super().evaluate_actions(obs, actions)

    def get_distribution(self, obs: Any) -> Any:  # noqa: D102
        self._taken = _is_taken(obs)
        return super().get_distribution(obs)

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Any:
        logits = self.action_net(latent_pi).masked_fill(self._taken, _TAKEN)
        return self.action_dist.proba_distribution(action_logits=logits)


class MaskedQNetwork(QNetwork):
    """Action values `[B, cells]`, far below all others on taken cells."""

    def forward(self, obs: Any) -> torch.Tensor:  # noqa: D102
        return super().forward(obs).masked_fill(_is_taken(obs), _TAKEN)


class MaskedQuantileNetwork(QuantileNetwork):
    """Quantiles of action values `[B, quantiles, cells]`, far below all others on taken cells."""

    def forward(self, obs: Any) -> torch.Tensor:  # noqa: D102
        return super().forward(obs).masked_fill(_is_taken(obs)[:, None], _TAKEN)


class MaskedDQNPolicy(DQNPolicy):
    """A `DQNPolicy` of masked networks."""

    network_class: type[MaskedQNetwork] = MaskedQNetwork

    def make_q_net(self) -> QNetwork:  # noqa: D102
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return self.network_class(**arguments).to(self.device)


class MaskedQRDQNPolicy(QRDQNPolicy):
    """A `QRDQNPolicy` of masked networks."""

    def make_quantile_net(self) -> QuantileNetwork:  # noqa: D102
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskedQuantileNetwork(**arguments).to(self.device)


class _MaskedExploration:
    """Epsilon-greedy exploration among the free cells, independent for each environment."""

    policy: Any
    exploration_rate: float
    num_timesteps: int
    _last_obs: Any

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[NDArray[np.int64], Any]:
        """The greedy cells; unless `deterministic`, each is a random free cell with the exploration rate."""
        cells, _ = self.policy.predict(observation, deterministic=True)
        if deterministic or not self.exploration_rate:
            return cells, state
        batch = np.reshape(observation, (-1, *self.policy.observation_space.shape))
        explored = self._epsilon_greedy(batch, self.exploration_rate, np.reshape(cells, -1))
        return explored.reshape(np.shape(cells)), state

    def _sample_action(
        self, learning_starts: int, action_noise: object = None, n_envs: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The actions of a rollout, for SB3: random ones in the first `learning_starts` steps."""
        if self.num_timesteps < learning_starts:
            cells = self._epsilon_greedy(self._last_obs, 1.0, np.zeros(n_envs, np.int64))
        else:
            cells, _ = self.predict(self._last_obs)
        return cells, cells

    def _epsilon_greedy(self, planes: Any, rate: float, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        # SB3 seeds NumPy's global generator, and draws its own exploration from it.
        free = ~_is_taken(planes)
        random_cells = np.where(free, np.random.random_sample(free.shape), -1.0).argmax(axis=1)
        return np.where(np.random.random_sample(len(cells)) < rate, random_cells, cells)


class MaskedA2C(A2C):
    """`stable_baselines3.A2C` on the free cells."""

    policy_aliases = {"MlpPolicy": MaskedActorCriticPolicy}  # noqa: RUF012 (as in the base class)


class MaskedDQN(_MaskedExploration, DQN):
    """`stable_baselines3.DQN` on the free cells."""

    policy_aliases = {"MlpPolicy": MaskedDQNPolicy}  # noqa: RUF012


class MaskedQRDQN(_MaskedExploration, QRDQN):
    """`sb3_contrib.QRDQN` on the free cells."""

    policy_aliases = {"MlpPolicy": MaskedQRDQNPolicy}  # noqa: RUF012
