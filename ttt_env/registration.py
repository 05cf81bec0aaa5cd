"""Environments by id: `make`, `make_vec`, Gymnasium's registry and PettingZoo's `module.env()`."""

import inspect
from typing import Any, Literal, overload

import gymnasium
from gymnasium.envs.registration import EnvSpec

from ttt_env.envs.observation import DictObservation, Planes
from ttt_env.envs.opponents import Opponents
from ttt_env.envs.single import SingleAgentEnv
from ttt_env.envs.two_player import TwoPlayerEnv
from ttt_env.envs.vector.env import VectorGameEnv
from ttt_env.errors import ParameterError
from ttt_env.rules.catalogue import CATALOGUE
from ttt_env.rules.game import Game

NAMESPACE = "ttt_env"
_ENTRY_POINT = "ttt_env.envs.single:SingleAgentEnv"
_SINGLE_AGENT_PARAMETERS = "play_as", "opponent_weights"
_VECTOR_ENTRY_POINT = "ttt_env.envs.vector.env:VectorGameEnv"


@overload
def make(
    id: Game | str, opponent: None = None, *, observation: Literal["dict"] = "dict", **kwargs: Any
) -> TwoPlayerEnv[DictObservation]: ...
@overload
def make(
    id: Game | str, opponent: None = None, *, observation: Literal["planes"], **kwargs: Any
) -> TwoPlayerEnv[Planes]: ...
@overload
def make(
    id: Game | str, opponent: Opponents, *, observation: Literal["planes"] = "planes", **kwargs: Any
) -> SingleAgentEnv[Planes]: ...
@overload
def make(
    id: Game | str, opponent: Opponents, *, observation: Literal["dict"], **kwargs: Any
) -> SingleAgentEnv[DictObservation]: ...
def make(
    id: Game | str, opponent: Opponents | None = None, **kwargs: Any
) -> TwoPlayerEnv[Any] | SingleAgentEnv[Any]:
    """The environment of a game: for two players without `opponent`, else for one player against it.

    `id` is the id of a game or a `Game`; `kwargs` are the parameters of the game (`m`, `n`, `k`, `misere`, …)
    and those of `TwoPlayerEnv` or `SingleAgentEnv`.

    Returns a `pettingzoo.AECEnv` with the agents "X" and "O", or a `gymnasium.Env`.

    Raises `UnknownGameError`, `UnknownAgentError`, and `ParameterError` for a parameter that does not
    exist, one that only an env with an opponent has, or a value that is not allowed.
    """
    _check_game_once(id, kwargs)
    if opponent is None:
        _check_needs_no_opponent(id, kwargs)
        return TwoPlayerEnv(id, **kwargs)
    env: SingleAgentEnv[Any] = SingleAgentEnv(id, opponent, **kwargs)
    env.spec = _spec(id, {**kwargs, "opponent": opponent})
    return env


@overload
def make_vec(
    id: Game | str,
    num_envs: int = 1,
    opponent: Opponents | None = "random",
    *,
    observation: Literal["planes"] = "planes",
    backend: Literal["numpy"] = "numpy",
    **kwargs: Any,
) -> VectorGameEnv[Planes]: ...
@overload
def make_vec(
    id: Game | str,
    num_envs: int = 1,
    opponent: Opponents | None = "random",
    *,
    observation: Literal["dict"],
    backend: Literal["numpy"] = "numpy",
    **kwargs: Any,
) -> VectorGameEnv[DictObservation]: ...
@overload
def make_vec(
    id: Game | str,
    num_envs: int = 1,
    opponent: Opponents | None = "random",
    *,
    backend: Literal["torch"],
    **kwargs: Any,
) -> Any: ...  # a `VectorGameEnv` of tensors: PyTorch, and so its types, may not be installed
def make_vec(
    id: Game | str, num_envs: int = 1, opponent: Opponents | None = "random", **kwargs: Any
) -> VectorGameEnv[Any]:
    """A batch of games as a `gymnasium.vector.VectorEnv`; with `opponent=None` both sides are stepped.

    `kwargs` are the parameters of the game and those of `VectorGameEnv`, among them `backend="torch"` and its
    `device`. Raises the errors of `make`, `GameTooLargeError` for a game of more than 64 cells, and
    `ImportError` for a back end whose extra is not installed.
    """
    _check_game_once(id, kwargs)
    envs: VectorGameEnv[Any] = VectorGameEnv(id, num_envs, opponent, **kwargs)
    of_vector = {"opponent": opponent, "num_envs": num_envs, "vectorization_mode": "vector_entry_point"}
    envs.spec = _spec(id, {**kwargs, **of_vector})
    return envs


def _check_game_once(id: Game | str, kwargs: dict[str, Any]) -> None:
    if "game" in kwargs:
        raise ParameterError(f"'game' is given twice, as {id!r} and as {kwargs['game']!r}")


def _check_needs_no_opponent(id: Game | str, kwargs: dict[str, Any]) -> None:
    """Raise `ParameterError` for a parameter that has no meaning where both players are stepped."""
    for name in filter(kwargs.__contains__, _SINGLE_AGENT_PARAMETERS):
        game = id if isinstance(id, str) else id.name
        raise ParameterError(
            f"{name}={kwargs[name]!r} needs an opponent, and none is given: "
            f"make({game!r}, opponent='random', {name}={kwargs[name]!r}) plays against one"
        )


def _spec(id: Game | str, kwargs: dict[str, Any]) -> EnvSpec:
    """The spec from which Gymnasium can make this env again."""
    name = id.partition(":")[0] if isinstance(id, str) else "game-v0"
    return EnvSpec(
        f"{NAMESPACE}/{name}",
        _ENTRY_POINT,
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"game": id, **kwargs},
        vector_entry_point=_VECTOR_ENTRY_POINT,
    )


def register_envs() -> None:
    """Register all games with Gymnasium, as `ttt_env/tictactoe-v0` and so on; `import ttt_env` does it."""
    for name in CATALOGUE:
        if f"{NAMESPACE}/{name}" not in gymnasium.registry:
            gymnasium.register(
                f"{NAMESPACE}/{name}",
                _ENTRY_POINT,
                kwargs={"game": name},
                vector_entry_point=_VECTOR_ENTRY_POINT,
            )


class PettingZooModule:
    """What PettingZoo users expect of `from package import game_v0`: the functions `env` and `raw_env`.

    Both are the same: the checks of PettingZoo's wrappers are built into the environment.
    """

    def __init__(self, id: str) -> None:
        self._id = id
        self.__doc__ = inspect.getdoc(CATALOGUE[id])

    @overload
    def env(
        self, *, observation: Literal["dict"] = "dict", **kwargs: Any
    ) -> TwoPlayerEnv[DictObservation]: ...
    @overload
    def env(self, *, observation: Literal["planes"], **kwargs: Any) -> TwoPlayerEnv[Planes]: ...
    def env(self, **kwargs: Any) -> TwoPlayerEnv[Any]:
        """The environment of two players, as `make` gives it."""
        env: TwoPlayerEnv[Any] = make(self._id, **kwargs)
        return env

    raw_env = env
