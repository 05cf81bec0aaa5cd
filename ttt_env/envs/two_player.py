"""The two-player environment: a PettingZoo AEC env, and a whole episode of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Generic, Literal, NamedTuple, SupportsIndex, TypedDict, overload

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from ttt_env.agent import AgentLike, make_agent
from ttt_env.envs.actions import ActionKind
from ttt_env.envs.board import DEFAULT_REWARDS, BoardEnv, Illegal, RenderMode, StartLike
from ttt_env.envs.observation import ObservationKind, Observed, flat_of, observation_space
from ttt_env.errors import EpisodeOrderError, IllegalMoveError, ParameterError, brief
from ttt_env.rules import SEATS, Game, as_integer, as_options, checked, one_of

_RESET = "call reset()"


class MaskInfo(TypedDict):
    """The `info` of an agent, with the legal actions, `int8[actions]`; all 0 if it is not selected."""

    action_mask: NDArray[np.int8]


class TwoPlayerEnv(BoardEnv, AECEnv[str, Observed, SupportsIndex | None], Generic[Observed]):
    """A game of two players, as a PettingZoo AEC environment.

    The checks of PettingZoo's wrappers (order of calls, illegal moves, actions out of bounds) are built in,
    so that no wrapper slows it down. Masks, in `infos`, in observations and from `action_masks`, are as in
    PettingZoo's tic-tac-toe: 1 on the free cells for the selected agent, 0 for the other; also after the end,
    when None is the only action.

    Args:
        game: The game, or its id.
        illegal: The effect of a taken cell: "lose" ends the episode with the reward `rewards.illegal` for the
            player who made the move and 0 for the other, "raise" raises `IllegalMoveError`, "resample" plays
            a random legal cell instead.
        rewards: The rewards for win, draw, loss and an illegal move, as in `SingleAgentEnv`.
        observation: "dict", with `observation` (the planes) and `action_mask`; "planes", `int8[*shape, 2]`
            with the agent's own stones on plane 0; "flat", the planes as `float32[2 * cells]`.
        start: The first position of each episode, as in `SingleAgentEnv`.
        actions: "columns": an action is a column in games with gravity, else a cell; "cells": always a cell.
        render_mode: "ansi", "rgb_array", "human" or None.
        agent_names: The names of the agents, the first player's first; PettingZoo's usual ones are
            `("player_0", "player_1")`.
        **parameters: The parameters of the game.

    Raises:
        ParameterError: An argument does not exist or has an invalid value.

    Example:
        >>> env = TwoPlayerEnv("tictactoe-v0")
        >>> env.reset()
        >>> for cell in (0, 3, 1, 4, 2):
        ...     env.step(cell)
        >>> env.rewards, env.position.winner
        ({'X': 1.0, 'O': -1.0}, 'X')

    """

    @checked
    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        *,
        illegal: Illegal = "lose",
        rewards: Sequence[float] | Mapping[str, float] = DEFAULT_REWARDS,
        observation: ObservationKind = "dict",
        start: StartLike | None = None,
        actions: ActionKind = "columns",
        render_mode: RenderMode | None = None,
        agent_names: Sequence[str] = SEATS,
        **parameters: Any,
    ) -> None:
        AECEnv.__init__(self)
        self._configure(game, parameters, illegal, rewards, observation, start, render_mode, actions)
        self._set_board()
        name = self.game.name.partition(":")[0].replace("-", "_")
        self.metadata = {**BoardEnv.metadata, "name": name, "is_parallelizable": False}  # type: ignore[misc]
        is_list = isinstance(agent_names, Sequence) and not isinstance(agent_names, str)
        if (
            not is_list
            or len(agent_names) != 2
            or not all(isinstance(name, str) and name for name in agent_names)
        ):
            raise ParameterError(
                f"agent_names={brief(agent_names)}: expected two names, such as ('player_0', 'player_1')"
            )
        if agent_names[0] == agent_names[1]:
            raise ParameterError(f"agent_names={brief(agent_names)}: the two names must differ")
        names = list(agent_names)
        self.possible_agents: list[str] = names
        self._other = dict(zip(names, reversed(names), strict=True))
        self.agents: list[str] = []
        self.agent_selection = self._to_move = names[0]
        self._cumulative_rewards: dict[str, float] = {}
        self._infos: dict[str, MaskInfo] = {}  # made when first read
        n_actions = self._actions.n
        self.observation_spaces = {
            name: observation_space(self.game, observation, n_actions) for name in names
        }
        self.action_spaces = {name: self._actions.space for name in names}
        self.np_random = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Observed]:
        """The observation space of this agent."""
        return self.observation_spaces[one_of("agent", agent, self.possible_agents)]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The action space of this agent, the cells or the columns."""
        return self.action_spaces[one_of("agent", agent, self.possible_agents)]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start an episode.

        Args:
            seed: The seed of the random numbers; None continues their stream.
            options: `position` is the first position; other options are ignored.

        Raises:
            ImpossiblePositionError: The position is impossible, or the game is over in it.

        """
        options = as_options(options, "reset")
        seed = None if seed is None else as_integer("seed", seed, "reset", 0)
        rng = self.np_random if seed is None else np.random.default_rng(seed)
        may_fail = options or callable(self._start)  # maybe after random numbers have been drawn
        state = self.np_random.bit_generator.state if may_fail else None
        try:
            position = self._first_position(options, rng)
        except BaseException:
            if state is not None:
                self.np_random.bit_generator.state = state
            raise
        self.np_random = rng
        names = self.possible_agents
        self.agents = names.copy()
        self.rewards, self._cumulative_rewards = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        self.terminations, self.truncations = dict.fromkeys(names, False), dict.fromkeys(names, False)
        self.agent_selection = self._to_move = names[position.ply % 2]
        self._infos = {}
        self._show(self._scenes.of(position), None)

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Iterate over the agents to step, until the episode is over or `max_iter` steps have been made."""
        if self._scene is None:
            raise EpisodeOrderError(f"there are no agents yet: {_RESET}")
        for _ in repeat(None, min(max_iter, sys.maxsize)):
            if not self.agents:
                return
            yield self.agent_selection

    def state(self) -> NDArray[np.int8]:
        """The board as `int8[*shape, 2]`, always with X's stones on plane 0 and O's on plane 1.

        Raises:
            EpisodeOrderError: `reset` has not been called.

        """
        planes = self.position.planes
        return planes if self.position.to_move == "X" else planes[..., ::-1].copy()

    def observe(self, agent: str) -> Observed:
        """The observation of this agent, with its own stones on plane 0; the mask is all 0 off its turn.

        Raises:
            EpisodeOrderError: `reset` has not been called.
            ParameterError: There is no such agent.

        """
        scene = self._scene
        if scene is None:
            raise EpisodeOrderError(f"there is nothing to observe yet: {_RESET}")
        if agent is not self._to_move:
            agent = one_of("agent", agent, self.possible_agents)
        planes = scene.mover if agent == self._to_move else scene.waiting
        observation: Any  # the parameter `observation` decides which it is
        if self._observation_kind == "dict":
            mask = scene.free if agent == self.agent_selection else self._scenes.none
            observation = {"observation": planes.copy(), "action_mask": mask.copy()}
        else:
            observation = planes.copy() if self._observation_kind == "planes" else flat_of(planes[None])[0]
        return observation  # type: ignore[no-any-return]

    @overload
    def last(self, observe: Literal[True] = True) -> tuple[Observed, float, bool, bool, MaskInfo]: ...
    @overload
    def last(self, observe: bool) -> tuple[Observed | None, float, bool, bool, MaskInfo]: ...
    def last(self, observe: bool = True) -> tuple[Observed | None, float, bool, bool, MaskInfo]:
        """The observation, reward since its last move, terminated, truncated and info of `agent_selection`.

        Args:
            observe: False to return None in place of the observation.

        Raises:
            EpisodeOrderError: `reset` has not been called, or the last agent has left.

        """
        agent = self.agent_selection
        try:
            return (
                self.observe(agent) if observe else None,
                self._cumulative_rewards[agent],
                self.terminations[agent],
                self.truncations[agent],
                self._infos.get(agent) or self._info_of(agent),
            )
        except KeyError:
            raise EpisodeOrderError(
                f"last() before reset(), or after the last agent has left: {_RESET}"
            ) from None

    @property
    def infos(self) -> dict[str, MaskInfo]:
        """The `MaskInfo` of each agent."""
        self._infos = {name: self._infos.get(name) or self._info_of(name) for name in self.agents}
        return self._infos

    def _info_of(self, agent: str) -> MaskInfo:
        """A new info of this agent, which is kept until the next step."""
        info: MaskInfo = {"action_mask": self._mask_of(agent)}
        self._infos[agent] = info
        return info

    def _mask(self) -> NDArray[np.int8]:
        return self._mask_of(self.agent_selection)

    def _mask_of(self, agent: str) -> NDArray[np.int8]:
        scene = self._scene
        if scene is None or agent != self.agent_selection:
            return self._scenes.none.copy()
        return scene.free.copy()

    def step(self, action: SupportsIndex | None) -> None:
        """Play an action of `agent_selection`.

        Args:
            action: A cell; in games with gravity a column (see `actions`). After the end it is None, which
                removes the agent from `agents`.

        Raises:
            EpisodeOrderError: `reset` has not been called, or the last agent has left.
            IllegalMoveError: The action does not exist, or its cell is taken and `illegal` is "raise";
                nothing has changed then.

        """
        scene = self._scene
        if scene is None or not self._legal:
            self._step_dead(action)
            return
        named_cell = self._actions.cell(action, self._legal)
        cell = named_cell if self._legal >> named_cell & 1 else self._replacement_cell(named_cell)
        mover = self._to_move
        self._infos = {}
        self.agent_selection = self._other[mover]
        if cell is None:
            self._legal = 0
            self._finish(mover, self.rewards_of.illegal, 0.0)
        else:
            scene = self._scenes.after(scene.position, cell)
            self._show(scene, cell)
            self._to_move = self.agent_selection
            if scene.value is not None:
                self._finish(mover, *self.rewards_of.at_end(scene.value))

    def _step_dead(self, action: object) -> None:
        if not self.agents:
            raise EpisodeOrderError(f"step() before reset(), or after the last agent has left: {_RESET}")
        if action is not None:
            raise IllegalMoveError(f"the game is over: None is the only action, not {brief(action)}")
        agent = self.agent_selection
        for by_agent in (self._cumulative_rewards, self.terminations, self.truncations):
            del by_agent[agent]
        self.agents.remove(agent)
        self._infos = {}
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if self.agents:
            self.agent_selection = self.agents[0]

    def _finish(self, mover: str, reward: float, reward_of_other: float) -> None:
        other = self._other[mover]
        self.rewards = {mover: reward, other: reward_of_other}
        # All rewards before the end are 0, so these are the cumulative ones, too.
        self._cumulative_rewards = {mover: reward, other: reward_of_other}
        self.terminations = {mover: True, other: True}


