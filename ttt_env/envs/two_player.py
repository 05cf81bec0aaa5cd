"""The two-player environment: a PettingZoo AEC env with the agents X and O, and a whole episode of it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Generic, Literal, NamedTuple, SupportsIndex, TypedDict, overload

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from ttt_env.agent import AgentLike, make_agent
from ttt_env.envs.board import BoardEnv, Illegal, RenderMode, StartLike
from ttt_env.envs.observation import ObservationKind, Observed, observation_space
from ttt_env.errors import EpisodeOrderError, IllegalMoveError, ParameterError
from ttt_env.rules.checks import as_seat
from ttt_env.rules.game import SEATS, Game, Seat, as_cell

_RESET = "call reset()"
_OTHER: dict[Seat, Seat] = {"X": "O", "O": "X"}


class MaskInfo(TypedDict):
    """What the two-player environment tells an agent: the cells that it may play now, `int8[cells]`."""

    action_mask: NDArray[np.int8]


class TwoPlayerEnv(BoardEnv, AECEnv[Seat, Observed, SupportsIndex | None], Generic[Observed]):
    """Both players of a game, one move at a time.

    The checks of PettingZoo's wrappers (order of calls, illegal moves, actions out of bounds) are
    built in, so no wrapper slows it down. An illegal move under `illegal="lose"` ends the episode with
    the reward `rewards.illegal` for the player who made it and 0 for the other, as in PettingZoo.
    """

    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        *,
        illegal: Illegal = "lose",
        rewards: Sequence[float] | Mapping[str, float] = (1.0, 0.0, -1.0, -1.0),
        observation: ObservationKind = "dict",
        start: StartLike | None = None,
        render_mode: RenderMode | None = None,
        **parameters: Any,
    ) -> None:
        AECEnv.__init__(self)
        self._configure(game, parameters, illegal, rewards, observation, start, render_mode)
        self._set_board()
        name = self.game.name.partition(":")[0].replace("-", "_")
        self.metadata = {**BoardEnv.metadata, "name": name, "is_parallelizable": False}  # type: ignore[misc]
        self.possible_agents: list[Seat] = list(SEATS)
        self.agents: list[Seat] = []
        self.agent_selection: Seat = "X"
        self._to_move: Seat = "X"
        self._cumulative_rewards: dict[Seat, float] = {}
        self._infos: dict[Seat, MaskInfo] | None = None
        self.observation_spaces = {seat: observation_space(self.game, observation) for seat in SEATS}
        self.action_spaces = {seat: spaces.Discrete(self.game.n_cells) for seat in SEATS}
        self.np_random = np.random.default_rng()

    def observation_space(self, agent: Seat) -> spaces.Space[Observed]:
        """The observation space of this agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: Seat) -> spaces.Discrete:
        """The action space of this agent: the cells."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start an episode, from `options={"position": …}` if given; other options are ignored."""
        options = options or {}
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
        self.agents = list(SEATS)
        self.rewards = {"X": 0.0, "O": 0.0}
        self._cumulative_rewards = {"X": 0.0, "O": 0.0}
        self.terminations = {"X": False, "O": False}
        self.truncations = {"X": False, "O": False}
        self.agent_selection = self._to_move = position.to_move
        self._infos = None
        self._show(self._scenes.of(position), None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_infos": None}  # copies of its read-only arrays would be writable

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[Seat]:
        """The agent to step next, until none is left or `max_iter` steps have been made."""
        if self._scene is None:
            raise EpisodeOrderError(f"there are no agents yet: {_RESET}")
        for _ in repeat(None, min(max_iter, sys.maxsize)):
            if not self.agents:
                return
            yield self.agent_selection

    def observe(self, agent: Seat) -> Observed:
        """What this agent sees: its own stones on plane 0. Where it is not its turn, the mask is all 0.

        Raises `EpisodeOrderError` before `reset`, `ParameterError` for an agent that is not X or O.
        """
        scene = self._scene
        if scene is None:
            raise EpisodeOrderError(f"there is nothing to observe yet: {_RESET}")
        if agent == self._to_move:
            planes, mask = scene.mover.copy(), scene.mask if self._legal else self._scenes.no_mask
        else:
            as_seat(agent)
            planes, mask = scene.waiting.copy(), self._scenes.no_mask
        shown: Any = {"observation": planes, "action_mask": mask.copy()} if self._gives_dict else planes
        return shown  # type: ignore[no-any-return]  # the parameter `observation` decides which of the two

    @overload
    def last(self, observe: Literal[True] = True) -> tuple[Observed, float, bool, bool, MaskInfo]: ...
    @overload
    def last(self, observe: bool) -> tuple[Observed | None, float, bool, bool, MaskInfo]: ...
    def last(self, observe: bool = True) -> tuple[Observed | None, float, bool, bool, MaskInfo]:
        """Observation, reward since its last move, terminated, truncated, info of `agent_selection`.

        Raises `EpisodeOrderError` before `reset` and after the last agent has left.
        """
        agent = self.agent_selection
        try:
            return (
                self.observe(agent) if observe else None,
                self._cumulative_rewards[agent],
                self.terminations[agent],
                self.truncations[agent],
                (self._infos or self.infos)[agent],
            )
        except KeyError:
            raise EpisodeOrderError(
                f"last() before reset(), or after the last agent has left: {_RESET}"
            ) from None

    @property
    def infos(self) -> dict[Seat, MaskInfo]:
        """For each agent `action_mask`, the cells that it may play now, `int8[cells]`, read-only."""
        if self._infos is None:
            scene = self._scene
            none: MaskInfo = {"action_mask": self._scenes.no_mask}
            legal: MaskInfo = {"action_mask": scene.mask} if scene and self._legal else none.copy()
            infos = {self._to_move: legal, _OTHER[self._to_move]: none}
            self._infos = infos if len(self.agents) == 2 else {seat: infos[seat] for seat in self.agents}
        return self._infos

    def step(self, action: SupportsIndex | None) -> None:
        """Play a cell for `agent_selection`; after the end, None takes this agent out of `agents`.

        Raises `EpisodeOrderError` before `reset` and after the end, `IllegalMoveError` for an action
        that is no cell; nothing has changed then.
        """
        scene = self._scene
        if scene is None or not self._legal:
            self._step_dead(action)
            return
        wanted = as_cell(action, self.game)
        cell = wanted if self._legal >> wanted & 1 else self._instead_of(wanted)
        seat = self._to_move
        self._infos = None
        self.agent_selection = _OTHER[seat]
        if cell is None:
            self._legal = 0
            self._finish(seat, self.rewards_of.illegal, 0.0)
        else:
            scene = self._scenes.after(scene.position, cell)
            self._show(scene, cell)
            self._to_move = self.agent_selection
            if scene.value is not None:
                self._finish(seat, *self.rewards_of.at_end(scene.value))

    def _step_dead(self, action: object) -> None:
        if not self.agents:
            raise EpisodeOrderError(f"step() before reset(), or after the last agent has left: {_RESET}")
        if action is not None:
            raise IllegalMoveError(f"the game is over: None is the only action, not {action!r}")
        seat = self.agent_selection
        for by_seat in (self._cumulative_rewards, self.terminations, self.truncations, self.infos):
            del by_seat[seat]
        self.agents.remove(seat)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if self.agents:
            self.agent_selection = self.agents[0]

    def _finish(self, seat: Seat, reward: float, reward_of_other: float) -> None:
        other = _OTHER[seat]
        self.rewards = {seat: reward, other: reward_of_other}
        # All rewards before the end are 0, so these are the cumulative ones, too.
        self._cumulative_rewards = {seat: reward, other: reward_of_other}
        self.terminations = {seat: True, other: True}


class Transition(NamedTuple, Generic[Observed]):
    """What one player saw, did, got for it, and saw on its next turn (or when the game was over).

    `reward` is all that the player got between the two observations, a loss by the other's reply included.
    """

    observation: Observed
    action: int
    reward: float
    next_observation: Observed
    terminated: bool


def collect_episode(
    env: TwoPlayerEnv[Observed], agents: Mapping[Seat, AgentLike], seed: int | None = None
) -> dict[Seat, list[Transition[Observed]]]:
    """Play one episode, reset included, and return each player's own transitions.

    The agents see `env.position` and draw from `env.np_random`, so `seed` decides the episode.

    In PettingZoo's loop the user has to pair these up: `last()` gives the reward of the move *before*
    together with the observation for the move to come.
    """
    if set(agents) != set(SEATS):
        raise ParameterError(f"agents for {sorted(map(str, agents))}: one for X and one for O are needed")
    players = {seat: make_agent(agents[seat], env.game) for seat in SEATS}
    transitions: dict[Seat, list[Transition[Observed]]] = {seat: [] for seat in SEATS}
    pending: dict[Seat, tuple[Observed, int]] = {}
    env.reset(seed=seed)
    for seat in env.agent_iter():
        observation, reward, terminated, _, _ = env.last()
        if seat in pending:
            transitions[seat].append(Transition(*pending[seat], reward, observation, terminated))
        action = None if terminated else players[seat].choose(env.position, env.np_random)
        if action is not None:
            pending[seat] = (observation, action)
        env.step(action)
    return transitions
