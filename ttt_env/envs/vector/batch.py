"""What the vector environment shows of its games: observations, rewards, infos, pictures."""

from functools import partial
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ttt_env.envs.board import GameEnv
from ttt_env.envs.observation import ObservationKind, observation_space
from ttt_env.envs.seeding import SeededEnv
from ttt_env.envs.vector.backends import Array
from ttt_env.envs.vector.engine import Games
from ttt_env.envs.vector.final import final_infos, whole_infos
from ttt_env.envs.vector.replies import Replies
from ttt_env.envs.vector.store import Store
from ttt_env.errors import EpisodeOrderError
from ttt_env.render.pixels import draw_pixels
from ttt_env.render.text import draw_text
from ttt_env.rules.boards import Boards

VectorRenderMode = Literal["ansi", "rgb_array"]


class BatchEnv(GameEnv, SeededEnv):
    """The boards of a batch of games, as `BoardEnv` is one."""

    _store: Store
    _replies: Replies | None
    _true: Array  # [B], to be copied
    _false: Array
    _games: Games | None = None

    def _set_spaces(self, observation: ObservationKind) -> None:
        self.single_observation_space = observation_space(self.game, observation)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = spaces.Discrete(self.game.n_cells)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _rewards_by_code(self) -> NDArray[np.float64]:
        """What the ends are worth to the looker, `[codes]`."""
        by_me, by_other = self.rewards_of.at_end(-1 if self.game.misere else 1)
        draw, illegal = self.rewards_of.draw, self.rewards_of.illegal
        return np.array([0.0, by_other, draw, by_me, draw, illegal, 0.0])

    @property
    def boards(self) -> Boards:
        """The positions of the sub-envs. Raises `EpisodeOrderError` before the first `reset`."""
        return self._store.boards(self._begun().state)

    @property
    def seats(self) -> Array:
        """The seats of who looks at the observations, `int8[B]`: 0 is X, 1 is O."""
        return self._backend.copy(self._begun().seats)

    def _of_all(self, value: Any, kind: str = "bool") -> Array:
        """`[B]` times this value."""
        xp = self._backend.xp
        return xp.full(self.num_envs, value, dtype=getattr(xp, kind), device=self._backend.device)

    def _begun(self) -> Games:
        if self._games is None:
            raise EpisodeOrderError("there are no positions yet: call reset() first")
        return self._games

    def action_masks(self) -> Array:
        """The cells that may be played now, `bool[B, cells]`; sb3-contrib asks for them by this name."""
        xp = self._backend.xp
        if self._games is None:
            return xp.zeros((self.num_envs, self.game.n_cells), dtype=xp.bool, device=self._backend.device)
        return self._store.masks(self._games.state).view(xp.bool)

    def _blank(self) -> Games:
        state = self._store.of(Boards.start(self.game, self.num_envs))
        return Games(state, *(self._of_all(0, kind) for kind in ("int8", "int64", "int64")))

    def _seen(self, games: Games) -> tuple[Any, dict[str, Any]]:
        """Observation and info."""
        copy, store = self._backend.copy, self._store
        planes, mask = store.planes(games.state), store.masks(games.state)
        info = {"action_mask": mask, "_action_mask": copy(self._true)}
        if self._replies is None:
            info["seat"], info["_seat"] = copy(games.seats), info["_action_mask"]
        if self._gives_dict:
            return {"observation": planes, "action_mask": copy(mask)}, info
        return planes, info

    def _ended(self, games: Games, over: Array) -> Games:
        """The games of the sub-envs that are over."""
        index = over.nonzero()[0]
        state = self._backend.take(games.state, index, -1)
        return games._replace(state=state, seats=games.seats[index])

    def _final(self, games: Games, over: Array) -> dict[str, Any]:
        """`final_obs` and `final_info`, in Gymnasium's form in NumPy, else for all sub-envs as they are."""
        if self._backend.is_remote:
            return whole_infos(*self._seen(games), partial(self._backend.copy, over))
        return final_infos(*self._seen(self._ended(games, over)), over)

    def render(self) -> tuple[Any, ...] | None:
        """The boards as `render_mode` says: texts, or RGB pictures `uint8[height, width, 3]`."""
        draw = {"ansi": draw_text, "rgb_array": draw_pixels}.get(self.render_mode)
        if draw is None:
            gymnasium.logger.warn("render() without a render_mode: give make_vec() one of ansi, rgb_array")
            return None
        return tuple(draw(position, None) for position in self.boards)
