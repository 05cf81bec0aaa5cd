"""The vector environment as a `VecEnv` of Stable-Baselines3, which is imported when one is made."""

import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.envs.opponents import Opponents
from ttt_env.envs.vector.env import VectorGameEnv, rows_of
from ttt_env.errors import ParameterError
from ttt_env.kernels.codes import Games, Outcome
from ttt_env.rules.game import SEATS, Game

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs

Indices: TypeAlias = int | Iterable[int] | None
_NOTHING: dict[str, Any] = {}  # the info of every sub-env that goes on
_OF_EACH = ("position", "seat")


def make_vec_env(
    id: Game | str,
    n_envs: int = 1,
    seed: int | None = None,
    opponent: Opponents = "random",
    **kwargs: Any,
) -> "VecEnv":
    """`n_envs` games against an opponent as a `stable_baselines3.common.vec_env.VecEnv`.

    `kwargs` are those of `make_vec`, without `autoreset_mode`. `seed` is used by the first `reset`.

    Raises `ImportError` without the extra `train`.
    """
    if opponent is None:
        raise ParameterError("a VecEnv of SB3 has one player: it needs an opponent")
    if "autoreset_mode" in kwargs:
        raise ParameterError("SB3 resets in the same step: autoreset_mode cannot be chosen")
    if "backend" in kwargs:
        raise ParameterError("SB3 takes NumPy arrays: backend cannot be chosen")
    envs: VecEnv = __getattr__("GameVecEnv")(
        _Games(id, n_envs, opponent, autoreset_mode="same_step", **kwargs)
    )
    if seed is not None:
        envs.seed(seed)
    return envs


@cache
def __getattr__(name: str) -> Any:
    """`GameVecEnv`, made when first asked for, so that importing this module imports no SB3."""
    if name != "GameVecEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from stable_baselines3.common.vec_env import VecEnv
    except ImportError as error:
        raise ImportError('a VecEnv needs the extra "train": pip install "ttt-env[train]"') from error
    return type(name, (_Adapter, VecEnv), {"__module__": __name__, "__doc__": _Adapter.__doc__})


class _Games(VectorGameEnv[Any]):
    """Tells in `final_obs` the observations of the ended episodes alone, one after the other."""

    def _final(self, games: Games, outcome: Outcome) -> dict[str, Any]:
        return {"final_obs": self._observation(self._some(games, outcome.over.nonzero()[0]))}


class _Adapter:
    """SB3's view of a vector env that `make_vec_env` makes, which is the attribute `envs`.

    The infos of sub-envs that go on are one empty dict: read-only. The info of an episode's end has
    `terminal_observation`, `TimeLimit.truncated` (False), and `episode` with r, l, t as of a `Monitor`.
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

    def reset(self) -> "VecEnvObs":
        """The observations of new episodes; uses what `seed` and `set_options` have said, once."""
        seeds = [seed for seed in self._seeds if seed is not None]
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ParameterError("the options of the sub-envs differ: give all the same")
        observation: VecEnvObs = self.envs.reset(seed=seeds or None, options=options)[0]
        self._seeds = [None] * self.num_envs
        self._options = [{} for _ in range(self.num_envs)]
        self._lengths[:] = 0
        return observation

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> "tuple[VecEnvObs, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]":
        """Observations, rewards, dones, infos after the actions; new episodes have begun."""
        observation, rewards, over, _, told = self.envs.step(self._actions)
        self._lengths += 1
        infos = [_NOTHING] * self.num_envs
        ended = np.flatnonzero(over)
        if len(ended):
            self._tell_ends(infos, ended, rewards, told["final_obs"])
            self._lengths[ended] = 0
        return observation, rewards.astype(np.float32), over, infos

    def _tell_ends(
        self,
        infos: list[dict[str, Any]],
        ended: NDArray[np.intp],
        rewards: NDArray[np.float64],
        final: "VecEnvObs",
    ) -> None:
        """Write the infos of the episodes that have ended. All rewards before the last are 0."""
        seconds = round(time.time() - self._begin, 6)
        told = ended, rewards[ended], self._lengths[ended]
        for at, reward, length, observation in zip(
            *(part.tolist() for part in told), rows_of(final), strict=True
        ):
            infos[at] = {
                "terminal_observation": observation,
                "TimeLimit.truncated": False,
                "episode": {"r": reward, "l": length, "t": seconds},
            }

    def close(self) -> None:
        """Nothing is open."""
        self.envs.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """The boards as RGB pictures, with `render_mode="rgb_array"`."""
        pictures = self.envs.render() or [None] * self.num_envs
        return [None if isinstance(picture, str) else picture for picture in pictures]

    def has_attr(self, attr_name: str) -> bool:
        """Whether `get_attr` knows it."""
        return attr_name in _OF_EACH or hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """`position` and `seat` of the sub-envs; for other names the vector env's attribute, for each."""
        numbers = self._numbers(indices)
        if attr_name == "position":
            boards = self.envs.boards
            return [boards[at] for at in numbers]
        if attr_name == "seat":
            seats = self.envs.seats
            return [SEATS[seats[at]] for at in numbers]
        return [getattr(self.envs, attr_name)] * len(numbers)

    def set_attr(self, attr_name: str, value: object, indices: Indices = None) -> None:
        """Set an attribute of the vector env. Raises `ParameterError` for some of the sub-envs only."""
        self._need_all(attr_name, indices)
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """The masks of the sub-envs for `action_masks`; other methods are called once, for all of them.

        Raises `ParameterError` where these are wanted for some of the sub-envs only.
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
        return [indices] if isinstance(indices, int) else list(indices)

    def _need_all(self, name: str, indices: Indices) -> None:
        if sorted(self._numbers(indices)) != list(range(self.num_envs)):
            raise ParameterError(f"{name} is the same for all sub-envs: indices={indices!r} cannot be chosen")
