"""Models of Stable-Baselines3 and sb3-contrib as agents.

A model file holds pickled Python objects: loading one runs code, whatever its author wrote. So a file is
loaded only from a path that the user named. Load files that you trust, or turn a model into a table, which is
only numbers: `Lookup.of(agent).save(path)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zipfile import ZipFile

import numpy as np
from gymnasium import spaces

from ttt_env.agent import Agent, CellNumbers, Explanation, Floats, of_legal_cells
from ttt_env.agents.learned.network import by_cell
from ttt_env.analysis.induction import softmax
from ttt_env.envs.actions import Actions
from ttt_env.errors import FileError, ParameterError, UnknownAgentError, brief, extra_for
from ttt_env.rules import Boards, Game, Position, pack_masks
from ttt_env.storage import open_regular, reason

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy

_LIBRARIES = ("stable_baselines3", "sb3_contrib", "ttt_env")
_BATCH = 1 << 10  # positions whose layer outputs stay in the processor's cache
_MAX_BYTES = 1 << 32  # of the parts of a model file, unpacked


class SB3(Agent):
    """A model saved by Stable-Baselines3 or sb3-contrib, of any algorithm for discrete actions.

    Illegal cells are masked, whether or not the model was trained with masks. Loading a file runs the code in
    it: load only files that you trust.

    Args:
        game: The game, or its id.
        path: The model's `.zip` file.
        deterministic: True to play the likeliest cell, uniform among equals, as
            `model.predict(..., deterministic=True)` does; False to draw from the model's distribution (of a
            Q-network: the greedy cell in both cases).

    Raises:
        FileError: The file is not such a model, or one for another game.

    """

    is_stationary = True

    def __init__(self, game: Game | str, path: str, deterministic: bool = True) -> None:
        super().__init__(game)
        data, weights = _content(path)
        names = ("policy_class", "observation_space", "action_space")
        missing = [name for name in names if name not in data] + ["its weights"] * (weights is None)
        if missing:
            raise FileError(f"{path} is not a model of Stable-Baselines3: it lacks {', '.join(missing)}")
        observations, actions = data["observation_space"], data["action_space"]
        with _model_errors(path):
            # Checked before a network of any size is made for these spaces.
            _check_fits(path, self.game, data.get("game"), observations, actions)
            policy: BasePolicy = data["policy_class"](
                observations, actions, lambda _: 0.0, **data.get("policy_kwargs", {})
            )
            policy.load_state_dict(weights)
            is_finite = all(bool(numbers.isfinite().all()) for numbers in policy.state_dict().values())
        if not is_finite:
            raise FileError(f"{path} is not a model that plays: one of its weights is not finite")
        self._set_policy(policy, deterministic)

    @classmethod
    def from_model(cls, game: Game, model: BaseAlgorithm, deterministic: bool = True) -> Self:
        """The agent that plays as a live model does.

        Its policy is fixed as long as the model is not trained, so do not train during an analysis. `copy`
        gives an agent that does not change.

        Raises `FileError` for a model of another game; `ParameterError` for one that predicts by a
        method of its own, or from normalised observations, as this agent does not, and for one whose play
        depends on more than the position, such as a recurrent one.
        """
        agent = cls.__new__(cls)
        Agent.__init__(agent, game)
        policy = model.policy
        _check_method(model, "predict")
        normaliser = model.get_vec_normalize_env()
        if normaliser is not None and normaliser.norm_obs:
            raise ParameterError(
                f"{type(model).__name__} sees observations normalised by VecNormalize: train it with "
                "norm_obs=False (planes are 0 or 1), or give make_agent a function that normalises them"
            )
        if not _plays_by_position(policy):
            raise ParameterError(
                f"{type(model).__name__} gives no probabilities or values of the cells from the position "
                "alone, as MaskablePPO, PPO, A2C, TRPO, DQN and QR-DQN do"
            )
        trained_on, origin = getattr(model, "game", None), f"this {type(model).__name__}"
        _check_fits(origin, game, trained_on, policy.observation_space, policy.action_space)
        agent._set_policy(policy, deterministic)
        return agent

    def copy(self) -> Self:
        """The agent as it is now, which does not change when the model is trained."""
        old: Any = self.network
        policy = type(old)(**old._get_constructor_parameters())
        policy.load_state_dict(old.state_dict())
        copied = copy(self)
        copied._set_policy(policy, self._deterministic)
        return copied

    def _set_policy(self, policy: BasePolicy, deterministic: bool) -> None:
        _check_method(policy, "predict")
        _check_method(policy, "_predict")
        self.network, self._deterministic = policy, deterministic
        self.input_shape: tuple[int, ...] = _planes(policy.observation_space).shape
        """The shape in which the network sees the planes of a position."""
        actions: Any = policy.action_space
        self._actions = Actions(self.game, "cells" if actions.n == self.game.n_cells else "columns")

    @property
    def temperature(self) -> float:
        """The temperature at which it plays by the network's log-probabilities or action values."""
        return 0.0 if self._deterministic or self._has_values else 1.0

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        batches = [boards[i : i + _BATCH] for i in range(0, len(boards), _BATCH)]
        respond = softmax(self.temperature)
        return np.concatenate([respond(self._scores(batch), batch.legal) for batch in batches])

    @property
    def _has_values(self) -> bool:
        """True if the network gives action values, not probabilities."""
        return hasattr(self.network, "q_net") or hasattr(self.network, "quantile_net")

    def _explain(self, position: Position) -> Explanation:
        boards = Boards.of([position])
        scores = self._scores(boards)
        if self._has_values:
            numbers = CellNumbers("network’s action value", of_legal_cells(position, scores[0]))
        else:
            shares = softmax(1.0)(scores, boards.legal)[0]
            numbers = CellNumbers("network’s probability", of_legal_cells(position, shares), "chance")
        reason = f"The network gives {{cells}} the largest {numbers.meaning.partition(' ')[2]}."
        if not self._deterministic and not self._has_values:
            reason = "It draws from the network’s probabilities of the free cells."
        return self._policy_explanation(position, reason, numbers)

    def _scores(self, boards: Boards) -> Floats:
        """The log-probabilities of the model, or its action values, `[B, cells]`; not masked."""
        import torch

        policy: Any = self.network
        planes = boards.planes.reshape(len(boards), *self.input_shape)
        observation: Any = planes
        if isinstance(policy.observation_space, spaces.Dict):
            mask = self._actions.masks(pack_masks(boards.legal))
            observation = {"observation": planes, "action_mask": mask}
        policy.set_training_mode(False)
        with torch.no_grad():
            tensors, _ = policy.obs_to_tensor(observation)
            if hasattr(policy, "quantile_net"):
                scores = policy.quantile_net(tensors).mean(dim=1)
            elif hasattr(policy, "q_net"):
                scores = policy.q_net(tensors)
            else:
                scores = policy.get_distribution(tensors).distribution.logits
        array: Floats = scores.double().cpu().numpy()
        return by_cell(self.game, array)


