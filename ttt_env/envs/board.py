"""The base of environments: settings (`GameEnv`), opponents, and one board with its drawing (`BoardEnv`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict, cast, get_args

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_env.agent import Agent, AgentLike, make_agent
from ttt_env.envs.actions import ActionKind, Actions
from ttt_env.envs.observation import ObservationKind, Scene, Scenes
from ttt_env.errors import (
    EpisodeOrderError,
    IllegalMoveError,
    ImpossiblePositionError,
    ParameterError,
    brief,
    unknown,
)
from ttt_env.render.pixels import Window, draw_pixels
from ttt_env.render.svg import draw_svg
from ttt_env.render.text import draw_text
from ttt_env.rules import (
    Game,
    Position,
    Seat,
    check_game,
    check_names,
    declared,
    get_game,
    illegal_move_message,
    items_of,
    parameters_of_game,
)
from ttt_env.rules.checks import as_weights

Illegal = Literal["lose", "raise", "resample"]
RenderMode = Literal["ansi", "rgb_array", "human"]
PlayAs = Literal["X", "O", "random", "alternate"]
MAX_STARTS = 1000  # attempts to draw the start of an episode before an error
StartLike: TypeAlias = Position | Callable[[np.random.Generator], Position]


class Info(TypedDict):
    """The `info` that `reset` and `step` of the single-agent environment return, of numbers and arrays only.

    Attributes:
        action_mask: The legal actions, `int8[actions]`; all 1 once the episode is over, so that a softmax
            over the legal actions is defined there, too.
        seat: The user's seat: 0 for X, 1 for O; `env.seat` is its name.
        winner: Only after the step that ends an episode: the seat that has won, as 0 or 1; −1 in a draw, and
            after an illegal move, with which its player loses but neither seat wins.
        forfeit: True if the opponent has lost by naming no free cell, else absent; `env.forfeit` says why.

    """

    action_mask: NDArray[np.int8]
    seat: int
    winner: NotRequired[int]
    forfeit: NotRequired[bool]


NUMBER_OF: dict[Seat | None, int] = {"X": 0, "O": 1, None: -1}
"""The numbers of the seats, and of None, in `info`."""


class Rewards(NamedTuple):
    """The rewards of a player at the end of an episode; every other reward is 0."""

    win: float = 1.0
    draw: float = 0.0
    loss: float = -1.0
    illegal: float = -1.0

    @classmethod
    def of(cls, rewards: Sequence[float] | Mapping[str, float]) -> Rewards:
        """The rewards from four finite numbers, or from some by name. Raises `ParameterError` otherwise."""
        if isinstance(rewards, Mapping):
            check_names("rewards", rewards, cls._fields, "key")
        try:
            unchecked = cls(**rewards) if isinstance(rewards, Mapping) else cls._make(_in_order(rewards))
            numbers = cls._make(float(reward) for reward in unchecked)
        except Exception:  # they may be of a user's class
            numbers = None
        if numbers is None or not all(map(isfinite, numbers)):
            raise ParameterError(
                f"rewards={brief(rewards)}: expected four finite numbers, for win, draw, loss and illegal"
            )
        return numbers

    def at_end(self, value: int) -> tuple[float, float]:
        """The rewards of the last mover, to whom the end has this value, and of the other player."""
        by_value = (self.draw, self.win, self.loss)
        return by_value[value], by_value[-value]


DEFAULT_REWARDS = Rewards()


def _in_order(rewards: object) -> Sequence[float]:
    if isinstance(rewards, str | bytes) or not isinstance(rewards, Sequence | np.ndarray):
        raise TypeError(rewards)
    return items_of(rewards, len(Rewards._fields)) or []


class GameEnv:
    """The settings that all environments have.

    With `actions="columns"` an action is a column in games with gravity, and a cell in others; with "cells"
    it is a cell in every game.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(get_args(RenderMode)), "render_fps": 4}

    game: Game
    np_random: np.random.Generator
    render_mode: str | None

    def _configure(
        self,
        game: Game | str,
        parameters: Mapping[str, Any],
        illegal: Illegal,
        rewards: Sequence[float] | Mapping[str, float],
        observation: ObservationKind,
        start: StartLike | None,
        render_mode: RenderMode | None,
        actions: ActionKind,
    ) -> None:
        """Check and store the settings, before anything else of the environment is made."""
        of_game = parameters_of_game(game)
        self._settings = frozenset({*of_game, *declared(type(self)), "opponent"})
        self.game = get_game(game, **{name: parameters[name] for name in of_game if name in parameters})
        for name in parameters.keys() - of_game.keys():
            text = unknown(f"parameter of {self.game.name}", name, self._settings)
            if name == "device":
                text += ". These environments run on the CPU; ttt_env.integrations.jax has one for GPUs"
            if name == "frameskip":  # TorchRL tries it, and looks for Python's own words
                text += " (unexpected keyword argument 'frameskip')"
            raise ParameterError(text)
        self.rewards_of = Rewards.of(rewards)
        self.illegal = illegal
        self.render_mode = render_mode
        self._observation_kind = observation
        self._actions = Actions(self.game, actions)
        start = self.game.start if start is None else start
        self._start = start if callable(start) else self._checked_start(start)

    def _checked_start(self, position: object) -> Position:
        start = check_game(position, self.game).checked()
        if start.is_over:
            raise ImpossiblePositionError(f"no episode can start in {position}: the game is over")
        return start

    def _first_position(self, options: Mapping[str, Any], rng: np.random.Generator) -> Position:
        if "position" in options:
            return self._checked_start(options["position"])
        if callable(self._start) and not isinstance(self._start, Position):
            return self._checked_start(self._start(rng))
        return self._start


