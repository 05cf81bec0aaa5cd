"""Models of Stable-Baselines3 and sb3-contrib as agents.

A model file holds pickled Python objects: loading one runs code. Load files that you trust, or turn
a model into a table, which is only numbers: `Lookup.of(agent).save(path)`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zipfile import BadZipFile

import numpy as np
from gymnasium import spaces

from ttt_env.agent import BatchAgent, Floats
from ttt_env.envs.observation import planes_of
from ttt_env.errors import PolicyFileError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import check_size

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy

_BATCH = 1 << 14


class SB3(BatchAgent):
    """A model that Stable-Baselines3 or sb3-contrib has saved, of any algorithm for discrete actions.

    Illegal cells are masked, whether the model was trained with masks or not. `deterministic` plays
    the likeliest cell, as `model.predict(..., deterministic=True)` does (uniform among equals); otherwise
    the policy is the model's distribution (of a Q-network: the greedy cell in both cases).

    Raises `PolicyFileError` for a file that is no such model, or one of another game.
    """

    is_fixed = True

    def __init__(self, game: Game, path: str, deterministic: bool = True) -> None:
        super().__init__(game)
        policy, trained_on = _load(Path(path))
        if trained_on and _rules(trained_on) != _rules(game):
            raise PolicyFileError(f"{path} is a model for {trained_on.name}, not for {game.name}")
        self._set_model(policy, deterministic, path)

    @classmethod
    def from_model(cls, game: Game, model: "BaseAlgorithm", deterministic: bool = True) -> Self:
        """The agent that plays as this model does now; it changes as the model is trained."""
        made = cls.__new__(cls)
        BatchAgent.__init__(made, game)
        made._set_model(model.policy, deterministic, repr(model))
        return made

    def copy(self) -> Self:
        """The agent as it is now: it does not change as the model is trained."""
        old: Any = self._policy
        policy = type(old)(**old._get_constructor_parameters())
        policy.load_state_dict(old.state_dict())
        made = type(self).__new__(type(self))
        BatchAgent.__init__(made, self.game)
        made._policy, made._deterministic, made._shape = policy, self._deterministic, self._shape
        return made

    def _set_model(self, policy: "BasePolicy", deterministic: bool, origin: str) -> None:
        check_size(self.game)
        space = policy.observation_space
        planes = space["observation"] if isinstance(space, spaces.Dict) else space
        actions = policy.action_space
        if not (
            isinstance(actions, spaces.Discrete)
            and actions.n == self.game.n_cells
            and planes.shape in ((*self.game.shape, 2), (2 * self.game.n_cells,))
        ):
            raise PolicyFileError(
                f"{origin} is no model for {self.game.name}: it sees {space} and plays {actions}"
            )
        self._policy, self._deterministic, self._shape = policy, deterministic, planes.shape

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        batches = [boards[i : i + _BATCH] for i in range(0, len(boards), _BATCH)]
        return np.concatenate([self._masked(batch) for batch in batches])

    def _masked(self, boards: Boards) -> Floats:
        scores = np.where(boards.legal, self._scores(boards), 0.0)
        # A model may give all its probability to taken cells.
        scores = np.where(scores.any(axis=1, keepdims=True), scores, boards.legal)
        if self._deterministic:
            scores = scores == scores.max(axis=1, keepdims=True)
        masked: Floats = scores / scores.sum(axis=1, keepdims=True)
        return masked

    def _scores(self, boards: Boards) -> Floats:
        """Probabilities, or of a Q-network the greedy cell's, `[B, cells]`; illegal cells count too."""
        import torch

        planes = planes_of(boards).reshape(len(boards), *self._shape)
        observation: Any = planes
        if isinstance(self._policy.observation_space, spaces.Dict):
            observation = {"observation": planes, "action_mask": boards.legal.astype(np.int8)}
        with torch.no_grad():
            tensors, _ = self._policy.obs_to_tensor(observation)
            scores: Floats = self._forward(tensors, boards).double().cpu().numpy()
        return scores

    def _forward(self, tensors: Any, boards: Boards) -> Any:
        policy: Any = self._policy
        policy.set_training_mode(False)
        if hasattr(policy, "quantile_net"):
            return _greedy(policy.quantile_net(tensors).mean(dim=1), boards)
        if hasattr(policy, "q_net"):
            return _greedy(policy.q_net(tensors), boards)
        if "Maskable" in type(policy).__name__:
            return policy.get_distribution(tensors, action_masks=boards.legal).distribution.probs
        return policy.get_distribution(tensors).distribution.probs


def _greedy(q: Any, boards: Boards) -> Any:
    """Action values as scores above 0 for the best legal cells and 0 for the others."""
    import torch

    legal = torch.as_tensor(boards.legal, device=q.device)
    best = torch.where(legal, q, -torch.inf)
    return (best == best.max(dim=1, keepdim=True).values).double()


def _rules(game: Game) -> tuple[object, ...]:
    return game.shape, game.winning_sets, game.misere


def _load(path: Path) -> tuple["BasePolicy", Game | None]:
    """The policy network of a model file, whatever its algorithm, and its game if the file says which."""
    try:
        from stable_baselines3.common.save_util import load_from_zip_file
    except ImportError as error:
        raise ImportError('sb3 agents need the extra "train": pip install "ttt-env[train]"') from error
    try:
        loaded, parameters, _ = load_from_zip_file(path, device="cpu")
        data: dict[str, Any] = loaded or {}
        policy: BasePolicy = data["policy_class"](
            data["observation_space"], data["action_space"], lambda _: 0.0, **data.get("policy_kwargs", {})
        )
        weights: Any = parameters["policy"]
        policy.load_state_dict(weights)
    except FileNotFoundError as error:
        raise PolicyFileError(f"{path} is no model: there is no such file") from error
    except (OSError, ValueError, KeyError, TypeError, AssertionError, RuntimeError, BadZipFile) as error:
        raise PolicyFileError(f"{path} is no model of Stable-Baselines3: {error}") from error
    return policy, data.get("game")
