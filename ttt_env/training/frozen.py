"""Greedy policies as they are at one moment, kept as one bit mask a position."""

from collections.abc import Iterable

import numpy as np

from ttt_env.agent import Agent, Floats, checked_policies
from ttt_env.analysis.evaluation import best_response, explored_between
from ttt_env.analysis.grid import grid
from ttt_env.analysis.induction import Values, backward_induction, best
from ttt_env.analysis.layers import Bools, Layer, reachable
from ttt_env.analysis.solution import ValueAgent
from ttt_env.rules import Boards, check_enumerable, is_tabulated


class Frozen(Agent):
    """Plays uniformly among the cells that `agent` may play now, however that agent changes later.

    This is the agent's policy where that is uniform among some cells, as greedy policies are: of
    Q-networks, deterministic models, best responses, minimax. With `layers` only the positions in these are
    kept; in others all free cells are equally likely.

    Raises `GameTooLargeError` if the game cannot be enumerated.
    """

    is_fixed = True

    def __init__(self, agent: Agent, layers: Iterable[Layer] | None = None) -> None:
        game = agent.game
        super().__init__(game)
        check_enumerable(game)
        numbers = (grid(game.n_cells, ply).n_slots for ply in range(game.n_cells + 1))
        self._masks = Values(game, [np.zeros(n_slots, np.uint32) for n_slots in numbers])
        for layer in reachable(game) if layers is None else layers:
            for moves in layer.moves():
                self._masks.layers[layer.ply][moves.slots] = _masks_of(agent, moves.boards)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        masks = self._masks.of(boards).astype(np.uint64)
        if len(new := np.flatnonzero(masks == 0)):
            masks[new] = self._unknown(boards[new])
        cells = boards.cells(masks)
        policies: Floats = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1)
        return policies

    def _unknown(self, boards: Boards) -> np.ndarray:
        """The bit masks of the cells to play in positions that are not kept, `[B]`."""
        return _as_masks(boards.legal)


class Remembered(Frozen):
    """Plays uniformly among the cells that `agent` may play, and asks it only once about each position.

    That is the agent's policy where that is uniform among some cells. It must not change any more. Raises
    `GameTooLargeError` if the game cannot be enumerated.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent, ())
        self._agent = agent

    def __reduce__(self) -> tuple[type["Remembered"], tuple[Agent]]:
        return type(self), (self._agent,)

    def _unknown(self, boards: Boards) -> np.ndarray:
        masks = _masks_of(self._agent, boards)
        for ply, at in boards.by_ply():
            slots = grid(self.game.n_cells, ply).slots(boards.mine[at], boards.theirs[at])
            self._masks.layers[ply][slots] = masks[at]
        return masks


def _masks_of(agent: Agent, boards: Boards) -> np.ndarray:
    """The bit masks of the cells that the agent may play, `[B]`, of at most 18 cells in such games."""
    return _as_masks(checked_policies(agent, boards) > 0)


def _as_masks(cells: Bools) -> np.ndarray:
    masks: np.ndarray = cells @ (np.uint32(1) << np.arange(cells.shape[1], dtype=np.uint32))
    return masks


def response_to(agent: Agent) -> Frozen:
    """A best response to a fixed policy; if the game is not small, only where play against it can lead.

    Raises `GameTooLargeError` if the game cannot be enumerated.
    """
    if is_tabulated(agent.game):
        return Frozen(best_response(agent, agent.game))
    values, kept = [], list[Layer]()
    for first_ply, agents in enumerate(((None, agent), (agent, None))):
        layers, responders = explored_between(*agents)
        values.append(backward_induction(layers, *(each or best for each in responders)).values())
        kept += layers[first_ply::2]
    as_x, as_o = values
    return Frozen(ValueAgent(agent.game, (as_x, best), (as_o, best)), kept)
