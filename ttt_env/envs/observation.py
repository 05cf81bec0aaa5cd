"""The one place where positions become arrays and spaces."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ttt_env.errors import ParameterError, unknown
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game, Position

ObservationKind = Literal["planes", "dict"]
_MEMO_SIZE = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """All that an environment tells of a position. The arrays are templates: copy them.

    `value` is what the end of the game is worth to who made the last move, None while it goes on.
    `mover` and `waiting` are the planes `int8[*shape, 2]` that the two players see, `mask` `int8[cells]`
    the legal cells, read-only.
    """

    position: Position
    value: int | None
    legal: int
    mover: NDArray[np.int8]
    waiting: NDArray[np.int8]
    mask: NDArray[np.int8]


class Scenes:
    """The scenes of a game, remembered: copying an array costs a tenth of making it."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.no_mask = _mask(0, game.n_cells)
        self._known: dict[tuple[int, int], Scene] = {}

    def __reduce__(self) -> tuple[type["Scenes"], tuple[Game]]:
        return type(self), (self.game,)

    def of(self, position: Position) -> Scene:
        """The scene of a position."""
        _, mine, theirs = position
        return self._known.get((mine, theirs)) or self._made(position)

    def after(self, position: Position, cell: int) -> Scene:
        """The scene after a legal cell has been played."""
        _, mine, theirs = position
        return self._known.get((theirs, mine | 1 << cell)) or self._made(position.child(cell))

    def _made(self, position: Position) -> Scene:
        game, mine, theirs = position
        value = self._value(position)
        legal = game.full_mask ^ position.occupied_mask if value is None else 0
        planes = np.stack([_spread(mine, game.n_cells), _spread(theirs, game.n_cells)], axis=-1)
        planes = planes.reshape(*game.shape, 2)
        scene = Scene(position, value, legal, planes, planes[..., ::-1].copy(), _mask(legal, game.n_cells))
        if len(self._known) >= _MEMO_SIZE:
            self._known.clear()
        self._known[mine, theirs] = scene
        return scene

    def _value(self, position: Position) -> int | None:
        if self.game.owns_set(position.theirs):
            return -1 if self.game.misere else 1
        return 0 if position.occupied_mask == self.game.full_mask else None


def _spread(mask: int, n_cells: int) -> NDArray[np.int8]:
    octets = np.frombuffer(mask.to_bytes(-(-n_cells // 8), "little"), np.uint8)
    return np.unpackbits(octets, count=n_cells, bitorder="little").astype(np.int8)


def planes_of(boards: Boards) -> NDArray[np.int8]:
    """What the players to move see, `int8[B, *shape, 2]`."""
    planes = np.stack([boards.cells(boards.mine), boards.cells(boards.theirs)], axis=-1)
    return planes.reshape(len(boards), *boards.game.shape, 2).view(np.int8)


def _mask(legal: int, n_cells: int) -> NDArray[np.int8]:
    mask = _spread(legal, n_cells)
    mask.flags.writeable = False
    return mask


def observation_space(game: Game, kind: ObservationKind) -> spaces.Space[Any]:
    """A new space of observations.

    "planes": `int8[*shape, 2]`, plane 0 the stones of the player who looks, plane 1 the other's.
    "dict": `{"observation": planes, "action_mask": int8[cells]}`, as in PettingZoo.

    Raises `ParameterError` for another kind.
    """
    if kind not in get_args(ObservationKind):
        raise ParameterError(unknown("observation", kind, get_args(ObservationKind)))
    planes = spaces.Box(0, 1, (*game.shape, 2), np.int8)
    if kind == "planes":
        return planes
    mask = spaces.Box(0, 1, (game.n_cells,), np.int8)
    return spaces.Dict({"observation": planes, "action_mask": mask})
