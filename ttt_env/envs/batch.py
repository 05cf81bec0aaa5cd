"""What the vector environment shows of its games: observations, rewards, infos, pictures."""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ttt_env.envs.board import GameEnv
from ttt_env.envs.final import final_infos
from ttt_env.envs.observation import ObservationKind, observation_space
from ttt_env.envs.openings import Games
from ttt_env.envs.replies import Replies
from ttt_env.envs.stores import OF_OTHER, Store, part_of
from ttt_env.errors import EpisodeOrderError
from ttt_env.render.pixels import draw_pixels
from ttt_env.render.text import draw_text
from ttt_env.rules.boards import Boards

VectorRenderMode = Literal["ansi", "rgb_array"]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class BatchEnv(GameEnv, VectorEnv[Any, Any, Any]):
    """The boards of a batch of games, as `BoardEnv` is one."""

    _store: Store
    _replies: Replies | None
    _games: Games | None = None

    def _set_spaces(self, observation: ObservationKind) -> None:
        self.single_observation_space = observation_space(self.game, observation)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = spaces.Discrete(self.game.n_cells)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _set_rewards(self) -> None:
        """What the ends are worth to the looker, by code, and to the other."""
        by_me, by_other = self.rewards_of.at_end(-1 if self.game.misere else 1)
        draw, illegal = self.rewards_of.draw, self.rewards_of.illegal
        self._rewards = np.array([0.0, by_other, draw, by_me, draw, illegal, 0.0])
        self._rewards_of_other = self._rewards[OF_OTHER]

    @property
    def boards(self) -> Boards:
        """The positions of the sub-envs. Raises `EpisodeOrderError` before the first `reset`."""
        return self._store.boards(self._begun().state)

    @property
    def seats(self) -> NDArray[np.int8]:
        """The seats of who looks at the observations, `[B]`: 0 is X, 1 is O."""
        return self._begun().seats.copy()

    def _begun(self) -> Games:
        if self._games is None:
            raise EpisodeOrderError("there are no positions yet: call reset() first")
        return self._games

    def action_masks(self) -> Bools:
        """The cells that may be played now, `bool[B, cells]`; sb3-contrib asks for them by this name."""
        if self._games is None:
            return np.zeros((self.num_envs, self.game.n_cells), np.bool_)
        return self._store.masks(self._games.state).view(np.bool_)

    def _blank(self) -> Games:
        n = self.num_envs
        state = self._store.of(Boards.start(self.game, n))
        return Games(state, np.zeros(n, np.int8), np.zeros(n, np.intp), np.zeros(n, np.int64))

    def _rewards_for(self, codes: NDArray[np.uint8], games: Games, infos: dict[str, Any]) -> Floats:
        """The rewards of who has just been stepped; those of both go to `infos` if both are."""
        of_looker = self._rewards.take(codes)
        if self._replies is not None:
            return of_looker
        of_mover: Floats = self._rewards_of_other.take(codes)
        looks_x = games.seats == 0
        both = np.where(looks_x, of_looker, of_mover), np.where(looks_x, of_mover, of_looker)
        infos |= {"rewards": np.stack(both, axis=1), "_rewards": np.ones(self.num_envs, np.bool_)}
        return of_mover

    def _seen(self, games: Games) -> tuple[Any, dict[str, Any]]:
        """Observation and info."""
        planes, mask = self._store.planes(games.state), self._store.masks(games.state)
        all_have = np.ones(self.num_envs, np.bool_)
        info = {"action_mask": mask, "_action_mask": all_have}
        if self._replies is None:
            info |= {"seat": games.seats.copy(), "_seat": all_have.copy()}
        if self._gives_dict:
            return {"observation": planes, "action_mask": mask.copy()}, info
        return planes, info

    def _final(self, games: Games, over: Bools) -> dict[str, Any]:
        index = over.nonzero()[0]
        ended = games._replace(state=part_of(games.state, index), seats=games.seats[index])
        return final_infos(*self._seen(ended), over)

    def render(self) -> tuple[Any, ...] | None:
        """The boards as `render_mode` says: texts, or RGB pictures `uint8[height, width, 3]`."""
        draw = {"ansi": draw_text, "rgb_array": draw_pixels}.get(self.render_mode)
        if draw is None:
            gymnasium.logger.warn("render() without a render_mode: give make_vec() one of ansi, rgb_array")
            return None
        return tuple(draw(position, None) for position in self.boards)
