"""Environments by id: `make`, `make_vec`, the registries of Gymnasium and PettingZoo, and `module.env()`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import gymnasium
import pettingzoo
from gymnasium.envs.registration import EnvSpec
from pettingzoo import ParallelEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper

from ttt_env.agent import AgentLike
from ttt_env.envs.observation import DictObservation, Flat, Planes
from ttt_env.envs.single import SingleAgentEnv
from ttt_env.envs.two_player import TwoPlayerEnv
from ttt_env.envs.vector.env import VectorGameEnv
from ttt_env.errors import EpisodeOrderError, ParameterError, brief
from ttt_env.rules import BOARD_CELLS, CATALOGUE, Game, checked, get_game, parameters_of_game

NAMESPACE = "ttt_env"
_ENTRY_POINT = "ttt_env.envs.single:SingleAgentEnv"
_SINGLE_AGENT_PARAMETERS = "play_as", "opponent_weights"
_VECTOR_ENTRY_POINT = "ttt_env.envs.registration:registered_vector_env"

Api = Literal["aec", "parallel"]
"""PettingZoo's two interfaces for two players."""


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
    id: Game | str, opponent: None = None, *, observation: Literal["flat"], **kwargs: Any
) -> TwoPlayerEnv[Flat]: ...
@overload
def make(
    id: Game | str, opponent: None = None, *, api: Literal["parallel"], **kwargs: Any
) -> ParallelEnv[str, Any, Any]: ...
@overload
def make(
    id: Game | str,
    opponent: AgentLike | Sequence[AgentLike],
    *,
    observation: Literal["planes"] = "planes",
    **kwargs: Any,
) -> SingleAgentEnv[Planes]: ...
@overload
def make(
    id: Game | str, opponent: AgentLike | Sequence[AgentLike], *, observation: Literal["dict"], **kwargs: Any
) -> SingleAgentEnv[DictObservation]: ...
@overload
def make(
    id: Game | str, opponent: AgentLike | Sequence[AgentLike], *, observation: Literal["flat"], **kwargs: Any
) -> SingleAgentEnv[Flat]: ...
@checked
def make(
    id: Game | str,
    opponent: AgentLike | Sequence[AgentLike] | None = None,
    *,
    api: Api = "aec",
    **kwargs: Any,
) -> TwoPlayerEnv[Any] | ParallelEnv[str, Any, Any] | SingleAgentEnv[Any]:
    """Make the environment of a game, for one player against an agent or for two players.

    Args:
        id: The game, or its id.
        opponent: An agent, or a list of agents from which one is drawn for each episode. Without it, you
            step both players.
        api: With two players, `"aec"` for PettingZoo's turn-based interface, or `"parallel"` for the one in
            which both agents act in each step, and the action of the agent that is not to move is ignored.
        **kwargs: Parameters of the game (`m`, `n`, `k`, `misere`, …), and of `SingleAgentEnv` or
            `TwoPlayerEnv`:

            - `illegal`: the effect of a taken cell: "lose" (the default), "raise" or "resample"
            - `rewards`: the rewards for win, draw, loss and an illegal move
            - `observation`: "planes" (the default with an opponent), "dict" (for two players) or "flat"
            - `start`: the first position of each episode, or a function that draws one
            - `actions`: "columns" (the default, for games with gravity) or "cells"
            - `render_mode`: "ansi", "rgb_array" or "human"
            - `play_as`, with an opponent: your seat, "X", "O", "random" (the default) or "alternate"
            - `opponent_weights`, with an opponent: how often each agent of a list is drawn
            - `agent_names`, for two players: the names of the two agents, by default "X" and "O"

    Returns:
        A `gymnasium.Env` with an opponent; else a `pettingzoo.AECEnv` or a `pettingzoo.ParallelEnv`.

    Raises:
        UnknownGameError: There is no game with this id.
        UnknownAgentError: There is no agent with this name.
        ParameterError: A parameter does not exist, needs an opponent, or has an invalid value.
        GameError: There is no such game, such as m,n,k with k above m and n.
        GameTooLargeError: The opponent needs all positions of the game, which are too many.

    Example:
        >>> env = make("tictactoe-v0", opponent="minimax", play_as="X")
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape, info["seat"], info["action_mask"].tolist()
        ((3, 3, 2), 0, [1, 1, 1, 1, 1, 1, 1, 1, 1])
        >>> observation, reward, terminated, truncated, info = env.step(4)
        >>> reward, terminated, sum(info["action_mask"].tolist())
        (0.0, False, 7)

    """
    _check_game_once(id, kwargs)
    if opponent is None:
        for name in filter(kwargs.__contains__, _SINGLE_AGENT_PARAMETERS):
            game = getattr(id, "name", id)
            raise ParameterError(
                f"{name}={brief(kwargs[name])} needs an opponent, and none is given: "
                f"make({brief(game)}, opponent='random', {name}={brief(kwargs[name])}) plays against one"
            )
        env_for_two: TwoPlayerEnv[Any] = TwoPlayerEnv(id, **kwargs)
        is_parallel = api == "parallel"
        return _TwoPlayerParallelEnv(env_for_two) if is_parallel else env_for_two
    if api != "aec":
        raise ParameterError(f"api={brief(api)} is for two players: it takes no opponent")
    env: SingleAgentEnv[Any] = SingleAgentEnv(id, opponent, **kwargs)
    env.spec = _spec(id, env.game, {**kwargs, "opponent": opponent})
    return env


