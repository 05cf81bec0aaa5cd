"""The vector environment as a `VecEnv` of Stable-Baselines3, which is imported on first use."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import AgentLike
from ttt_env.compiled.codes import Games, StepOutcome
from ttt_env.envs.vector.env import VectorGameEnv, rows_of
from ttt_env.errors import ParameterError, brief, extra_for
from ttt_env.rules import Between, Game, as_integer, as_options, checked
from ttt_env.rules.sizes import ENVS

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs

Indices: TypeAlias = int | Iterable[int] | None
_NO_INFO: dict[str, Any] = {}  # the info of every sub-env whose episode is not over
# Attributes that each sub-env has for itself.
_PER_SUB_ENV = ("position", "seat", "opponent", "observation_space", "action_space")


def make_vec_env(
    id: Game | str,
    n_envs: int = 1,
    seed: int | None = None,
    opponent: AgentLike | Sequence[AgentLike] = "random",
    env_kwargs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> VecEnv:
    """Make many games against an opponent, for the algorithms of Stable-Baselines3.

    Args:
        id: The game, or its id.
        n_envs: The number of games.
        seed: The seed of the first `reset`; sub-env `i` gets `seed` + i.
        opponent: An agent, or a list of agents from which one is drawn for each episode.
        env_kwargs: Arguments of `make_vec`, with `opponent`, as a mapping, as in SB3's own `make_vec_env`.
        **kwargs: Arguments of `make_vec`, such as `play_as`, `illegal`, `rewards`, `observation` and `start`;
            not `autoreset_mode`, as SB3 resets in the same step.

    Returns:
        A `stable_baselines3.common.vec_env.VecEnv`.

    Raises:
        ImportError: The extra `train` is not installed.
        ParameterError: An argument does not exist or has an invalid value.

    Example:
        >>> import ttt_env
        >>> envs = ttt_env.envs.sb3.make_vec_env("tictactoe-v0", n_envs=4, env_kwargs={"play_as": "X"})
        >>> envs.reset().shape, envs.get_attr("observation_space")[0].shape
        ((4, 3, 3, 2), (3, 3, 2))

    """
    as_integer("n_envs", n_envs, "make_vec_env", 1, ENVS)
    settings = {"opponent": opponent, **(env_kwargs or {}), **kwargs}
    if "num_envs" in settings:
        raise ParameterError("unknown parameter 'num_envs' of make_vec_env: did you mean n_envs?")
    if settings["opponent"] is None:
        raise ParameterError("a VecEnv of SB3 has one player: it needs an opponent")
    if "autoreset_mode" in settings:
        raise ParameterError("SB3 resets in the same step: autoreset_mode cannot be chosen")
    envs: VecEnv = __getattr__("GameVecEnv")(
        _VectorEnvOfSB3(id, n_envs, autoreset_mode="same_step", **settings)
    )
    if seed is not None:
        envs.seed(seed)
    return envs


@cache
def __getattr__(name: str) -> Any:
    """`GameVecEnv`, made on first use, so that importing this module does not import SB3."""
    if name != "GameVecEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with extra_for("a VecEnv needs", "train"):
        from stable_baselines3.common.vec_env import VecEnv
    return type(name, (_Adapter, VecEnv), {"__module__": __name__, "__doc__": _Adapter.__doc__})


class _VectorEnvOfSB3(VectorGameEnv[Any]):
    """The vector env behind a `VecEnv`, whose `final_obs` has only the rows of the ended episodes."""

    def _final(self, games: Games, outcome: StepOutcome) -> dict[str, Any]:
        return {"final_obs": self._observation(self._take_games(games, outcome.over.nonzero()[0]))}


class _Adapter:
    """The `VecEnv` that `make_vec_env` returns; its attribute `envs` is the underlying vector env.

    Until an episode is over its info is one shared empty dict: do not write to it. The info of the end has
    `terminal_observation`, `TimeLimit.truncated` (False), and `episode` with r, l, t as from a `Monitor`.
    """

    _seeds: list[int | None]
    _options: list[dict[str, Any]]
    num_envs: int
    render_mode: str | None

    def __init__(self, envs: VectorGameEnv[Any]) -> None:
        self.envs = envs
        self._begin = time.time()
        self._lengths = np.zeros(envs.num_envs, np.int64)
        self._actions: NDArray[np.int64] = np.empty(0, np.int64)
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)  # type: ignore[call-arg]

    @checked
    def seed(self, seed: Annotated[int, Between(0)] | None = None) -> Sequence[int | None]:
        """Seed the next `reset`, sub-env `i` with `seed` + i as in SB3; None draws one. Returns the seeds."""
        seeds: Sequence[int | None] = super().seed(seed)  # type: ignore[misc]
        return seeds

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set the options of the next `reset` by one dict, or by an equal one for each sub-env."""
        of_each = options if isinstance(options, list) else [options] * self.num_envs
        if len(of_each) != self.num_envs:
            raise ParameterError(f"{len(of_each)} options for {self.num_envs} sub-envs: one for each, or one")
        self._options = [dict(as_options(one, "VecEnv.set_options")) for one in of_each]

    def reset(self) -> VecEnvObs:
        """Start an episode in all sub-envs, with the seeds and options set before, which are used once."""
        seeds = [seed for seed in self._seeds if seed is not None]
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ParameterError("the options of the sub-envs differ: all need the same ones")
        observation: VecEnvObs = self.envs.reset(seed=seeds or None, options=options)[0]
        self._seeds = [None] * self.num_envs
        self._options = [{} for _ in range(self.num_envs)]
        self._lengths[:] = 0
        return observation

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[VecEnvObs, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """The observations, rewards, dones and infos after the actions; ended episodes are reset."""
        observation, rewards, over, _, info = self.envs.step(self._actions)
        self._lengths += 1
        infos = [_NO_INFO] * self.num_envs
        ended = np.flatnonzero(over)
        if len(ended):
            seconds = round(time.time() - self._begin, 6)
            columns = ended.tolist(), rewards[ended].tolist(), self._lengths[ended].tolist()
            for at, reward, length, final in zip(*columns, rows_of(info["final_obs"]), strict=True):
                infos[at] = {
                    "terminal_observation": final,
                    "TimeLimit.truncated": False,
                    # The return is the last reward: all others are 0.
                    "episode": {"r": reward, "l": length, "t": seconds},
                }
            self._lengths[ended] = 0
        return observation, rewards.astype(np.float32), over, infos

    def close(self) -> None:
        """Close the vector env."""
        self.envs.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """The boards as RGB pictures, with `render_mode="rgb_array"`."""
        pictures = self.envs.render() or [None] * self.num_envs
        return [None if isinstance(picture, str) else picture for picture in pictures]

    def has_attr(self, attr_name: str) -> bool:
        """True if `get_attr` knows this attribute."""
        return attr_name in _PER_SUB_ENV or hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """The attribute of each sub-env; all but `position`, `seat`, `opponent` and the spaces are shared."""
        numbers = self._numbers(indices)
        if attr_name in _PER_SUB_ENV:
            of_each = self.envs.get_attr(attr_name)
            return [of_each[at] for at in numbers]
        return [getattr(self.envs, attr_name)] * len(numbers)

    def set_attr(self, attr_name: str, value: object, indices: Indices = None) -> None:
        """Set an attribute of the vector env.

        Raises `ParameterError` if it cannot be set, or `indices` are not all sub-envs.
        """
        self._need_all(attr_name, indices)
        self.envs.set_attr(attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """The masks of the sub-envs for `action_masks`; any other method is called once, for all of them.

        Raises `ParameterError` if such a method is called for only some of the sub-envs.
        """
        if method_name == "action_masks":
            masks = self.envs.action_masks()
            return list(masks if indices is None else masks[self._numbers(indices)])
        self._need_all(method_name, indices)
        return [getattr(self.envs, method_name)(*args, **kwargs)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """True for `Monitor`, whose `episode` is in the infos; False for other wrappers."""
        from stable_baselines3.common.monitor import Monitor

        return [issubclass(wrapper_class, Monitor)] * len(self._numbers(indices))

    def _numbers(self, indices: Indices) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        numbers = [indices] if isinstance(indices, int) else list(indices)
        if not all(0 <= number < self.num_envs for number in numbers):
            raise ParameterError(f"indices={brief(indices)}: sub-envs 0 to {self.num_envs - 1}")
        return numbers

    def _need_all(self, name: str, indices: Indices) -> None:
        if sorted(self._numbers(indices)) != list(range(self.num_envs)):
            raise ParameterError(f"{name} is the same for all sub-envs: indices={indices!r} cannot be chosen")