def _check_method(owner: object, method: str) -> None:
    """Raise `ParameterError` if this method is not one of Stable-Baselines3 or its contrib package."""
    definer = next(kind for kind in type(owner).__mro__ if method in vars(kind))
    if method in vars(owner) or definer.__module__.partition(".")[0] not in _LIBRARIES:
        raise ParameterError(
            f"{type(owner).__name__} has a {method} of its own, and this agent plays by its network: give "
            "make_agent a function that calls predict, or an Agent"
        )


def _plays_by_position(policy: BasePolicy) -> bool:
    """True if the policy gives values or probabilities of the cells from one observation alone."""
    if hasattr(policy, "q_net") or hasattr(policy, "quantile_net"):
        return True
    if not hasattr(policy, "get_distribution"):
        return False
    ask: Any = policy.get_distribution
    parameters = signature(ask).parameters.values()
    return sum(each.default is each.empty for each in parameters) == 1


def agent_of(model: object, game: Game) -> SB3:
    """The agent that plays as a live model does, greedily and with masks; see `SB3.from_model`.

    `ttt_env.make_agent` passes all objects of Stable-Baselines3 to this function. Raises `UnknownAgentError`
    for one that is not a model, `FileError` for a model of another game.
    """
    from stable_baselines3.common.base_class import BaseAlgorithm  # the model's maker has imported it

    if not isinstance(model, BaseAlgorithm):
        raise UnknownAgentError(f"an agent is a model of Stable-Baselines3 itself, not {brief(model)}")
    return SB3.from_model(game, model)


def _check_fits(origin: str, game: Game, trained_on: object, observations: Any, actions: Any) -> None:
    """Raise `FileError` unless a model with these two spaces can play the game, and was trained on it.

    `trained_on` is the model's game, or anything else if the model does not say which.
    """
    if isinstance(trained_on, Game) and _rules(trained_on) != _rules(game):
        raise FileError(
            f"{origin} is a model for {trained_on.name}, not for {game.name}: "
            f"name its game (in a terminal, --game {trained_on.name})"
        )
    n_moves = int(actions.n) if isinstance(actions, spaces.Discrete) else None
    shape = _planes(observations).shape if isinstance(observations, spaces.Space) else None
    if n_moves not in (game.n_cells, len(game.columns)) or shape not in (
        (*game.shape, 2),
        (2 * game.n_cells,),
    ):
        raise FileError(
            f"{origin} is not a model for {game.name}: it sees {observations} and plays {actions}; "
            "name the game for which it was trained"
        )


def _planes(space: Any) -> Any:
    """The space of the board in an observation space."""
    return space["observation"] if isinstance(space, spaces.Dict) and "observation" in space.spaces else space


def _rules(game: Game) -> tuple[object, ...]:
    return game.shape, game.winning_sets, game.misere, game.supports


def _content(path: str) -> tuple[dict[str, Any], Any]:
    """The data of a model file about its model, and the weights of its policy."""
    try:  # checked before the slow import of its reader
        stream = open_regular(
            path if Path(path).exists() else f"{path}.zip"
        )  # as Stable-Baselines3 names files
    except OSError as error:
        raise FileError(f"{path} is not a model: {reason(error)}") from error
    with stream:
        with extra_for("sb3 agents need", "train"):
            from stable_baselines3.common.save_util import load_from_zip_file
        with _model_errors(path), ZipFile(stream) as zipped:
            size = sum(part.file_size for part in zipped.infolist())
        if size > _MAX_BYTES:
            raise FileError(f"{path} is not a model: it holds {size:,} bytes, of at most {_MAX_BYTES:,}")
        stream.seek(0)
        with _model_errors(path):
            data, parameters, _ = load_from_zip_file(stream, device="cpu")  # type: ignore[arg-type]
            return dict(data or {}), parameters.get("policy")


@contextmanager
def _model_errors(path: str) -> Iterator[None]:
    """Turn every exception into a `FileError` of the file: the objects in it may raise anything."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        raise FileError(f"{path} is not a model of Stable-Baselines3: {reason(error)}") from error