class BoardEnv(GameEnv):
    """The board of an environment with a single game."""

    _scene: Scene | None = None
    _legal = 0  # the bit mask of the cells that may be played now; 0 when the episode is over

    def _set_board(self) -> None:
        """Make what the board needs, after `_configure`."""
        self._scenes = Scenes(self.game, self._actions)
        self._window = Window(fps=self.metadata["render_fps"]) if self.render_mode == "human" else None
        self.last_cell: int | None = None  # of the last move

    @property
    def position(self) -> Position:
        """The current position.

        Raises:
            EpisodeOrderError: `reset` has not been called.

        """
        if self._scene is None:
            raise EpisodeOrderError("there is no position yet: call reset() first")
        return self._scene.position

    def _repr_svg_(self) -> str:
        """The board for notebooks; the empty board before the first `reset`."""
        position = self.game.start if self._scene is None else self._scene.position
        return draw_svg(position, self.last_cell)

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, `bool[actions]`; sb3-contrib calls this method.

        All are False before the first `reset`. Once an episode is over they are as in its last `info`.
        """
        return self._mask().view(np.bool_)

    def _mask(self) -> NDArray[np.int8]:
        scene = self._scene
        if scene is None:
            return self._scenes.none.copy()
        return (scene.free if self._legal else self._scenes.all).copy()

    def _show(self, scene: Scene, cell: int | None) -> None:
        """Show this scene, after a move to `cell`."""
        self._scene, self._legal, self.last_cell = scene, scene.legal, cell
        if self._window is not None:
            self._window.show(scene.position, cell)

    def _replacement_cell(self, cell: int) -> int | None:
        """The cell to play in place of a taken one; None if the player loses.

        Raises `IllegalMoveError` if `illegal` is "raise".
        """
        if self.illegal == "lose":
            return None
        cells = self.position.legal_cells
        if self.illegal == "raise":
            raise IllegalMoveError(illegal_move_message(self.position, cell))
        return cells[int(self.np_random.random() * len(cells))]

    def render(self) -> str | NDArray[np.uint8] | None:
        """The board as text ("ansi"), as an RGB picture `uint8[height, width, 3]` ("rgb_array"), or None.

        With `render_mode="human"` a window shows every move as it is made.
        """
        if self.render_mode == "ansi":
            return draw_text(self.position, self.last_cell)
        if self.render_mode == "rgb_array":
            return draw_pixels(self.position, self.last_cell)
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode: give make() one of ansi, rgb_array, human")
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()


class OpponentMix:
    """One opponent or a list of them, and the probability with which each is drawn.

    `weights` are one finite number ≥ 0 for each agent, not all 0, in proportion to the probabilities; None
    makes all equally likely. `trusted` is as in `make_agent`. Raises `ParameterError` for other weights and
    for an empty list.
    """

    def __init__(
        self,
        opponent: AgentLike | Sequence[AgentLike],
        weights: ArrayLike | None,
        game: Game,
        trusted: bool = True,
    ) -> None:
        is_one = isinstance(opponent, str) or not isinstance(opponent, Sequence)
        agents = cast("Sequence[AgentLike]", [opponent] if is_one else opponent)
        if not agents:
            raise ParameterError("opponent=[]: expected at least one agent")
        self.agents = [make_agent(agent, game, trusted=trusted) for agent in agents]
        self.totals = np.cumsum(as_weights("opponent_weights", weights, len(agents)))
        self.totals /= self.totals[-1]

    def pick(self, draw: float) -> Agent:
        """The agent for a draw from [0, 1), the first whose cumulative probability exceeds it."""
        return self.agents[int(self.totals.searchsorted(draw, side="right"))]
