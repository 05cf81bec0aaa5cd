"""The vector environment: a batch of games, each against an opponent or played by both sides."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike

from ttt_env.agent import Agent
from ttt_env.envs.board import (
    Illegal,
    PlayAs,
    StartLike,
)
from ttt_env.envs.observation import ObservationKind
from ttt_env.envs.opponents import Lineup, Opponents
from ttt_env.envs.vector.arguments import (
    Autoreset,
    as_cells,
    as_mode,
    as_number,
    as_positions,
    as_reset_mask,
)
from ttt_env.envs.vector.backends import Array, BackendName, backend_of
from ttt_env.envs.vector.batch import BatchEnv, VectorRenderMode
from ttt_env.envs.vector.engine import Openings, Starts
from ttt_env.envs.vector.illegal import refuse_taken, resampled
from ttt_env.envs.vector.replies import Replies
from ttt_env.envs.vector.store import Cells
from ttt_env.envs.vector.stores import steps_of, store_of
from ttt_env.errors import EpisodeOrderError, ParameterError
from ttt_env.kernels.codes import N_DRAWS, OPPONENT, RESAMPLE, SEAT
from ttt_env.rules.checks import one_of
from ttt_env.rules.game import Game, Position
from ttt_env.rules.specs import check_names

# A member of an enumeration is looked up slowly, three times a step.
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
_OPTIONS = {"play_as": None, "position": None, "reset_mask": None}


class VectorGameEnv(BatchEnv):
    """`num_envs` games at once, each a `SingleAgentEnv`; with `opponent=None`, both sides are stepped.

    **Against an opponent** every array is the batch of what `SingleAgentEnv` gives: an observation is
    the one after the reply, a loss by the reply comes with it. Of a list of opponents each sub-env draws one
    for each episode, with chances in proportion to `opponent_weights` (None: all alike).

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

    **On a device** (`backend="torch"`, `device` as in PyTorch) all arrays are tensors there, the actions may
    be too, and a step is the same few look-ups as in NumPy: for games with a table, and opponents that are
    fixed policies. The same draws give the same games, but PyTorch's generator, seeded from `np_random`,
    draws other numbers than NumPy's. The host waits for the device once a step, to check the actions, and
    again with `illegal="raise"`, without autoreset, and at starts that a function draws or one reply may end.
    In "same_step" `info["final_obs"]` and `info["final_info"]` have the arrays of all sub-envs, as they were
    before the reset: those that ended are in `info["_final_obs"]`, `bool[B]`.
    """

    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        num_envs: int = 1,
        opponent: Opponents | None = "random",
        *,
        opponent_weights: ArrayLike | None = None,
        play_as: PlayAs = "random",
        illegal: Illegal = "lose",
        rewards: Sequence[float] | Mapping[str, float] = (1.0, 0.0, -1.0, -1.0),
        observation: ObservationKind = "planes",
        start: StartLike | None = None,
        render_mode: VectorRenderMode | None = None,
        autoreset_mode: Autoreset | AutoresetMode = "next_step",
        backend: BackendName = "numpy",
        device: str | None = None,
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
        self._backend = backend_of(backend, device)
        self._store = store_of(self.game, self._backend)
        self._openings = Openings(self._store, self._starts(), self.play_as)
        self._set_replies(None if opponent is None else self._replies_of(opponent, opponent_weights))
        if opponent is None and (play_as != "random" or opponent_weights is not None):
            raise ParameterError("play_as, opponent_weights: there is no opponent, both sides are played")
        self._true, self._false = self._of_all(True), self._of_all(False)
        self._over = self._false

    def _starts(self) -> Starts:
        return self._start if isinstance(self._start, Position) else self._drawn_start

    def _drawn_start(self, rng: np.random.Generator) -> Position:
        return self._first_position({}, rng)

    def _replies_of(self, opponent: Opponents, weights: ArrayLike | None) -> Replies:
        return Replies(self._store, Lineup(opponent, weights, self.game))

    def _set_replies(self, replies: Replies | None) -> None:
        self._replies = replies
        self._n_draws = self._rows_of_draws()
        self._steps = steps_of(self._store, self._openings, replies, self._rewards_by_code())

    @property
    def opponents(self) -> list[Agent]:
        """The agents of which each episode draws its opponent; none if both sides are stepped."""
        return [] if self._replies is None else list(self._replies.agents)

    def set_opponent(self, opponent: Opponents, weights: ArrayLike | None = None) -> None:
        """Play against this agent, or one drawn from a list of them for each sub-env, from the next reply on.

        `weights`, one number ≥ 0 for each of a list, are in proportion to the chances; None: all alike.
        The policies of a small game are tabulated now: call it again for an agent that has learned.
        Raises `ParameterError` for other weights and where both sides are stepped; nothing has changed then.
        """
        if self._replies is None or opponent is None:
            raise ParameterError("opponent=None, both sides, is chosen when the environment is made")
        self._set_replies(self._replies_of(opponent, weights))
        if self._games is not None:
            who = self._replies.numbers(self._draws(1)[0])
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
        with self._unchanged_by_errors():
            games = self._games or self._blank()
            if seed is not None:
                self._seed(seed)
                games = games._replace(episodes=self._backend.xp.where(is_reset, 0, games.episodes))
            draws = self._draws(N_DRAWS)
            openings = Openings(
                self._store, options.get("position") or self._starts(), options.get("play_as", self.play_as)
            )
            self._games = openings.begin(games, is_reset, self._replies, draws, self.np_random)
        self._over = ~self._store.is_open(self._games.state)
        return self._seen(self._games)

    def _checked_options(self, options: dict[str, Any]) -> Array:
        """Which sub-envs to reset, `[B]`. Makes a list of the positions."""
        check_names("reset options", options, _OPTIONS)
        if "play_as" in options:
            one_of("play_as", options["play_as"], get_args(PlayAs) if self._replies else ("random",))
        is_reset = as_reset_mask(options.get("reset_mask"), self.num_envs, self._backend)
        if self._games is None and not is_reset.all():
            raise EpisodeOrderError("a reset_mask before the first reset()")
        if "position" in options:
            options["position"] = as_positions(options["position"], self.num_envs, self._checked_start)
        return is_reset

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Play a cell in every sub-env. Returns observations, rewards, terminations, truncations, info.

        Raises `EpisodeOrderError` before `reset`, and after the end of an episode without autoreset;
        `IllegalMoveError` for actions that are not integers `[B]`, each a cell (also where it is ignored).
        Nothing has changed then.
        """
        cells = self._checked_actions(actions)
        if self._steps.are_sure:
            return self._step(cells)
        with self._unchanged_by_errors():
            return self._step(cells)

    def _rows_of_draws(self) -> int:
        """How many rows of numbers a step draws."""
        if self.illegal == "resample":
            return RESAMPLE + 1
        if self._replies is None:
            return 0
        return OPPONENT + 1 if self._replies.is_mixed else SEAT + 1

    def _step(self, cells: Cells) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        draws = self._draws(self._n_draws)
        games, rng, copy = self._begun(), self.np_random, self._backend.copy
        if self.illegal == "resample":
            cells = resampled(self._store, games.state, cells, draws[RESAMPLE])
        begins = self._over if self.autoreset_mode is NEXT_STEP else None
        games, over, rewards, of_seats = self._steps.step(games, cells, begins, draws, rng)
        final: dict[str, Any] = {}
        if self.autoreset_mode is SAME_STEP and (self._backend.is_remote or over.any()):
            final = self._final(games, over)
            games = self._steps.begin(games, over, draws, rng)
        self._games, self._over = games, over
        observation, info = self._seen(games)
        if of_seats is not None:
            info["rewards"], info["_rewards"] = of_seats, info["_action_mask"]
        info.update(final)
        return observation, rewards, copy(over), copy(self._false), info

    def _checked_actions(self, actions: Any) -> Cells:
        """The actions as an array. Raises the errors of `step`."""
        if self._games is None:
            raise EpisodeOrderError("step() before reset(): call reset()")
        cells = as_cells(actions, self.num_envs, self.game, self._backend)
        if self.autoreset_mode is DISABLED and self._over.any():
            at = np.flatnonzero(self._backend.get(self._over)).tolist()
            raise EpisodeOrderError(f"the episodes of sub-envs {at} are over: reset them by a reset_mask")
        if self.illegal == "raise":
            refuse_taken(self._store, self._games.state, cells)
        return cells
