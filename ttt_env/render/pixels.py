"""A position as an array of pixels, by NumPy alone, a game as an animated GIF, by Pillow, and in a window.

Shapes are signed distances to their edge, negative inside, which half a pixel on either side turns into
coverage: https://iquilezles.org/articles/distfunctions2d/
"""

import os
import sys
from collections.abc import Collection
from functools import lru_cache
from io import BytesIO
from itertools import count
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import extra_for
from ttt_env.render import layout as plan
from ttt_env.render.text import draw_text
from ttt_env.rules import GameRecord, Position

Pixels = NDArray[np.uint8]
Floats = NDArray[np.floating[Any]]


def draw_pixels(
    position: Position, last: int | None = None, cell_size: int | None = None, is_blunder: bool = False
) -> Pixels:
    """The board as RGB `[height, width, 3]`, of even height and width.

    It shows what `draw_svg` does. `cell_size` is the width of a cell in pixels. By default tic-tac-toe is
    about 480 pixels wide, and a large board is at most 1,000.
    """
    layout = plan.layout_of(position.game, cell_size)
    picture = _empty_board(layout).copy()
    for box, look in zip(layout.tiles, plan.tile_styles(position, last, is_blunder), strict=True):
        if look.mark:
            _paste(picture, box, _stone(look, box.width, layout.cell, layout.tile_radius))
    return picture


@lru_cache(maxsize=8)
def _empty_board(layout: plan.Layout) -> Pixels:
    picture = np.full((layout.height, layout.width, 3), _rgb(plan.CARD), dtype=np.uint8)
    for box in layout.panels:
        _paste(picture, box, _rounded(box.width, box.height, layout.panel_radius, plan.PANEL, plan.CARD))
    for box in layout.tiles:
        _paste(picture, box, _rounded(box.width, box.height, layout.tile_radius, plan.TILE, plan.PANEL))
    return picture


@lru_cache(maxsize=256)
def _rounded(width: int, height: int, radius: float, colour: str, ground: str) -> Pixels:
    """A rectangle with round corners, `[height, width, 3]`."""
    x, y = _from_centre(width, height)
    beyond_x = np.maximum(abs(x) - (width / 2 - radius), 0)
    beyond_y = np.maximum(abs(y) - (height / 2 - radius), 0)
    return _paint(_rgb(ground), np.hypot(beyond_x, beyond_y) - radius, colour)


@lru_cache(maxsize=64)
def _stone(look: plan.TileStyle, side: int, cell: int, radius: float) -> Pixels:
    """A tile with a stone on it, `[side, side, 3]`."""
    tile, stone = look.colours
    x, y = _from_centre(side, side)
    if look.mark == "O":
        distance = abs(np.hypot(x, y) - plan.RING_RADIUS * cell)
    else:  # by symmetry, all four arms as the one at positive x, y
        along = np.minimum((abs(x) + abs(y)) / 2, plan.CROSS_REACH * cell)
        distance = np.hypot(abs(x) - along, abs(y) - along)
    beyond_stroke = distance - plan.STROKE * cell / 2
    return _paint(_rounded(side, side, radius, tile, plan.PANEL), beyond_stroke, stone)


def _from_centre(width: int, height: int) -> tuple[Floats, Floats]:
    """The x `[1, width]` and y `[height, 1]` of the pixels' middles, from the middle of the picture."""
    x, y = np.arange(width) + 0.5 - width / 2, np.arange(height) + 0.5 - height / 2
    return x[None, :], y[:, None]


def _paint(ground: NDArray[Any], distance: Floats, colour: str) -> Pixels:
    """`ground` with `colour` on it wherever `distance` `[height, width]` is negative."""
    coverage = np.clip(0.5 - distance, 0, 1)[..., None]
    painted: Pixels = np.rint(ground + coverage * (_rgb(colour) - ground)).astype(np.uint8)
    return painted


def _paste(picture: Pixels, box: plan.Box, sprite: Pixels) -> None:
    picture[box.y : box.y + box.height, box.x : box.x + box.width] = sprite


def _rgb(colour: str) -> NDArray[np.float64]:
    return np.array(list(bytes.fromhex(colour[1:])), dtype=np.float64)


_FRAME, _END = 800, 3000  # milliseconds
_MAX_SIZE = 600  # pixels; larger files take long to make and to send


def draw_gif(record: GameRecord, blunders: Collection[int] = ()) -> bytes:
    """The content of an endless GIF: the empty board, then a frame for each move, the last one shown longer.

    The moves with the numbers `blunders` are yellow. Raises `ImportError` if Pillow is not installed.
    """
    with extra_for("animations need", "plot"):
        from PIL import Image
    moves = zip(count(), record.positions(), (None, *record.cells))
    layout = plan.layout_of(record.game)
    fitting = layout.cell * _MAX_SIZE // max(layout.width, layout.height)
    cell_size = max(plan.MIN_CELL, min(layout.cell, fitting))
    frames = (
        Image.fromarray(draw_pixels(position, cell, cell_size, number in blunders))
        for number, position, cell in moves
    )
    durations = [*[_FRAME] * len(record.cells), _END]
    file = BytesIO()
    next(frames).save(file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0)
    return file.getvalue()


_DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
_EVENT_RATE = 60


class Window:
    """A window, opened by the first `show`; where there is no display, boards are printed instead.

    Every position is shown for 1/`fps` seconds. Once closed, by `close` or by its user, it stays closed:
    `show` then does nothing. A copy, pickled or not, is a new window that has not been opened yet.
    """

    def __init__(self, fps: float = 4) -> None:
        self.fps = fps
        self._state: Literal["new", "open", "printing", "closed"] = "new"

    def __reduce__(self) -> tuple[type[Self], tuple[float]]:
        return type(self), (self.fps,)

    def show(self, position: Position, last: int | None = None) -> None:
        """Show `position` and its last move for a while.

        Raises `ImportError` if there is a display and pygame is not installed.
        """
        if self._state == "new":
            layout = plan.layout_of(position.game)
            if _open_display((layout.width, layout.height)):
                self._state = "open"
            else:
                self._state = "printing"
                print("No display was found, so the boards are printed.")
        if self._state == "open":
            import pygame

            picture = draw_pixels(position, last)
            size = picture.shape[1], picture.shape[0]
            surface = pygame.display.get_surface()
            if surface is None or surface.get_size() != size:
                surface = pygame.display.set_mode(size)
            pygame.display.set_caption(position.game.name)
            surface.blit(pygame.image.frombuffer(picture.tobytes(), size, "RGB"), (0, 0))
            pygame.display.flip()
            clock, waited = pygame.time.Clock(), 0
            while self._state == "open" and waited < 1000 / self.fps:
                if any(event.type == pygame.QUIT for event in pygame.event.get()):
                    self.close()
                waited += clock.tick(_EVENT_RATE)
        elif self._state == "printing":
            print(draw_text(position, last))

    def close(self) -> None:
        """Close the window if it is open."""
        if self._state == "open":
            import pygame

            pygame.display.quit()
        self._state = "closed"


def _open_display(size: tuple[int, int]) -> bool:
    """Open a window of this size; True if that worked and the window is visible."""
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in _DISPLAY_VARIABLES):
        return False
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with extra_for('render_mode="human" needs pygame of', "render"):
        import pygame
    try:
        pygame.display.init()
        pygame.display.set_mode(size)
    except pygame.error:
        return False
    # If DISPLAY names no display, SDL silently draws into memory.
    return pygame.display.get_driver() != "offscreen" or bool(os.environ.get("SDL_VIDEODRIVER"))
