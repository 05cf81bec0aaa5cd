"""The vector environment: a batch of games, each against an opponent or played by both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Annotated, Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from ttt_env.agent import Agent, AgentLike, Forfeit
from ttt_env.compiled import codes
from ttt_env.compiled.codes import Games, Payoffs, StepOutcome
from ttt_env.envs.actions import ActionKind
from ttt_env.envs.board import DEFAULT_REWARDS, GameEnv, Illegal, OpponentMix, PlayAs, StartLike
from ttt_env.envs.observation import ObservationKind, Observed, observation_space
from ttt_env.envs.vector.engine import (
    ArraySteps,
    EpisodeStarts,
    Replies,
    Starts,
    Steps,
    refuse_taken,
    resampled,
)
from ttt_env.envs.vector.states import Array, Cells, State, TableStore, store_of
from ttt_env.errors import CellError, EpisodeOrderError, ParameterError, brief
from ttt_env.render.pixels import draw_pixels
from ttt_env.render.text import draw_text
from ttt_env.rules import (
    SEATS,
    Between,
    Boards,
    Game,
    Position,
    as_options,
    check_names,
    checked,
    items_of,
    one_of,
)
from ttt_env.rules.checks import BOOLEANS, integer_of
from ttt_env.rules.sizes import ENVS

Autoreset = Literal["next_step", "same_step", "disabled"]
VectorRenderMode = Literal["ansi", "rgb_array"]
# Looking up a member of an enumeration is slow, and a step would do so three times.
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
_MODES = {mode.name.lower(): mode for mode in AutoresetMode}
_OPTIONS = {"play_as": None, "position": None, "reset_mask": None}
_NO_DRAWS = np.empty((0, 0))
_INT64 = np.dtype(np.int64)
_SETTABLE = {"illegal": get_args(Illegal), "play_as": get_args(PlayAs)}


class VectorGameEnv(GameEnv, VectorEnv[Observed, ArrayLike, NDArray[Any]]):
    """A batch of `SingleAgentEnv`, or of games in which you step both players.

    **Against an opponent**, every array is a batch of the values of `SingleAgentEnv`: the observation is the
    one after the reply, and a loss by the reply comes with it.

    **Both players** (`opponent=None`): an action is for the player to move; the observation, the mask and
    `info["seat"]` are for the player to move next, the reward is for the player who has just moved.
    `info["rewards"]`, `float64[B, 2]`, are the rewards of X and O. At the end the observation is for the
    player who did not move last.

    The entries of `info` (as in Gymnasium, an entry with a leading `_` says which sub-envs have a value):

    - `action_mask` `int8[B, actions]`: the legal actions, all 1 where the episode is over, so that a softmax
      over the legal actions is defined.
    - `seat` `int8[B]`: the user's seat, 0 for X, 1 for O.
    - `winner` `int8[B]`, after a step: the seat that has won the episode that ended in it, as 0 or 1; −1 in a
      draw, after an illegal move and where no episode ended.
    - `forfeit` `bool[B]`, only after a step in which an opponent lost by naming no free cell; the attribute
      `forfeits` has its answer, by the number of the sub-env.

    There is one generator for all sub-envs. Each step draws the same number of rows of `num_envs` numbers, so
    that the random numbers of a sub-env depend on the seed and on the number of steps, not on other
    sub-envs. Only opponents without a policy (functions, agents that are not stationary), a `start`
    function, and repeated draws of a start take more numbers from the same generator.

    Args:
        game: The game, or its id.
        num_envs: The number of games, B.
        opponent: An agent, or a list of agents from which each sub-env draws one for each episode; None to
            step both players.
        opponent_weights: One number ≥ 0 for each agent of a list, in proportion to its probability; by
            default all are equally likely.
        play_as: The user's seat: "X", "O", "random" or "alternate", as in `SingleAgentEnv`.
        illegal: The effect of a taken cell: "lose", "raise" or "resample", as in `SingleAgentEnv`.
        rewards: The rewards for win, draw, loss and an illegal move, as in `SingleAgentEnv`.
        observation: "planes", `int8[B, *shape, 2]`, "dict" or "flat", as in `SingleAgentEnv`.
        start: The first position of each episode, as in `SingleAgentEnv`.
        actions: "columns": an action is a column in games with gravity, else a cell; "cells": always a cell.
        render_mode: "ansi", "rgb_array" or None.
        autoreset_mode: Gymnasium's: "next_step" ignores the action of a sub-env that is over and begins its
            next episode, with reward 0; "same_step" begins it at once, with the end in `info["final_obs"]`
            and `info["final_info"]`; "disabled" waits for `reset(options={"reset_mask": bool[B]})`.
        **parameters: The parameters of the game.

    Raises:
        ParameterError: An argument does not exist or has an invalid value.

    Example:
        >>> import ttt_env
        >>> envs = ttt_env.make_vec("tictactoe-v0", num_envs=3, opponent="random")
        >>> observations, infos = envs.reset(seed=0)
        >>> first_free = infos["action_mask"].argmax(axis=1)
        >>> observations, rewards, terminated, truncated, infos = envs.step(first_free)
        >>> observations.shape, terminated.tolist()
        ((3, 3, 3, 2), [False, False, False])

    """

    _games: Games | None = None
    _user_attributes: frozenset[str] = frozenset()  # names that `set_attr` has added

    @checked
    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        num_envs: Annotated[int, Between(1, ENVS)] = 1,
        opponent: AgentLike | Sequence[AgentLike] | None = "random",
        *,
        opponent_weights: ArrayLike | None = None,
        play_as: PlayAs = "random",
        illegal: Illegal = "lose",
        rewards: Sequence[float] | Mapping[str, float] = DEFAULT_REWARDS,
        observation: ObservationKind = "planes",
        start: StartLike | None = None,
        actions: ActionKind = "columns",
        render_mode: VectorRenderMode | None = None,
        autoreset_mode: Autoreset | AutoresetMode = "next_step",
        **parameters: Any,
    ) -> None:
        self._configure(game, parameters, illegal, rewards, observation, start, render_mode, actions)
        self.num_envs = num_envs
        if not isinstance(autoreset_mode, AutoresetMode):
            autoreset_mode = _MODES[autoreset_mode]
        self.autoreset_mode = autoreset_mode
        self.metadata: dict[str, Any] = {  # type: ignore[misc]
            "render_modes": list(get_args(VectorRenderMode)),
            "render_fps": 4,
            "autoreset_mode": self.autoreset_mode,
        }
        self.play_as = play_as
        self.single_observation_space = observation_space(self.game, observation, self._actions.n)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = self._actions.space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._store = store_of(self.game)
        self._openings = EpisodeStarts(self._store, self._starts(), self.play_as)
        self._set_replies(None if opponent is None else self._replies_of(opponent, opponent_weights))
        if opponent is None and (play_as != "random" or opponent_weights is not None):
            raise ParameterError("play_as and opponent_weights need an opponent, and opponent is None")
        self._true, self._false = np.full((2, self.num_envs), [[True], [False]])  # templates: hand out copies
        self._over = self._false
        self.forfeits: dict[int, Forfeit] = {}

    def _starts(self) -> Starts:
        return self._start if isinstance(self._start, Position) else partial(self._first_position, {})

    def _replies_of(self, opponent: AgentLike | Sequence[AgentLike], weights: ArrayLike | None) -> Replies:
        return Replies(self._store, OpponentMix(opponent, weights, self.game))

    def _set_replies(self, replies: Replies | None) -> None:
        self._replies = replies
        most = codes.OPPONENT if replies is not None and replies.is_mixed else codes.SEAT
        rows = 0 if replies is None else most + 1  # of random numbers that a step draws
        self._n_draws = codes.RESAMPLE + 1 if self.illegal == "resample" else rows
        parts = self._openings, replies, self._payoffs()
        if self._openings.are_look_ups(replies) and isinstance(self._store, TableStore):
            from ttt_env.envs.vector.compiled import CompiledSteps

            self._steps: Steps = CompiledSteps(self._store, *parts)
        else:
            self._steps = ArraySteps(self._store, *parts)

    def _payoffs(self) -> Payoffs:
        """The rewards of the looker and of the other for each code of a board, and the winners."""
        by_me, by_other = self.rewards_of.at_end(-1 if self.game.misere else 1)
        draw, illegal = self.rewards_of.draw, self.rewards_of.illegal
        # An opponent that names no free cell forfeits. If both players are stepped, an illegal move costs
        # only its player, as in PettingZoo.
        is_against = self._replies is not None
        by_forfeit = self.rewards_of.win if is_against else 0.0
        of_looker = np.array([0.0, by_other, draw, by_me, draw, illegal, by_forfeit])
        winners = np.full((2, len(codes.OF_OTHER)), codes.NOBODY, np.int8)
        for looker in range(2):
            winners[looker, codes.WON] = looker ^ self.game.misere
            winners[looker, codes.WON_BY_OTHER] = 1 ^ looker ^ self.game.misere
            winners[looker, codes.FORFEITED_BY_OTHER] = looker if is_against else codes.NOBODY
        return Payoffs(of_looker, of_looker[codes.OF_OTHER], winners)

    @property
    def boards(self) -> Boards:
        """The positions of the sub-envs.

        Raises:
            EpisodeOrderError: `reset` has not been called.

        """
        return self._store.boards(self._running_games().state)

    @property
    def seats(self) -> NDArray[np.int8]:
        """The seats from which the observations are seen, `int8[B]`, 0 for X and 1 for O."""
        seats: NDArray[np.int8] = self._running_games().seats.copy()
        return seats

    @property
    def opponents(self) -> list[Agent]:
        """The agents from which each episode draws its opponent; empty if both players are stepped."""
        return [] if self._replies is None else list(self._replies.agents)

    def set_opponent(
        self, opponent: AgentLike | Sequence[AgentLike], weights: ArrayLike | None = None
    ) -> None:
        """Play against another opponent from the next reply on.

        On a small game the agents' policies are tabulated now: call this again when an agent has learned.

        Args:
            opponent: An agent, or a list of agents, as in the constructor.
            weights: The weights of a list, as `opponent_weights`.

        Raises:
            ParameterError: The weights are invalid, or both players are stepped; nothing has changed then.

        """
        if self._replies is None or opponent is None:
            raise ParameterError("opponent=None, both sides, is chosen when the environment is made")
        replies = self._replies_of(opponent, weights)
        self._set_replies(replies)
        if self._games is not None:
            self._games = self._games._replace(opponents=replies.numbers(self._draws(1)[0]))

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, `bool[B, actions]`; sb3-contrib calls this method.

        All are False before the first `reset`, and True where the episode is over, as in `info`.
        """
        if self._games is None:
            return np.zeros((self.num_envs, self._actions.n), np.bool_)
        return self._masks(self._games.state).view(np.bool_)

    def _masks(self, state: State) -> NDArray[np.int8]:
        """The legal actions, `int8[B, actions]`; all 1 where the episode is over."""
        if self._actions.are_cells:
            return self._store.masks(state)
        return self._actions.masks(self._store.playable(state))

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Start an episode in all sub-envs, or in some.

        Args:
            seed: The seed of the one generator: an integer, or a list of one for each sub-env; None continues
                the stream of random numbers.
            options: `reset_mask`, `bool[B]`, selects the sub-envs to reset; `play_as` is the seat in these
                episodes, `position` their first position, or a list of one for each sub-env.

        Returns:
            The observations and the info.

        Raises:
            ParameterError: An option or the seed is invalid.
            ImpossiblePositionError: A position is impossible, or the opponent always ends the game from it.
            EpisodeOrderError: There is a `reset_mask` before the first `reset`. After any error nothing has
                changed.

        """
        options = dict(as_options(options, "reset"))
        check_names("reset options", options, _OPTIONS)
        if "play_as" in options:
            one_of("play_as", options["play_as"], get_args(PlayAs) if self._replies else ("random",))
        is_reset = _as_reset_mask(options.get("reset_mask"), self.num_envs)
        if self._games is None and not is_reset.all():
            raise EpisodeOrderError("a reset_mask before the first reset()")
        if "position" in options:
            options["position"] = _as_positions(options["position"], self.num_envs, self._checked_start)
        with self._unchanged_by_errors():
            games = self._games
            if games is None:
                empty = self._store.of(Boards.start(self.game, self.num_envs))
                zeros = np.zeros(self.num_envs, np.int64)
                games = Games(empty, zeros.astype(np.int8), zeros, zeros)
            if seed is not None:
                self._seed(seed)
                games = games._replace(episodes=np.where(is_reset, 0, games.episodes))
            draws = self._draws(codes.N_DRAWS)
            openings = EpisodeStarts(
                self._store, options.get("position") or self._starts(), options.get("play_as", self.play_as)
            )
            self._games = openings.begin(games, is_reset, self._replies, draws, self.np_random)
        self._over, self.forfeits = ~self._store.is_open(self._games.state), {}
        return self._observe(self._games)

    def step(
        self, actions: ArrayLike
    ) -> tuple[Observed, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play an action in every sub-env.

        Args:
            actions: Integers `[B]`: cells, or columns in games with gravity. Even an action that is ignored
                must exist.

        Returns:
            Observations, rewards `[B]`, terminations `[B]`, truncations `[B]` (all False), and the info.

        Raises:
            EpisodeOrderError: `reset` has not been called, or an episode is over and autoreset is disabled.
            IllegalMoveError: An action does not exist, or its cell is taken and `illegal` is "raise"; nothing
                has changed then.

        """
        games = self._running_games()
        cells = self._checked_cells(games, actions)
        if self._steps.cannot_fail:
            return self._step(games, cells)
        with self._unchanged_by_errors():
            return self._step(games, cells)

    def _checked_cells(self, games: Games, actions: ArrayLike) -> Cells:
        """The actions as `int64[B]`. Raises the errors of `step`."""
        n_actions = self._actions.n
        cells = _as_cells(actions, self.num_envs, n_actions)
        if cells is None:
            raise CellError(
                f"{brief(actions)} are not {self.num_envs} {self._actions.noun}s of {self.game.name}: "
                f"expected int[{self.num_envs}], each from 0 to {n_actions - 1}"
            )
        if not self._actions.are_cells:
            cells = self._actions.cells(cells, self._store.playable(games.state))
        if self.autoreset_mode is DISABLED and self._over.any():
            at = np.flatnonzero(self._over).tolist()
            raise EpisodeOrderError(f"the episodes of sub-envs {at} are over: reset them by a reset_mask")
        if self.illegal == "raise":
            refuse_taken(self._store, games.state, cells)
        return cells

    def _step(
        self, games: Games, cells: Cells
    ) -> tuple[Observed, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        draws, rng = self._draws(self._n_draws), self.np_random
        if self.illegal == "resample":
            cells = resampled(self._store, games.state, cells, draws[codes.RESAMPLE])
        begins = self._over if self.autoreset_mode is NEXT_STEP else None
        games, outcome = self._steps.step(games, cells, begins, draws, rng)
        over, forfeits = outcome.over, self._forfeits()
        if self.autoreset_mode is not SAME_STEP:
            observation, info = self._observe(games)
            info["winner"], info["_winner"] = outcome.winners, over.copy()
            info |= forfeits
        elif over.any():
            final = self._final(games, outcome)
            final.setdefault("final_info", {}).update(forfeits)
            games = self._steps.begin(games, over, draws, rng)
            observation, info = self._observe(games)
            info.update(final)
        else:
            observation, info = self._observe(games)
        if self._replies is None:
            info["rewards"], info["_rewards"] = outcome.of_seats, self._true.copy()
        self._games, self._over = games, over
        self.forfeits = {} if self._replies is None else self._replies.forfeits
        return observation, outcome.rewards, over.copy(), self._false.copy(), info

    def _forfeits(self) -> dict[str, Any]:
        """The info of the opponents that named no free cell in this step; empty if there are none."""
        if self._replies is None or not self._replies.forfeits:
            return {}
        forfeits = np.zeros(self.num_envs, np.bool_)
        forfeits[list(self._replies.forfeits)] = True
        return {"forfeit": forfeits, "_forfeit": forfeits.copy()}

    def _running_games(self) -> Games:
        if self._games is None:
            raise EpisodeOrderError("no episode has begun yet: call reset() first")
        return self._games

    def _observe(self, games: Games) -> tuple[Any, dict[str, Any]]:
        """Observation and info; the caller may write to every array."""
        info = {
            "action_mask": self._masks(games.state),
            "_action_mask": self._true.copy(),
            "seat": games.seats.copy(),
            "_seat": self._true.copy(),
        }
        return self._observation(games), info

    def _observation(self, games: Games) -> Any:
        planes = self._store.planes(games.state)
        if self._observation_kind == "planes":
            return planes
        if self._observation_kind == "flat":
            return planes.reshape(len(planes), -1).astype(np.float32)
        return {"observation": planes, "action_mask": self._masks(games.state)}

    def _final(self, games: Games, outcome: StepOutcome) -> dict[str, Any]:
        """`final_obs` and `final_info` of the episodes that have ended, before the next ones begin.

        `final_obs` `[B]` has Gymnasium's form: an array of objects, the observation of each sub-env whose
        episode is over, else None.
        """
        over = outcome.over
        final_info: dict[str, Array] = {"action_mask": self._masks(games.state), "seat": games.seats.copy()}
        final_info["winner"] = outcome.winners
        final_info |= {f"_{key}": over.copy() for key in final_info}
        ended = over.nonzero()[0]
        observations = np.full(len(over), None)
        rows = rows_of(self._observation(self._take_games(games, ended)))
        observations[ended] = np.fromiter(rows, np.object_, len(ended))
        final = {"final_obs": observations, "final_info": final_info}
        return final | {f"_{key}": over.copy() for key in final}

    def _take_games(self, games: Games, index: Array) -> Games:
        """The games of the sub-envs with these numbers."""
        return games._replace(state=games.state.take(index, axis=-1), seats=games.seats[index])

    def render(self) -> tuple[str, ...] | tuple[NDArray[np.uint8], ...] | None:
        """The boards as texts ("ansi") or RGB pictures `uint8[height, width, 3]` ("rgb_array")."""
        if self.render_mode == "ansi":
            return tuple(draw_text(position, None) for position in self.boards)
        if self.render_mode == "rgb_array":
            return tuple(draw_pixels(position, None) for position in self.boards)
        gymnasium.logger.warn("render() without a render_mode: give make_vec() one of ansi, rgb_array")
        return None

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method, or get an attribute, of each sub-env.

        `position`, `seat`, `opponent`, `action_masks` and `render` differ between sub-envs, and
        `observation_space` and `action_space` are the spaces of one. Everything else is shared: the attribute
        of the vector env, or the result of its method, which is called once.

        Args:
            name: The method or attribute.
            *args: The arguments of the method.
            **kwargs: The keyword arguments of the method.

        Returns:
            One result for each sub-env.

        Raises:
            AttributeError: There is no such name.

        """
        if name in _PER_SUB_ENV_GETTERS:
            return tuple(_PER_SUB_ENV_GETTERS[name](self))
        common = getattr(self, name)
        return (common(*args, **kwargs) if callable(common) else common,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """The attribute of each sub-env, as `call(name)`."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of all sub-envs.

        Args:
            name: `opponent`, `illegal`, `play_as` (from the next episode on), or a name of your own.
            values: The value, or a list with the same value for each sub-env.

        Raises:
            ParameterError: The values differ or their number is wrong, a value is invalid, or the setting is
                fixed when the environment is made; nothing has changed then.

        """
        of_each = list(values) if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(of_each) != self.num_envs or any(value is not of_each[0] for value in of_each):
            raise ParameterError(
                f"{name}={brief(values)}: the {self.num_envs} sub-envs have one value in common: give it"
            )
        if name == "opponent":
            self.set_opponent(of_each[0])
        elif name in _SETTABLE:
            allowed = ("random",) if name == "play_as" and self._replies is None else _SETTABLE[name]
            setattr(self, name, one_of(name, of_each[0], allowed))
            self._openings = EpisodeStarts(self._store, self._starts(), self.play_as)
            self._set_replies(self._replies)
        elif (name in self._settings or hasattr(self, name)) and name not in self._user_attributes:
            settable = ", ".join(["opponent", *_SETTABLE])
            raise ParameterError(f"{name} is chosen when the environment is made; {settable} can be set")
        else:
            self._user_attributes |= {name}
            setattr(self, name, of_each[0])

    def _opponents(self) -> list[Agent | None]:
        """The opponent in each sub-env; None if both players are stepped."""
        if self._replies is None:
            return [None] * self.num_envs
        return [self._replies.agents[number] for number in self._running_games().opponents]

    def _draws(self, n_rows: int) -> Array:
        """Numbers from [0, 1), `float64[n_rows, B]`."""
        return self.np_random.random((n_rows, self.num_envs)) if n_rows else _NO_DRAWS

    def _seed(self, seed: int | Sequence[int]) -> None:
        is_one = not _are_seeds(seed)
        unchecked: list[object] = [seed] if is_one else items_of(seed, self.num_envs) or []
        seeds = [number for number in map(integer_of, unchecked) if number is not None and number >= 0]
        if len(seeds) != len(unchecked) or not (is_one or len(seeds) == self.num_envs):
            raise ParameterError(f"seed={brief(seed)}: expected an integer ≥ 0, or {self.num_envs} of them")
        if _are_seeds(seed):
            self.np_random = np.random.default_rng(seeds)
        else:
            VectorEnv.reset(self, seed=seeds[0])

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Restore the state of the random numbers if the block raises an error."""
        rng, state = self.np_random, self.np_random.bit_generator.state
        before = rng, self._np_random_seed
        try:
            yield
        except BaseException:
            self._np_random, self._np_random_seed = before
            rng.bit_generator.state = state
            raise


_PER_SUB_ENV_GETTERS: dict[str, Callable[[VectorGameEnv[Any]], Iterable[Any]]] = {
    "action_masks": VectorGameEnv.action_masks,
    "action_space": lambda envs: [envs.single_action_space] * envs.num_envs,
    "observation_space": lambda envs: [envs.single_observation_space] * envs.num_envs,
    "opponent": VectorGameEnv._opponents,
    "position": lambda envs: envs.boards,
    "render": lambda envs: envs.render() or () if envs.render_mode else [None] * envs.num_envs,
    "seat": lambda envs: [SEATS[seat] for seat in envs.seats],
}


def rows_of(batch: Any) -> list[Any]:
    """The rows of an array, or of a dict of arrays."""
    if not isinstance(batch, dict):
        return list(batch)
    return [dict(zip(batch, row, strict=True)) for row in zip(*batch.values(), strict=True)]


def _are_seeds(seed: object) -> bool:
    return isinstance(seed, Sequence | np.ndarray) and not (isinstance(seed, np.ndarray) and seed.ndim == 0)


def _as_cells(actions: ArrayLike, size: int, n_cells: int) -> Cells | None:
    """The actions as `int64[size]`; None unless they are `size` integers in [0, n_cells)."""
    if type(actions) is not np.ndarray and isinstance(actions, Sequence) and len(actions) != size:
        return None
    try:
        cells = np.asarray(actions)
        is_mixed = isinstance(actions, list | tuple) and any(isinstance(each, BOOLEANS) for each in actions)
    except Exception:  # they may be of a user's class
        return None
    if cells.shape != (size,) or is_mixed:
        return None
    if cells.dtype is not _INT64 or not cells.flags.carray:
        if cells.dtype.kind not in "iu":
            return None
        cells = cells.astype(np.int64)
    return cells if _are_below()(cells, n_cells) else None


@cache
def _are_below() -> Callable[[Cells, int], bool]:
    from ttt_env.envs.vector.compiled import of_types
    from ttt_env.envs.vector.steps_kernel import are_below

    return of_types(are_below, np.empty(0, np.int64), 0)


def _as_reset_mask(mask: Array | None, size: int) -> NDArray[np.bool_]:
    """The sub-envs to reset, `bool[size]`; None is all. Raises `ParameterError` for anything else."""
    if mask is None:
        return np.ones(size, np.bool_)
    is_mask = isinstance(mask, np.ndarray) and mask.shape == (size,) and mask.dtype == np.bool_
    if not is_mask or not mask.any():
        raise ParameterError(f"reset_mask={brief(mask)}: expected bool[{size}], not all False")
    return mask


def _as_positions(positions: object, size: int, check: Callable[[object], Position]) -> list[Position]:
    """One checked position for each sub-env, from one for all or a list of them."""
    if isinstance(positions, Position | str) or not isinstance(positions, Sequence):
        return [check(positions)] * size
    if len(positions) != size:
        raise ParameterError(f"{len(positions)} positions for {size} sub-envs: one for each, or one for all")
    return [check(position) for position in positions]