@overload
def make_vec(
    id: Game | str,
    num_envs: int = 1,
    opponent: AgentLike | Sequence[AgentLike] | None = "random",
    *,
    observation: Literal["planes"] = "planes",
    **kwargs: Any,
) -> VectorGameEnv[Planes]: ...
@overload
def make_vec(
    id: Game | str,
    num_envs: int = 1,
    opponent: AgentLike | Sequence[AgentLike] | None = "random",
    *,
    observation: Literal["dict"],
    **kwargs: Any,
) -> VectorGameEnv[DictObservation]: ...
@overload
def make_vec(
    id: Game | str,
    num_envs: int = 1,
    opponent: AgentLike | Sequence[AgentLike] | None = "random",
    *,
    observation: Literal["flat"],
    **kwargs: Any,
) -> VectorGameEnv[Flat]: ...
def make_vec(
    id: Game | str,
    num_envs: int = 1,
    opponent: AgentLike | Sequence[AgentLike] | None = "random",
    **kwargs: Any,
) -> VectorGameEnv[Any]:
    """Make a batch of games that are stepped together, as a `gymnasium.vector.VectorEnv`.

    Args:
        id: The game, or its id.
        num_envs: The number of games, B.
        opponent: An agent, or a list of agents from which one is drawn for each episode; None to step both
            players.
        **kwargs: Parameters of the game (`m`, `n`, `k`, `misere`, …), and of `VectorGameEnv`: those of `make`
            with an opponent, except `render_mode="human"`, and `autoreset_mode`, as in Gymnasium: "next_step"
            (the default), "same_step" or "disabled".

    Returns:
        The environment, with observations `[B, rows, columns, 2]` and masks `[B, actions]`.

    Raises:
        UnknownGameError: There is no game with this id.
        UnknownAgentError: There is no agent with this name.
        ParameterError: A parameter does not exist, or has an invalid value.

    Example:
        >>> envs = make_vec("tictactoe-v0", num_envs=4, opponent="random", play_as="X")
        >>> observations, infos = envs.reset(seed=0)
        >>> observations.shape, infos["action_mask"].shape
        ((4, 3, 3, 2), (4, 9))
        >>> observations, rewards, terminated, truncated, infos = envs.step([4, 4, 4, 4])
        >>> rewards.tolist()
        [0.0, 0.0, 0.0, 0.0]

    """
    _check_game_once(id, kwargs)
    envs: VectorGameEnv[Any] = VectorGameEnv(id, num_envs, opponent, **kwargs)
    of_vector = {"opponent": opponent, "num_envs": num_envs, "vectorization_mode": "vector_entry_point"}
    envs.spec = _spec(id, envs.game, {**kwargs, **of_vector})
    return envs