class Transition(NamedTuple, Generic[Observed]):
    """One transition of a player.

    Attributes:
        observation: The observation in which the player moved.
        action: The action that it played.
        reward: The sum of the rewards up to the next observation, with a loss by the other's reply.
        next_observation: The observation on its next turn, or at the end.
        terminated: True if the episode was over then.

    Example:
        >>> import ttt_env
        >>> agents = {"X": "minimax", "O": "random"}
        >>> rows = ttt_env.collect_episode(ttt_env.make("tictactoe-v0"), agents, seed=1)
        >>> last = rows["X"][-1]
        >>> last.action, last.reward, last.terminated
        (3, 1.0, True)

    """

    observation: Observed
    """The observation in which the player moved."""
    action: int
    """The action that it played."""
    reward: float
    """The sum of the rewards up to the next observation, with a loss by the other's reply."""
    next_observation: Observed
    """The observation on its next turn, or at the end."""
    terminated: bool
    """True if the episode was over then."""


def collect_episode(
    env: TwoPlayerEnv[Observed], agents: Mapping[str, AgentLike], seed: int | None = None
) -> dict[str, list[Transition[Observed]]]:
    """Play one episode, and collect the transitions of each player.

    In PettingZoo's own loop `last()` returns the reward of the *previous* move with the observation for the
    next one; here they are paired up.

    Args:
        env: A two-player environment; it is reset first.
        agents: An agent for each player, by the names of the environment.
        seed: The seed of the reset and, since agents draw from `env.np_random`, of the whole episode.

    Returns:
        The transitions of each player, in order, by name.

    Raises:
        ParameterError: The environment is not a `TwoPlayerEnv`, or a player has no agent.

    Example:
        >>> rows = collect_episode(TwoPlayerEnv("tictactoe-v0"), {"X": "minimax", "O": "random"}, seed=1)
        >>> [row.reward for row in rows["X"]], [row.reward for row in rows["O"]]
        ([0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, -1.0])

    """
    if not isinstance(env, TwoPlayerEnv):
        raise ParameterError(
            f"env={brief(env)}: expected a TwoPlayerEnv, such as make(game) without an opponent returns"
        )
    names = env.possible_agents
    if not isinstance(agents, Mapping) or set(agents) != set(names):
        names_text = " and one for ".join(names)
        raise ParameterError(f"agents={brief(agents)}: expected a dict with one for {names_text}")
    players = {name: make_agent(agents[name], env.game) for name in names}
    transitions: dict[str, list[Transition[Observed]]] = {name: [] for name in names}
    pending: dict[str, tuple[Observed, int]] = {}
    env.reset(seed=seed)
    for name in env.agent_iter():
        observation, reward, terminated, _, _ = env.last()
        if name in pending:
            transitions[name].append(Transition(*pending[name], reward, observation, terminated))
        action = None
        if not terminated:
            action = env._actions.of_cell(players[name].choose(env.position, env.np_random))
            pending[name] = (observation, action)
        env.step(action)
    return transitions
