"""Observations: positions as arrays, and the spaces of these."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ttt_env.envs.actions import Actions
from ttt_env.rules import SEATS, Game, Position, Seat

ObservationKind = Literal["planes", "dict", "flat"]
Planes: TypeAlias = NDArray[np.int8]
Flat: TypeAlias = NDArray[np.float32]
Observed = TypeVar("Observed")  # the observations of an environment: `Planes`, `DictObservation` or `Flat`
_MEMO_SIZE = 10_000


class DictObservation(TypedDict):
    """The planes `int8[*shape, 2]` and the legal actions `int8[actions]`, as in PettingZoo."""

    observation: Planes
    action_mask: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The view of a position that an environment shows. The arrays are shared: hand out copies of them.

    `value` is the value of a finished game for the player who made the last move, None during the game.
    `legal` is the bit mask of the legal cells, 0 once the game is over. `free`, `int8[actions]`, are the
    actions that play a free cell, also once the game is over. `mover` and `waiting` are the planes
    `int8[*shape, 2]` that the two players see.
    """

    position: Position
    value: int | None
    legal: int
    mover: NDArray[np.int8]
    waiting: NDArray[np.int8]
    free: NDArray[np.int8]

    @property
    def winner(self) -> Seat | None:
        """The seat that has won; None in a draw and during the game."""
        return SEATS[(self.position.ply + (self.value > 0)) % 2] if self.value else None


class Scenes:
    """A cache of the scenes of a game: copying an array costs a tenth of making it."""

    def __init__(self, game: Game, actions: Actions) -> None:
        self.game, self.actions = game, actions
        self.none, self.all = np.zeros(actions.n, np.int8), np.ones(actions.n, np.int8)
        self._memo: dict[tuple[int, int], Scene] = {}

    def __reduce__(self) -> tuple[type["Scenes"], tuple[Game, Actions]]:
        return type(self), (self.game, self.actions)

    def of(self, position: Position) -> Scene:
        """The scene of a position."""
        scene = self._memo.get((position.mine, position.theirs))
        return scene or self._make_scene(position, self.game.owns_set(position.theirs))

    def after(self, position: Position, cell: int) -> Scene:
        """The scene after a legal cell has been played."""
        stones = position.mine | 1 << cell
        scene = self._memo.get((position.theirs, stones))
        return scene or self._make_scene(position.child(cell), self.game.completes(stones, cell))

    def _make_scene(self, position: Position, is_won: bool) -> Scene:
        game, mine, theirs = self.game, position.mine, position.theirs
        free = game.playable(mine | theirs)
        legal = 0 if is_won else free
        of_win = -1 if game.misere else 1  # for the player who made the last move
        value = None if legal else of_win * is_won
        bits = _unpack_bits(game.n_cells, mine, theirs, free)
        mover, waiting = (bits[order].T.reshape(*game.shape, 2) for order in (_MOVER, _WAITING))
        scene = Scene(position, value, legal, mover, waiting, self.actions.mask(bits[2]))
        if len(self._memo) >= _MEMO_SIZE:
            self._memo.clear()
        self._memo[mine, theirs] = scene
        return scene


_MOVER, _WAITING = slice(0, 2), slice(1, None, -1)


def _unpack_bits(n_cells: int, *masks: int) -> NDArray[np.int8]:
    """Bit masks as rows of 0 and 1, `int8[masks, n_cells]`."""
    n_octets = -(-n_cells // 8)
    packed = b"".join(mask.to_bytes(n_octets, "little") for mask in masks)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    return bits.view(np.int8).reshape(len(masks), 8 * n_octets)[:, :n_cells]


def flat_of(planes: Planes) -> Flat:
    """Planes `int8[B, *shape, 2]` in the form `float32[B, 2 * cells]` of `observation="flat"`, in C order."""
    return planes.reshape(len(planes), -1).astype(np.float32)


def observation_space(game: Game, kind: ObservationKind, n_actions: int) -> spaces.Space[Any]:
    """A new space of observations.

    "planes": `int8[*shape, 2]`, plane 0 the stones of the observing player, plane 1 the other's.
    "dict": `{"observation": planes, "action_mask": int8[actions]}`, as in PettingZoo.
    "flat": `float32[2 * cells]`, the planes in C order, for the networks of most other libraries.
    """
    if kind == "flat":
        return spaces.Box(0, 1, (2 * game.n_cells,), np.float32)
    planes = spaces.Box(0, 1, (*game.shape, 2), np.int8)
    if kind == "planes":
        return planes
    mask = spaces.Box(0, 1, (n_actions,), np.int8)
    return spaces.Dict({"observation": planes, "action_mask": mask})
