"""Greedy policies as they are at one moment, kept as one bit mask a position."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from ttt_env.agent import Agent, Floats, checked_policies
from ttt_env.analysis.evaluation import best_response
from ttt_env.analysis.grid import grid
from ttt_env.analysis.induction import TwoPass, Values, backward_induction, best
from ttt_env.analysis.layers import Layer, reachable
from ttt_env.analysis.solution import ValueAgent
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import check_enumerable, is_tabulated


class Frozen(Agent):
    """Plays uniformly among the cells that `agent` may play now, however that agent changes later.

    This is the agent's policy where that is uniform among some cells, as greedy policies are: those of
    Q-networks, deterministic models, best responses, minimax. With `layers` only the positions in these are
    kept; in others all free cells are alike.

    Raises `GameTooLargeError` if the game cannot be enumerated.
    """

    is_fixed = True

    def __init__(self, agent: Agent, layers: Sequence[Layer] | None = None) -> None:
        super().__init__(agent.game)
        masks = _no_masks(agent.game)
        for layer in layers or reachable(agent.game):
            masks[layer.ply] = _cells_of(agent, layer)
        self._cells = Values(agent.game, masks)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        kept = boards.cells(self._cells.of(boards).astype(np.uint64))
        cells = np.where(kept.any(axis=1, keepdims=True), kept, boards.legal)
        policies: Floats = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1)
        return policies


class Remembered(Agent):
    """Plays uniformly among the cells that `agent` may play, and asks it only once about each position.

    That is the agent's policy where that is uniform among some cells. It must not change any more. Raises
    `GameTooLargeError` if the game cannot be enumerated.
    """

    is_fixed = True

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.game)
        self._agent = agent
        self._cells = Values(agent.game, _no_masks(agent.game))

    def __reduce__(self) -> tuple[type["Remembered"], tuple[Agent]]:
        return type(self), (self._agent,)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        masks = self._cells.of(boards).astype(np.uint64)
        new = np.flatnonzero(masks == 0)
        if len(new):
            masks[new] = self._asked(boards[new])
        cells = boards.cells(masks)
        policies: Floats = cells / cells.sum(axis=1, keepdims=True)
        return policies

    def _asked(self, boards: Boards) -> np.ndarray:
        """The bit masks of the cells that the agent may play, `[B]`, which are kept."""
        masks = _masks_of(self._agent, boards)
        for ply in np.unique(boards.ply):
            at = np.flatnonzero(boards.ply == ply)
            slots = grid(self.game.n_cells, int(ply)).slots(boards.mine[at], boards.theirs[at])
            self._cells.layers[ply][slots] = masks[at]
        return masks


def _no_masks(game: Game) -> list[np.ndarray]:
    check_enumerable(game)
    return [np.zeros(grid(game.n_cells, ply).n_slots, np.uint32) for ply in range(game.n_cells + 1)]


def _masks_of(agent: Agent, boards: Boards) -> np.ndarray:
    """The bit masks of the cells that the agent may play, `[B]`; games of so many cells have at most 18."""
    bits = np.uint32(1) << np.arange(agent.game.n_cells, dtype=np.uint32)
    masks: np.ndarray = (checked_policies(agent, boards) > 0) @ bits
    return masks


def _cells_of(agent: Agent, layer: Layer) -> np.ndarray:
    """The bit masks of the cells that the agent may play, by slot."""
    masks = np.zeros(layer.grid.n_slots, np.uint32)
    for moves in layer.moves():
        masks[moves.slots] = _masks_of(agent, moves.boards)
    return masks


def response_to(agent: Agent) -> Frozen:
    """A best response to a fixed policy; if the game is not small, only where play against it can lead.

    Raises `GameTooLargeError` if the game cannot be enumerated.
    """
    if is_tabulated(agent.game):
        return Frozen(best_response(agent, agent.game))
    as_x, x_layers = _response_as("X", agent)
    as_o, o_layers = _response_as("O", agent)
    return Frozen(ValueAgent(agent.game, (as_x, best), (as_o, best)), [*x_layers[::2], *o_layers[1::2]])


def _response_as(seat: str, agent: Agent) -> tuple[Values, list[Layer]]:
    """The values of a best response that plays this seat, and the positions that can come up."""
    follows = TwoPass(partial(checked_policies, agent))
    x, o = (None, follows) if seat == "X" else (follows, None)
    layers = reachable(agent.game, x, o)
    return backward_induction(layers, x or best, o or best).values(), layers
