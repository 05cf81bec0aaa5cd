"""Games as data, and the rules of play on plain Python ints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_env.errors import (
    CellError,
    GameError,
    IllegalMoveError,
    ImpossiblePositionError,
    NotationError,
    brief,
)
from ttt_env.rules.checks import as_generator, integer_of
from ttt_env.rules.parameters import Between, checked
from ttt_env.rules.shapes import (
    Coordinates,
    checked_coordinates,
    checked_sets,
    checked_shape,
    checked_supports,
    runs_along,
    supports_along,
)
from ttt_env.rules.sizes import NAME_LETTERS, check_board

if TYPE_CHECKING:
    from pathlib import Path

    from ttt_env.render.svg import Picture

Seat = Literal["X", "O"]
SEATS: tuple[Seat, Seat] = ("X", "O")
_ORDERS = 10_000  # the most orders to try, of removing stones from a board with gravity


@dataclass(frozen=True, repr=False)
class Game:
    """A positional game: whoever first owns all cells of a winning set wins (misère: loses).

    Args:
        name: One line of printable text of up to 500 letters. An id of this package, alone or before a colon,
            must name the game that `get_game` returns for it.
        shape: The lengths of the board's one to six axes; cells are numbered row-major (C order) from 0.
        winning_sets: Collections of cells; order and repetitions in them do not count.
        misere: Whether completing a set loses.
        coordinates: Where each cell is drawn, as (x, y), x to the right and y down, in any unit; by default
            the cells lie in the rows of `shape`. Games that differ in nothing else are equal.
        supports: For each cell the cell that must be taken before it may be played, or None: gravity, where
            that is the cell below. By default no cell needs another one.

    Raises:
        GameError: Name, shape, winning sets, coordinates or supports are invalid.
        GameTooLargeError: The board has more than 64 cells, or the game more than 20,000 winning sets.

    Example:
        >>> Game("corners", (2, 2), [(0, 3), (1, 2)])
        Game('corners', (2, 2), 2 winning sets)

    """

    name: str
    shape: tuple[int, ...]
    winning_sets: tuple[tuple[int, ...], ...]
    misere: bool = False
    coordinates: Coordinates | None = field(default=None, compare=False)
    supports: tuple[int | None, ...] = ()

    def __init__(
        self,
        name: str,
        shape: Iterable[int],
        winning_sets: Iterable[Iterable[int]],
        misere: bool = False,
        coordinates: Iterable[tuple[float, float]] | None = None,
        supports: Iterable[int | None] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.isprintable() or not name or name != name.strip():
            raise GameError(
                f"the name of a game is one line of printable text without space around it, not {brief(name)}"
            )
        if len(name) > NAME_LETTERS:
            raise GameError(f"the name of a game has at most {NAME_LETTERS} letters: {brief(name)}")
        axes = checked_shape(shape, name)
        sets = checked_sets(winning_sets, prod(axes))
        places = None if coordinates is None else checked_coordinates(coordinates, prod(axes))
        if not isinstance(misere, bool):
            raise GameError(f"misere={brief(misere)}: expected True or False")
        below = checked_supports(supports, prod(axes))
        self.__dict__.update(
            name=name, shape=axes, winning_sets=sets, misere=misere, coordinates=places, supports=below
        )
        from ttt_env.rules.catalogue import CATALOGUE, checked_rules, stem_of  # it imports this module

        if stem_of(name) in CATALOGUE:
            checked_rules(self)

    def __hash__(self) -> int:
        return hash((self.name, self.misere))

    def __repr__(self) -> str:
        misere = ", misere=True" if self.misere else ""
        gravity = ", with gravity" if self.has_gravity else ""
        return f"Game({self.name!r}, {self.shape}, {len(self.winning_sets)} winning sets{misere}{gravity})"

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        rules = self.name, self.shape, self.winning_sets, self.misere
        return type(self), (*rules, self.coordinates, self.supports)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @cached_property
    def n_cells(self) -> int:
        """The number of cells of the board."""
        return prod(self.shape)

    @cached_property
    def full_mask(self) -> int:
        """The bit mask of all cells."""
        return (1 << self.n_cells) - 1

    @cached_property
    def winning_masks(self) -> tuple[int, ...]:
        """The winning sets as bit masks."""
        return tuple(sum(1 << cell for cell in cells) for cells in self.winning_sets)

    @cached_property
    def winning_masks_through(self) -> tuple[tuple[int, ...], ...]:
        """For each cell, the bit masks of the winning sets that hold it."""
        through: list[list[int]] = [[] for _ in range(self.n_cells)]
        for mask, cells in zip(self.winning_masks, self.winning_sets, strict=True):
            for cell in cells:
                through[cell].append(mask)
        return tuple(map(tuple, through))

    @cached_property
    def has_gravity(self) -> bool:
        """True if some cell may be played only after another one."""
        return any(support is not None for support in self.supports)

    @property
    def is_monotone(self) -> bool:
        """True if an extra stone never hurts its owner.

        It can hurt in a misère game, and with gravity, where the other player can then play above it. Several
        methods rely on this: that X does not lose under best play (Hales and Jewett 1963), sequences of
        threats, pairings and zones.
        """
        return not (self.misere or self.has_gravity)

    @cached_property
    def resting(self) -> tuple[tuple[int, int], ...]:
        """The cells that rest on others, as pairs (distance to the support, bit mask of the cells).

        >>> Game("a stack of three", (3, 1), [(0, 1, 2)], supports=[1, 2, None]).resting
        ((1, 3),)
        """
        masks: dict[int, int] = {}
        for cell, support in enumerate(self.supports):
            if support is not None:
                masks[support - cell] = masks.get(support - cell, 0) | 1 << cell
        return tuple(sorted(masks.items()))

    @cached_property
    def ground(self) -> int:
        """The bit mask of the cells that rest on no other."""
        return sum(1 << cell for cell, support in enumerate(self.supports) if support is None)

    @cached_property
    def columns(self) -> tuple[tuple[int, ...], ...]:
        """The cells that rest on each other, from below, ordered by the lowest cell of each column.

        Where no cell rests on another, and where two rest on the same one, each cell is a column of its own.

        >>> Game("corners", (2, 2), [(0, 3), (1, 2)]).with_gravity().columns
        ((2, 0), (3, 1))
        """
        above = {support: cell for cell, support in enumerate(self.supports) if support is not None}
        if len(above) < self.n_cells - self.ground.bit_count():
            return tuple((cell,) for cell in range(self.n_cells))
        columns = []
        for cell in cells_of(self.ground):
            column = [cell]
            while column[-1] in above:
                column.append(above[column[-1]])
            columns.append(tuple(column))
        return tuple(columns)

    @cached_property
    def column_of(self) -> tuple[int, ...]:
        """The number of the column of each cell."""
        numbers = {cell: number for number, cells in enumerate(self.columns) for cell in cells}
        return tuple(numbers[cell] for cell in range(self.n_cells))

    def supported(self, occupied: int) -> int:
        """The cells that rest on nothing or on one of these stones, as a bit mask.

        Args:
            occupied: The stones, as a bit mask.

        """
        supported = self.ground
        for distance, cells in self.resting:
            supported |= (occupied >> distance if distance > 0 else occupied << -distance) & cells
        return supported

    def playable(self, occupied: int) -> int:
        """The legal moves if these cells are taken and the game is not over, as a bit mask.

        They are the free cells that rest on nothing or on a stone. `ttt_env.rules.playable` is the same for
        batches, `compiled.bits.playable` in compiled code.

        Args:
            occupied: The stones, as a bit mask.

        """
        return self.supported(occupied) & ~occupied

    def tops(self, occupied: int) -> int:
        """The stones that support no other stone, as a bit mask; one of them was the last move.

        Args:
            occupied: The stones, as a bit mask.

        """
        under = 0
        for distance, cells in self.resting:
            above = occupied & cells
            under |= above << distance if distance > 0 else above >> -distance
        return occupied & ~under

    @cached_property
    def start(self) -> Position:
        """The empty board."""
        return Position(self, 0, 0)

    def with_gravity(self, axis: int = 0, name: str | None = None) -> Game:
        """The game in which a cell may be played only when the next one along an axis is taken.

        Args:
            axis: The axis along which stones fall, towards its end: with 0 down the columns of a board.
            name: The name of the new game; by default "gravity on" and the name of this one.

        Raises:
            GameError: The board has no such axis.

        Example:
            >>> game = Game("corners", (2, 2), [(0, 3), (1, 2)]).with_gravity()
            >>> game.start.legal_cells, game.start.play(2).legal_cells
            ([2, 3], [0, 3])

        """
        number = integer_of(axis)
        if number is None or not 0 <= number < len(self.shape):
            raise GameError(f"axis={brief(axis)}: {self.name} has the axes 0 to {len(self.shape) - 1}")
        return Game(
            f"gravity on {self.name}" if name is None else name,
            self.shape,
            self.winning_sets,
            self.misere,
            self.coordinates,
            supports_along(self.shape, number),
        )

    @staticmethod
    @checked
    def runs(
        shape: Iterable[int], k: Annotated[int, Between(1)], wrap: bool = False
    ) -> list[tuple[int, ...]]:
        """All straight runs of `k` cells, diagonals too, as the cells of each.

        Args:
            shape: The lengths of the board's one to six axes, for example (rows, columns).
            k: The number of cells in a run.
            wrap: Whether a run continues at the opposite edge: the board is then a torus.

        Raises:
            GameError: The shape is invalid.
            GameTooLargeError: The board has more than 64 cells.
            ParameterError: `k` is below 1.

        Example:
            >>> [len(Game.runs(shape, k)) for shape, k in [((3, 3), 3), ((4, 4, 4), 4), ((2,) * 4, 2)]]
            [8, 76, 120]
            >>> len(Game.runs((3, 3), 3, wrap=True))
            12

        """
        shape = checked_shape(shape)
        directions = [d for d in product((-1, 0, 1), repeat=len(shape)) if d > (0,) * len(shape)]
        if k == 1:
            directions = directions[:1]
        runs = (run for d in directions for run in runs_along(shape, d, k, wrap))
        return list({frozenset(run): run for run in runs}.values())

    @staticmethod
    @checked
    def squares(n: Annotated[int, Between(1)], tilted: bool = True) -> list[tuple[int, ...]]:
        """The corners of every square on an n×n board, n²(n²−1)/12 of them.

        Args:
            n: The length of the board's sides.
            tilted: False for only the squares with sides along the axes, (n−1)n(2n−1)/6 of them.

        Raises:
            ParameterError: `n` is below 1.
            GameTooLargeError: The board has more than 64 cells.

        Example:
            >>> len(Game.squares(4)), len(Game.squares(4, tilted=False))
            (20, 14)

        """
        check_board(f"a board of {brief(n)} by {brief(n)}", n * n)
        # A square is its bounding box (corner r, c and side) and the offset of one corner along the top.
        return [
            tuple(
                r_ * n + c_
                for r_, c_ in ((r, c + t), (r + t, c + side), (r + side, c + side - t), (r + side - t, c))
            )
            for side in range(1, n)
            for r, c in product(range(n - side), repeat=2)
            for t in range(side if tilted else 1)
        ]

    def save(self, path: str | Path) -> None:
        """Write the game as a JSON file, which `load` reads.

        Args:
            path: The path of the file.

        Raises:
            OSError: The file cannot be written.

        """
        from ttt_env.storage.game_file import save_game

        save_game(self, path)

    @staticmethod
    def load(path: str | Path) -> Game:
        """The game of a file that `save` or a person wrote.

        Its entries are the parameters of `Game`: `name`, `shape`, `winning_sets`, and optionally `misere`,
        `coordinates` and `supports`.

        Args:
            path: The path of the file.

        Raises:
            GameError: There is no such file, or it is not that of a game.

        """
        from ttt_env.storage.game_file import load_game

        return load_game(path)

    def completes(self, stones: int, cell: int) -> bool:
        """True if `stones` own a winning set through `cell`.

        Args:
            stones: The stones of one player, as a bit mask.
            cell: The cell.

        """
        for mask in self.winning_masks_through[cell]:
            if stones & mask == mask:
                return True
        return False

    def owns_set(self, stones: int) -> bool:
        """True if `stones` own a winning set.

        Args:
            stones: The stones of one player, as a bit mask.

        """
        for mask in self.winning_masks:
            if stones & mask == mask:
                return True
        return False


class _Stones:
    """The fields of a position while it is being made and they can still be set."""

    __slots__ = ("game", "mine", "theirs")

    game: Game
    mine: int
    theirs: int


class Position(_Stones):
    """The stones of the player to move and of the other one, as bit masks; immutable.

    `position[cell]` is 1 for a stone of X, −1 for one of O, 0 for a free cell, as in `board`. The constructor
    trusts its caller: check masks from outside by `checked`, and read text by `parse`.

    Args:
        game: The game.
        mine: The stones of the player to move; bit c is set for cell c.
        theirs: The stones of the other player.

    Example:
        >>> position = Position.parse("XX./OO./...")
        >>> position.to_move, position.legal_cells, position[3]
        ('X', [2, 5, 6, 7, 8], -1)
        >>> after = position.play(2)
        >>> str(after), after.is_over, after.winner
        ('XXX/OO./...', True, 'X')

    """

    __slots__ = ()
    __iter__ = None  # else Python would iterate by `position[0]`, `position[1]`, …

    def __new__(cls, game: Game, mine: int, theirs: int) -> Self:  # noqa: D102
        # The change of class makes the fields read-only: half the time of `object.__setattr__` for each.
        stones = _Stones()
        stones.game, stones.mine, stones.theirs = game, mine, theirs
        stones.__class__ = cls
        return stones  # type: ignore[return-value]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a position cannot be changed: {name}={brief(value)}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a position cannot be changed: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not Position:
            return NotImplemented
        is_same = self.mine == other.mine and self.theirs == other.theirs
        return is_same and (self.game is other.game or self.game == other.game)

    def __hash__(self) -> int:
        return hash((self.mine, self.theirs))

    def __reduce__(self) -> tuple[type[Self], tuple[Game, int, int]]:
        return type(self), (self.game, self.mine, self.theirs)

    def __getitem__(self, cell: int) -> int:
        number = as_cell(cell, self.game)
        return (self.x_mask >> number & 1) - (self.o_mask >> number & 1)

    @property
    def board(self) -> NDArray[np.int8]:
        """The stones as a new `int8` array of the board's shape, where 1 is X, −1 is O and 0 is empty.

        >>> Position.parse("XO./.X./...").board.tolist()
        [[1, -1, 0], [0, 1, 0], [0, 0, 0]]
        """
        stones = np.zeros(self.game.n_cells, np.int8)
        stones[cells_of(self.x_mask)], stones[cells_of(self.o_mask)] = 1, -1
        return stones.reshape(self.game.shape)

    @property
    def planes(self) -> NDArray[np.int8]:
        """The observation of the player to move, `int8[*shape, 2]`, as in the environments.

        Plane 0 has a 1 for each stone of the player to move, plane 1 for each of the opponent.

        >>> Position.parse("XO./.../...").planes[0].tolist()
        [[1, 0], [0, 1], [0, 0]]
        """
        planes = np.zeros((self.game.n_cells, 2), np.int8)
        planes[cells_of(self.mine), 0] = planes[cells_of(self.theirs), 1] = 1
        return planes.reshape(*self.game.shape, 2)

    @staticmethod
    def parse(text: str, game: Game | str = "tictactoe-v0") -> Position:
        """The position that `text` shows.

        Args:
            text: Rows of `X`, `O`, `.` joined by `/`, layers by `|`; or all cells in a row. Lower-case
                letters, and `_`, `-` or a space for an empty cell, are read too.
            game: The game, or its id.

        Returns:
            The position; X is to move if there are as many X as O.

        Raises:
            NotationError: The text has another form.
            ImpossiblePositionError: No game puts the stones there.

        Example:
            >>> Position.parse("XX./OO./...") == Position.parse("xx_oo____")
            True

        """
        from ttt_env.rules import notation

        return notation.parse_position(text, game)

    @staticmethod
    def of(stones: ArrayLike, game: Game | str = "tictactoe-v0") -> Position:
        """The position with the stones of an array.

        Args:
            stones: 1 for X, −1 for O and 0 for an empty cell, `[cells]` or in the shape of the board.
            game: The game, or its id.

        Returns:
            The position; X is to move if there are as many X as O.

        Raises:
            NotationError: The array has another size, or other numbers.
            ImpossiblePositionError: No game puts the stones there.

        Example:
            >>> str(Position.of([[1, 1, 0], [-1, -1, 0], [0, 0, 0]]))
            'XX./OO./...'

        """
        from ttt_env.rules import notation
        from ttt_env.rules.catalogue import get_game

        game, array = get_game(game), np.asarray(stones)
        if array.size != game.n_cells or not np.isin(array, (-1, 0, 1)).all():
            raise NotationError(
                f"stones={brief(stones)}: {game.name} has {game.n_cells} cells, each 1 for X, −1 for O or 0"
            )
        return notation.position_of(array.ravel().tolist(), game)

    def __str__(self) -> str:
        from ttt_env.rules import notation

        return notation.format_position(self)

    def __repr__(self) -> str:
        return f"Position.parse({str(self)!r}, {self.game.name!r})"

    def picture(self, policy: Sequence[float] | None = None, last: int | None = None) -> Picture:
        """The board, to show in a notebook or to save as SVG or PNG.

        Args:
            policy: Probabilities `[cells]` to show on the free cells.
            last: The cell of the last move, which is highlighted.

        Raises:
            ParameterError: `policy` is not a distribution over the free cells.

        """
        from ttt_env.render.svg import Picture, draw_svg

        return Picture(draw_svg(self, last, policy=policy))

    def _repr_svg_(self) -> str:
        return self.picture().svg

    @property
    def occupied_mask(self) -> int:
        """The bit mask of all stones."""
        return self.mine | self.theirs

    @property
    def ply(self) -> int:
        """The number of stones on the board."""
        return self.occupied_mask.bit_count()

    @property
    def to_move(self) -> Seat:
        """The seat to move; on a finished board, the seat whose turn it would be."""
        return SEATS[self.ply % 2]

    @property
    def x_mask(self) -> int:
        """The bit mask of X's stones."""
        return self.theirs if self.ply % 2 else self.mine

    @property
    def o_mask(self) -> int:
        """The bit mask of O's stones."""
        return self.mine if self.ply % 2 else self.theirs

    @property
    def legal_mask(self) -> int:
        """The bit mask of the cells that may be played; 0 if the game is over."""
        return 0 if self.is_won else self.game.playable(self.occupied_mask)

    @property
    def legal_cells(self) -> list[int]:
        """The cells that may be played, ascending; none if the game is over."""
        return cells_of(self.legal_mask)

    @property
    def is_won(self) -> bool:
        """True if the last move completed a winning set, so that the game has a winner."""
        return self.game.owns_set(self.theirs)

    @property
    def is_over(self) -> bool:
        """True if no move may be made."""
        return self.occupied_mask == self.game.full_mask or self.is_won

    @property
    def winner(self) -> Seat | None:
        """The seat that has won; None in a draw and in an unfinished game."""
        for seat, stones in zip(SEATS, (self.x_mask, self.o_mask), strict=True):
            if self.game.owns_set(stones):
                return other_seat(seat) if self.game.misere else seat
        return None

    def play(self, cell: int) -> Position:
        """The position after the player to move has played `cell`.

        Args:
            cell: The cell.

        Raises:
            IllegalMoveError: `cell` is not a cell, is taken or rests on a free one, or the game is over.

        """
        number = as_cell(cell, self.game)
        if self.is_over:
            raise IllegalMoveError(f"cannot play {number}: the game {self} is over")
        if not self.legal_mask >> number & 1:
            raise IllegalMoveError(illegal_move_message(self, number))
        return self.child(number)

    def child(self, cell: int) -> Position:
        """`play` without its checks.

        Args:
            cell: A legal cell, as a Python int.

        """
        stones = _Stones()  # as in the constructor, without the time of calling it
        stones.game, stones.mine, stones.theirs = self.game, self.theirs, self.mine | 1 << cell
        stones.__class__ = Position
        return stones  # type: ignore[return-value]

    def checked(self) -> Self:
        """The position itself, if legal moves can lead to it.

        Raises:
            ImpossiblePositionError: No legal moves lead to it.

        """
        fault = _fault(self)
        if fault:
            raise ImpossiblePositionError(f"impossible position of {self.game.name}: {fault}")
        return self


