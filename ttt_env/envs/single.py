"""The single-agent environment: a Gymnasium env with an agent of your choice as the opponent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, SupportsIndex, get_args

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from ttt_env.agent import Agent, AgentLike, Forfeit, chosen_cell
from ttt_env.envs.actions import ActionKind
from ttt_env.envs.board import (
    DEFAULT_REWARDS,
    MAX_STARTS,
    NUMBER_OF,
    BoardEnv,
    Illegal,
    Info,
    OpponentMix,
    PlayAs,
    RenderMode,
    StartLike,
)
from ttt_env.envs.observation import ObservationKind, Observed, Scene, flat_of, observation_space
from ttt_env.errors import EpisodeOrderError, ForfeitError, ImpossiblePositionError
from ttt_env.rules import SEATS, Game, Seat, as_integer, as_options, check_names, checked, one_of

_OPTIONS = {"play_as": None, "position": None}
_PLAY_AS = get_args(PlayAs)


class _Start(NamedTuple):
    """The start of an episode: the user's seat and the first scene that the user sees.

    `cell` is the opponent's move before that, if there was one.
    """

    seat: Seat
    scene: Scene
    cell: int | None


class SingleAgentEnv(BoardEnv, gymnasium.Env[Observed, np.int64]):
    """A game against an opponent, as a Gymnasium environment of one player.

    `step` plays a cell and returns after the opponent's reply; a loss by that reply arrives with it. `info`
    is an `Info`. An episode that the opponent would end with its first move is drawn again. If an opponent
    such as a program names no free cell, the user wins: `info["forfeit"]` is then True, and the attribute
    `forfeit`, else None, has its answer.

    Args:
        game: The game, or its id.
        opponent: An agent, or a list of agents from which one is drawn for each episode.
        opponent_weights: One number ≥ 0 for each agent of a list, in proportion to its probability; by
            default all are equally likely.
        play_as: The user's seat: "X", "O", "random" (drawn for each episode) or "alternate" (X in the first
            episode after the env is made or seeded, then in turn).
        illegal: The effect of a taken cell: "lose" ends the episode with the reward `rewards.illegal`,
            "raise" raises `IllegalMoveError`, "resample" plays a random legal cell instead.
        rewards: The rewards for win, draw, loss and an illegal move at the end of an episode; every other
            reward is 0. A mapping may give some of them by name.
        observation: "planes", `int8[*shape, 2]` with the user's stones on plane 0 and the opponent's on plane
            1; "dict", with `observation` (the planes) and `action_mask`; "flat", the planes as
            `float32[2 * cells]`.
        start: The first position of each episode, or a function that draws one with a generator; by default
            the empty board.
        actions: "columns": an action is a column in games with gravity, else a cell; "cells": always a cell.
        render_mode: "ansi", "rgb_array", "human" or None.
        **parameters: The parameters of the game.

    Raises:
        ParameterError: An argument does not exist or has an invalid value.

    Example:
        >>> env = SingleAgentEnv("tictactoe-v0", opponent="minimax", play_as="X")
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step(4)
        >>> env.position.ply, env.action_masks().sum().item()
        (2, 7)

    """

    @checked
    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        opponent: AgentLike | Sequence[AgentLike] = "random",
        *,
        opponent_weights: ArrayLike | None = None,
        play_as: PlayAs = "random",
        illegal: Illegal = "lose",
        rewards: Sequence[float] | Mapping[str, float] = DEFAULT_REWARDS,
        observation: ObservationKind = "planes",
        start: StartLike | None = None,
        actions: ActionKind = "columns",
        render_mode: RenderMode | None = None,
        **parameters: Any,
    ) -> None:
        self._configure(game, parameters, illegal, rewards, observation, start, render_mode, actions)
        self._set_board()
        self.observation_space = observation_space(self.game, observation, self._actions.n)
        self.action_space = self._actions.space
        self.play_as = play_as
        self.seat: Seat = "X"
        self.forfeit: Forfeit | None = None
        self._episodes = 0
        self._lineup = OpponentMix(opponent, opponent_weights, self.game)
        self.opponent = self._lineup.agents[0]

    def __str__(self) -> str:
        opponents = " or ".join(agent.label for agent in self._lineup.agents)
        return f"<{type(self).__name__} of {self.game.name} against {opponents}>"

    def set_opponent(
        self, opponent: AgentLike | Sequence[AgentLike], weights: ArrayLike | None = None
    ) -> None:
        """Play against another opponent from the next reply on.

        Args:
            opponent: An agent, or a list of agents, as in the constructor.
            weights: The weights of a list, as `opponent_weights`.

        Raises:
            ParameterError: The weights are invalid; nothing has changed then.

        """
        self._lineup = OpponentMix(opponent, weights, self.game)
        self.opponent = self._draw_opponent()

    def _draw_opponent(self) -> Agent:
        agents = self._lineup.agents
        return agents[0] if len(agents) == 1 else self._lineup.pick(self.np_random.random())

    def reset(  # type: ignore[override]  # a typed dict is a dict, which Gymnasium's type cannot say
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observed, Info]:
        """Start an episode.

        An error leaves the env as it was; errors of an opponent or a `start` function are raised, too.

        Args:
            seed: The seed of the random numbers; None continues their stream.
            options: `play_as` and `position`, the seat and the first position of this episode.

        Returns:
            The observation and the info.

        Raises:
            ParameterError: An option or the seed is invalid.
            ImpossiblePositionError: The position is impossible, or the opponent always ends the game from it.
            ForfeitError: The opponent moves first and names no free cell.

        """
        options = as_options(options, "reset")
        seed = None if seed is None else as_integer("seed", seed, "reset", 0)
        check_names("reset options", options, _OPTIONS)
        play_as = one_of("play_as", options.get("play_as", self.play_as), _PLAY_AS)
        if "position" in options:
            self._checked_start(options["position"])
        rng = self.np_random
        before, state = (self._np_random_seed, self._episodes, self.opponent), rng.bit_generator.state
        gymnasium.Env.reset(self, seed=seed)
        try:
            self._episodes = 0 if seed is not None else self._episodes
            self.opponent = self._draw_opponent()
            self.seat, scene, cell = self._first_scene(play_as, options)
        except BaseException:
            self._np_random, (self._np_random_seed, self._episodes, self.opponent) = rng, before
            rng.bit_generator.state = state
            raise
        self._episodes += 1
        self.forfeit = None
        self._show(scene, cell)
        return self._observation(scene), {"action_mask": self._mask(), "seat": NUMBER_OF[self.seat]}

    def _first_scene(self, play_as: PlayAs, options: Mapping[str, Any]) -> _Start:
        """The user's seat, the first scene in which the user moves, and the opponent's move before it."""
        for _ in range(MAX_STARTS):
            if play_as == "random":
                seat = SEATS[int(self.np_random.random() * 2)]
            else:
                seat = SEATS[self._episodes % 2] if play_as == "alternate" else play_as
            position = self._first_position(options, self.np_random)
            if position.to_move == seat:
                return _Start(seat, self._scenes.of(position), None)
            cell = chosen_cell(self.opponent, position, self.np_random)
            scene = self._scenes.after(position, cell)
            if scene.value is None:
                return _Start(seat, scene, cell)
        raise ImpossiblePositionError(
            f"{self.opponent!r} ends the game from {position} before {seat} can move"
        )

    def step(  # type: ignore[override]  # as for `reset`
        self, action: SupportsIndex
    ) -> tuple[Observed, float, bool, bool, Info]:
        """Play an action, and the opponent's reply.

        Args:
            action: A cell; in games with gravity a column (see `actions`).

        Returns:
            The observation, the reward, terminated, truncated (always False), and the info.

        Raises:
            EpisodeOrderError: The episode has not begun, or is over.
            IllegalMoveError: The action does not exist, or its cell is taken and `illegal` is "raise";
                nothing has changed then.

        """
        scene = self._scene
        if scene is None or not self._legal:
            raise EpisodeOrderError("step() before reset(), or after the end of the episode: call reset()")
        named_cell = self._actions.cell(action, self._legal)
        cell = named_cell if self._legal >> named_cell & 1 else self._replacement_cell(named_cell)
        if cell is None:
            self._legal = 0
            reward = self.rewards_of.illegal
        else:
            scene, reward = self._play(scene, cell)
        info: Info = {"action_mask": self._mask(), "seat": NUMBER_OF[self.seat]}
        over = not self._legal
        if over:
            info["winner"] = NUMBER_OF[None if cell is None else scene.winner]
        if self.forfeit is not None:
            info["winner"], info["forfeit"] = info["seat"], True
        return self._observation(scene), reward, over, False, info

    def _play(self, scene: Scene, cell: int) -> tuple[Scene, float]:
        """Play the cell and let the opponent reply: the scene after the reply, and the reward."""
        scene = self._scenes.after(scene.position, cell)
        if scene.value is not None:
            self._show(scene, cell)
            return scene, self.rewards_of.at_end(scene.value)[0]
        try:
            reply = chosen_cell(self.opponent, scene.position, self.np_random)
        except ForfeitError as error:
            self._show(scene, cell)
            self._legal, self.forfeit = 0, error.forfeit
            return scene, self.rewards_of.win
        if self._window is not None:
            self._window.show(scene.position, cell)
        scene = self._scenes.after(scene.position, reply)
        self._show(scene, reply)
        return scene, 0.0 if scene.value is None else self.rewards_of.at_end(scene.value)[1]

    def _observation(self, scene: Scene) -> Any:
        # If a cell is legal it is the user's turn: `to_move` would take a tenth of the step's time.
        is_mover = self._legal or scene.position.to_move == self.seat
        planes = scene.mover if is_mover else scene.waiting
        if self._observation_kind == "planes":
            return planes.copy()
        if self._observation_kind == "flat":
            return flat_of(planes[None])[0]
        return {"observation": planes.copy(), "action_mask": self._mask()}