class _TwoPlayerParallelEnv(turn_based_aec_to_parallel_wrapper):  # type: ignore[misc]
    """PettingZoo's wrapper, with our errors for steps out of order and a missing action of the mover."""

    agents: Sequence[str] = ()  # until the first reset

    def step(self, actions: Any) -> Any:
        if not self.agents:
            raise EpisodeOrderError("step() before reset(), or after the end of the episode: call reset()")
        mover = self.aec_env.agent_selection
        if not isinstance(actions, Mapping) or mover not in actions:
            raise ParameterError(f"actions={brief(actions)}: expected a dict with an action of {mover}")
        return super().step(actions)


def _check_game_once(id: Game | str, kwargs: dict[str, Any]) -> None:
    if "game" in kwargs:
        raise ParameterError(f"'game' is given twice, as {brief(id)} and as {brief(kwargs['game'])}")


def _spec(id: Game | str, game: Game, kwargs: dict[str, Any]) -> EnvSpec:
    """The spec from which Gymnasium can make this env again."""
    name = id.partition(":")[0] if isinstance(id, str) else "game-v0"
    return EnvSpec(
        f"{NAMESPACE}/{name}",
        _ENTRY_POINT,
        max_episode_steps=game.n_cells,
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"game": id, **kwargs},
        vector_entry_point=_VECTOR_ENTRY_POINT,
    )


def registered_vector_env(*, max_episode_steps: int | None = None, **kwargs: Any) -> VectorGameEnv[Any]:
    """The vector env for Gymnasium's `make_vec`, which passes `max_episode_steps` of the spec.

    No episode is truncated. Raises `ParameterError` if `max_episode_steps` would do so.
    """
    envs: VectorGameEnv[Any] = VectorGameEnv(**kwargs)
    if max_episode_steps is not None and max_episode_steps < envs.game.n_cells:
        raise ParameterError(
            f"max_episode_steps={max_episode_steps}: no episode of a vector env is truncated, and one of "
            f"{envs.game.name} may have {envs.game.n_cells} moves"
        )
    return envs


def register_envs() -> None:
    """Register all games, as `ttt_env/tictactoe-v0` and so on; `import ttt_env` does it.

    Gymnasium gets the envs with an opponent, PettingZoo (1.27 or newer) the envs for two players.
    """
    for name in CATALOGUE:
        if f"{NAMESPACE}/{name}" not in gymnasium.registry:
            has_one_size = parameters_of_game(name).keys() <= {"misere"}
            gymnasium.register(
                f"{NAMESPACE}/{name}",
                _ENTRY_POINT,
                max_episode_steps=get_game(name).n_cells if has_one_size else BOARD_CELLS,
                kwargs={"game": name},
                vector_entry_point=_VECTOR_ENTRY_POINT,
            )
        module, (stem, _, version) = PettingZooModule(name), name.rpartition("-")
        for api, entry_point in (("aec", module.env), ("parallel", module.parallel_env)):
            # PettingZoo takes connect_four_v0 for connect_four-v0.
            for id in dict.fromkeys(
                (f"{NAMESPACE}/{name}", f"{NAMESPACE}/{stem.replace('-', '_')}-{version}")
            ):
                if id not in getattr(pettingzoo, f"{api}_registry", [id]):
                    pettingzoo.register(api, id, entry_point)


class PettingZooModule:
    """A module in PettingZoo's convention, with the functions `env`, `raw_env` and `parallel_env`.

    `env` and `raw_env` are the same, as the checks of PettingZoo's wrappers are built into the environment.

    Args:
        id: The id of a game.

    Example:
        >>> from ttt_env import mnk_v0
        >>> env = mnk_v0.env(m=4, n=3, k=3)
        >>> env.reset(seed=0)
        >>> env.agent_selection, len(env.position.legal_cells)
        ('X', 12)

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
    @overload
    def env(self, *, observation: Literal["flat"], **kwargs: Any) -> TwoPlayerEnv[Flat]: ...
    def env(self, **kwargs: Any) -> TwoPlayerEnv[Any]:
        """Make the environment for two players.

        Args:
            **kwargs: The arguments of `make` without an opponent.

        """
        env: TwoPlayerEnv[Any] = make(self._id, **kwargs)
        return env

    raw_env = env

    def parallel_env(self, **kwargs: Any) -> ParallelEnv[str, Any, Any]:
        """Make the environment for two players who act in each step.

        Args:
            **kwargs: The arguments of `make` with `api="parallel"`.

        """
        return make(self._id, api="parallel", **kwargs)