def random_position(game: Game | str, rng: np.random.Generator | int | None = None) -> Position:
    """An open position after a uniformly drawn number of random moves.

    There are fewer moves where the next one would end the game.

    Args:
        game: The game, or its id.
        rng: A generator or a seed.

    Raises:
        UnknownGameError: There is no game of this id.
        ParameterError: `rng` is neither a generator nor a seed.

    Example:
        >>> position = random_position("tictactoe-v0", rng=0)
        >>> position.is_over, position == random_position("tictactoe-v0", rng=0)
        (False, True)

    """
    from ttt_env.rules.catalogue import get_game  # it imports this module

    game = get_game(game)
    rng, position = as_generator(rng), game.start
    for _ in range(int(rng.integers(game.n_cells))):
        cells = position.legal_cells
        after = position.child(cells[int(rng.random() * len(cells))])
        if after.is_over:
            break
        position = after
    return position


def cells_of(mask: int) -> list[int]:
    """The set bits of `mask`, ascending.

    >>> cells_of(0b1011)
    [0, 1, 3]
    """
    cells = []
    while mask:
        low = mask & -mask
        cells.append(low.bit_length() - 1)
        mask ^= low
    return cells


def check_game(position: object, game: Game) -> Position:
    """The position, which may be given as its text.

    Raises `ImpossiblePositionError` for a position of another game, and for anything else; for text as
    `parse` does.
    """
    if isinstance(position, str):
        return Position.parse(position, game)
    if not isinstance(position, Position):
        raise ImpossiblePositionError(f"{brief(position)} is not a Position of {game.name}, nor its text")
    if position.game != game:
        raise ImpossiblePositionError(f"{position} is a position of {position.game.name}, not of {game.name}")
    return position


