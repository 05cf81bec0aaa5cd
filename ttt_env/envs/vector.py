"""The vector environment: a batch of games, each against an opponent or played by both sides."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from ttt_env.agent import Agent
from ttt_env.envs.arguments import (
    Autoreset,
    as_cells,
    as_mode,
    as_number,
    as_positions,
    as_reset_mask,
    as_seeds,
)
from ttt_env.envs.batch import BatchEnv, Bools, Floats, VectorRenderMode
from ttt_env.envs.board import (
    Illegal,
    Opponents,
    PlayAs,
    StartLike,
    agents_of,
    one_of,
)
from ttt_env.envs.observation import ObservationKind
from ttt_env.envs.openings import N_DRAWS, OPPONENT, REPLY, RESAMPLE, SEAT, Games, Openings, Starts
from ttt_env.envs.replies import Replies
from ttt_env.envs.stores import OPEN, Cells, State, part_of, store_of
from ttt_env.errors import EpisodeOrderError, IllegalMoveError, ParameterError
from ttt_env.rules.game import Game, Position
from ttt_env.rules.specs import check_names

_OPTIONS = {"play_as": None, "position": None, "reset_mask": None}


class VectorGameEnv(BatchEnv):
    """`num_envs` games at once, each a `SingleAgentEnv`; with `opponent=None`, both sides are stepped.

    **Against an opponent** every array is the batch of what `SingleAgentEnv` gives: an observation is
    the one after the reply, a loss by the reply comes with it. Of a list of opponents each sub-env draws one
    for each episode.

    **Both sides** (`opponent=None`): an action is for the player to move; the observation, the mask and
    `info["seat"]` (`int8[B]`, 0 for X, 1 for O) are those of the player to move next, the reward is that
    of the player who has just moved. `info["rewards"]`, `float64[B, 2]`, has what X and O got. At the end
    the observation is that of the player who did not move last.

    `info["action_mask"]` is `int8[B, cells]`. Autoreset is Gymnasium's: "next_step" ignores the action of
    a sub-env that is over and begins its next episode, with reward 0; "same_step" begins it at once, the end
    being in `info["final_obs"]` and `info["final_info"]`; "disabled" waits for
    `reset(options={"reset_mask": bool[B]})`.

    There is one generator for all sub-envs. A step draws the same number of rows of `num_envs` numbers,
    whoever is over, so what a sub-env draws depends on the seed and on how many steps were made, and on no
    other sub-env; opponents without a policy (functions, agents that are not fixed), a `start` function, and
    starts drawn anew take more numbers from the same generator.
    """

    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        num_envs: int = 1,
        opponent: Opponents | None = "random",
        *,
        play_as: PlayAs = "random",
        illegal: Illegal = "lose",
        rewards: Sequence[float] | Mapping[str, float] = (1.0, 0.0, -1.0, -1.0),
        observation: ObservationKind = "planes",
        start: StartLike | None = None,
        render_mode: VectorRenderMode | None = None,
        autoreset_mode: Autoreset | AutoresetMode = "next_step",
        **parameters: Any,
    ) -> None:
        one_of("render_mode", render_mode, (None, *get_args(VectorRenderMode)))
        self._configure(game, parameters, illegal, rewards, observation, start, render_mode)
        self.num_envs = as_number(num_envs)
        self.autoreset_mode = as_mode(autoreset_mode)
        self.metadata: dict[str, Any] = {  # type: ignore[misc]
            "render_modes": list(get_args(VectorRenderMode)),
            "render_fps": 4,
            "autoreset_mode": self.autoreset_mode,
        }
        self.play_as = one_of("play_as", play_as, get_args(PlayAs))
        self._set_spaces(observation)
        self._store = store_of(self.game)
        self._set_rewards()
        self._openings = Openings(self._store, self._starts(), self.play_as)
        self._replies = None if opponent is None else self._replies_of(opponent)
        if opponent is None and play_as != "random":
            raise ParameterError(f"play_as={play_as!r} needs an opponent: without one both sides are played")
        self._over = np.zeros(self.num_envs, np.bool_)

    def _starts(self) -> Starts:
        return self._start if isinstance(self._start, Position) else self._drawn_start

    def _drawn_start(self, rng: np.random.Generator) -> Position:
        return self._first_position({}, rng)

    def _replies_of(self, opponent: Opponents) -> Replies:
        return Replies(self._store, agents_of(opponent, self.game))

    @property
    def opponents(self) -> list[Agent]:
        """The agents of which each episode draws its opponent; none if both sides are stepped."""
        return [] if self._replies is None else list(self._replies.agents)

    def set_opponent(self, opponent: Opponents) -> None:
        """Play against this agent, or one drawn from a list of them for each sub-env, from the next reply on.

        The policies of a small game are tabulated now: call it again for an agent that has learned.
        Raises `ParameterError` where both sides are stepped.
        """
        if self._replies is None or opponent is None:
            raise ParameterError("opponent=None, both sides, is chosen when the environment is made")
        self._replies = self._replies_of(opponent)
        if self._games is not None:
            who = self._replies.drawn(self.np_random.random(self.num_envs))
            self._games = self._games._replace(who=who)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in all sub-envs, or in those of `options["reset_mask"]`, `bool[B]`.

        `options` may give `play_as` and `position`: a position, or a list of one for each sub-env. A
        list of seeds, one for each sub-env, seeds the one generator, as an int does. Raises
        `ParameterError` or `ImpossiblePositionError` for other things; nothing has changed then.
        """
        options = dict(options or {})
        is_reset = self._checked_options(options)
        state = self.np_random.bit_generator.state
        before = self._np_random, self._np_random_seed
        try:
            games = self._games or self._blank()
            if seed is not None:
                self._seed(seed)
                games = games._replace(episodes=np.where(is_reset, 0, games.episodes))
            draws = self.np_random.random((N_DRAWS, self.num_envs))
            openings = Openings(
                self._store, options.get("position") or self._starts(), options.get("play_as", self.play_as)
            )
            self._games = openings.begin(
                games, np.flatnonzero(is_reset), self._replies, draws, self.np_random
            )
        except BaseException:
            self._np_random, self._np_random_seed = before
            self.np_random.bit_generator.state = state
            raise
        self._over = self._store.codes(self._games.state) != OPEN
        return self._seen(self._games)

    def _seed(self, seed: int | Sequence[int]) -> None:
        seeds = as_seeds(seed, self.num_envs)
        if isinstance(seed, Sequence | np.ndarray):
            self.np_random = np.random.default_rng(seeds)
        else:
            VectorEnv.reset(self, seed=seeds[0])

    def _checked_options(self, options: dict[str, Any]) -> Bools:
        """Which sub-envs to reset, `[B]`. Makes a list of the positions."""
        check_names("reset options", options, _OPTIONS)
        if "play_as" in options:
            one_of("play_as", options["play_as"], get_args(PlayAs) if self._replies else ("random",))
        is_reset = as_reset_mask(options.get("reset_mask"), self.num_envs)
        if self._games is None and not is_reset.all():
            raise EpisodeOrderError("a reset_mask before the first reset()")
        if "position" in options:
            options["position"] = as_positions(options["position"], self.num_envs, self._checked_start)
        return is_reset

    def step(self, actions: Any) -> tuple[Any, Floats, Bools, Bools, dict[str, Any]]:
        """Play a cell in every sub-env. Returns observations, rewards, terminations, truncations, info.

        Raises `EpisodeOrderError` before `reset`, and after the end of an episode without autoreset;
        `IllegalMoveError` for actions that are not integers `[B]`, each a cell (also where it is ignored).
        Nothing has changed then.
        """
        cells = self._checked_actions(actions)
        before = None if self._is_sure else self.np_random.bit_generator.state
        try:
            return self._step(cells)
        except BaseException:
            if before is not None:
                self.np_random.bit_generator.state = before
            raise

    @property
    def _n_draws(self) -> int:
        """How many rows of numbers a step draws."""
        if self.illegal == "resample":
            return RESAMPLE + 1
        if self._replies is None:
            return 0
        return OPPONENT + 1 if self._replies.is_mixed else SEAT + 1

    @property
    def _is_sure(self) -> bool:
        """Whether a step calls no code of others, which may fail."""
        return self._replies is None or (self._replies.is_tabulated and not callable(self._openings.starts))

    def _step(self, cells: Cells) -> tuple[Any, Floats, Bools, Bools, dict[str, Any]]:
        draws = self.np_random.random((self._n_draws, self.num_envs))
        infos: dict[str, Any] = {}
        games = self._played(cells, draws)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            games = self._with_new(games, self._over, draws)
        codes = self._store.codes(games.state)
        over = codes != OPEN
        rewards = self._rewards_for(codes, games, infos)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and over.any():
            infos |= self._final(games, over)
            games = self._with_new(games, over, draws)
        self._games, self._over = games, over
        observation, info = self._seen(games)
        return observation, rewards, over.copy(), np.zeros(self.num_envs, np.bool_), info | infos

    def _played(self, cells: Cells, draws: Floats) -> Games:
        """The games after the move and the reply."""
        games, store = self._begun(), self._store
        if self.illegal == "resample":
            cells = self._resampled(games.state, cells, draws)
        state = store.play(games.state, cells)
        if self._replies is None:
            return games._replace(state=state, seats=1 - games.seats)
        replies = self._replies.cells(state, games.who, draws[REPLY], self.np_random)
        return games._replace(state=store.play(state, replies))

    def _with_new(self, games: Games, where: Bools, draws: Floats) -> Games:
        index = where.nonzero()[0]
        if not len(index):
            return games
        return self._openings.begin(games, index, self._replies, draws, self.np_random)

    def _checked_actions(self, actions: Any) -> Cells:
        """The actions as an array. Raises the errors of `step`."""
        if self._games is None:
            raise EpisodeOrderError("step() before reset(): call reset()")
        cells = as_cells(actions, self.num_envs, self.game)
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            at = np.flatnonzero(self._over).tolist()
            raise EpisodeOrderError(f"the episodes of sub-envs {at} are over: reset them by a reset_mask")
        if self.illegal == "raise":
            self._refuse_taken(self._games.state, cells)
        return cells

    def _refuse_taken(self, state: State, cells: Cells) -> None:
        legal = self._store.is_legal(state, cells) | self._over
        if not legal.all():
            at = int(np.argmin(legal))
            position = self.boards[at]
            raise IllegalMoveError(
                f"cell {cells[at]} of {position} in sub-env {at} is taken; free are {position.legal_cells}"
            )

    def _resampled(self, state: State, cells: Cells, draws: Floats) -> Cells:
        """The cells, with free ones drawn in place of taken ones."""
        taken = np.flatnonzero(~self._store.is_legal(state, cells) & (self._store.codes(state) == OPEN))
        if not len(taken):
            return cells
        counts = np.cumsum(self._store.masks(part_of(state, taken)), axis=1)
        wanted = draws[RESAMPLE, taken] * counts[:, -1]
        cells = cells.copy()
        cells[taken] = np.argmax(counts > wanted[:, None], axis=1)
        return cells