def as_cell(action: object, game: Game) -> int:
    """`action` as a cell of the board: any integer type, or a zero-dimensional integer array.

    Raises `CellError` for anything else, such as NaN, fractions and negative numbers.
    """
    cell = action if type(action) is int else integer_of(action)
    if cell is not None and 0 <= cell < game.n_cells:
        return cell
    raise CellError(
        f"{brief(action)} is not a cell of {game.name}: expected an integer from 0 to {game.n_cells - 1}"
    )


def illegal_move_message(position: Position, cell: int, where: str = "") -> str:
    """The message that a cell cannot be played: it is taken, or rests on a free one."""
    named = f"cell {cell} of {position}{where}"
    if position.occupied_mask >> cell & 1:
        return f"{named} is taken; free are {position.legal_cells}"
    below = position.game.supports[cell]
    return f"{named} rests on cell {below}, which is free; legal are {position.legal_cells}"


def other_seat(seat: Seat) -> Seat:
    """The seat of the opponent."""
    return "O" if seat == "X" else "X"


def _fault(position: Position) -> str | None:
    """The reason why no game leads to `position`, or None."""
    game, mine, theirs = position.game, position.mine, position.theirs
    if type(mine) is not int or type(theirs) is not int:
        return f"masks are ints, not {brief(mine)} and {brief(theirs)}"
    if not 0 <= mine <= game.full_mask or not 0 <= theirs <= game.full_mask:
        return f"stones outside the {game.n_cells} cells"
    if mine & theirs:
        return f"both players on cells {cells_of(mine & theirs)}"
    if mine.bit_count() != theirs.bit_count() - position.ply % 2:
        x, o = position.x_mask.bit_count(), position.o_mask.bit_count()
        return f"{x} X and {o} O, but X has as many stones as O, or one more"
    if game.owns_set(mine) and game.owns_set(theirs):
        return "both players own a winning set"
    if game.owns_set(mine):
        return "a winning set was completed, and then the other player moved"
    if game.owns_set(theirs) and all(game.owns_set(theirs ^ 1 << c) for c in cells_of(theirs)):
        return "two winning sets that no single last move completes"
    if floating := cells_of(position.occupied_mask & ~game.supported(position.occupied_mask)):
        return f"cell {floating[0]} is taken before cell {game.supports[floating[0]]}, on which it rests"
    # Without gravity, every order of the stones is possible.
    if game.has_gravity and not _has_move_order(game, mine, theirs, set()):
        return "no order of moves, each on a free cell that nothing lies under, puts the stones there"
    return None


def _has_move_order(game: Game, mine: int, theirs: int, visited: set[int]) -> bool:
    """True if the stones can be removed one by one, the other player's first, with no game over between.

    If none of the first `_ORDERS` orders works, the answer is True, since there may be another.
    """
    occupied = mine | theirs
    if not occupied or len(visited) > _ORDERS:
        return True
    for cell in cells_of(theirs & game.tops(occupied)):
        before = theirs ^ 1 << cell
        if occupied ^ 1 << cell in visited or game.owns_set(before):
            continue
        if _has_move_order(game, before, mine, visited):
            return True
        visited.add(occupied ^ 1 << cell)
    return False
