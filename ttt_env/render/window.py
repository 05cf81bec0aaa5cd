"""A window that shows a game move by move."""

import os
import sys
from typing import Literal, Self

from ttt_env.errors import extra_for
from ttt_env.render.layout import layout_of
from ttt_env.render.pixels import draw_pixels
from ttt_env.render.text import draw_text
from ttt_env.rules import Position

_DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
_EVENT_RATE = 60


class Window:
    """A window, opened by the first `show`; where there is no display, boards are printed instead.

    Every position stays for 1/`fps` seconds. Once closed, by `close` or by its user, it stays closed:
    `show` then does nothing. A copy, or a pickled one read back, is a new window not opened yet.
    """

    def __init__(self, fps: float = 4) -> None:
        self.fps = fps
        self._state: Literal["new", "open", "printing", "closed"] = "new"

    def __reduce__(self) -> tuple[type[Self], tuple[float]]:
        return type(self), (self.fps,)

    def show(self, position: Position, last: int | None = None) -> None:
        """Show `position` and its last move, and let a person look at it.

        Raises `ImportError` if there is a display and pygame is not installed.
        """
        if self._state == "new":
            self._open(position)
        if self._state == "open":
            self._draw(position, last)
            self._linger()
        elif self._state == "printing":
            print(draw_text(position, last))

    def close(self) -> None:
        """Close the window if it is open."""
        if self._state == "open":
            import pygame

            pygame.display.quit()
        self._state = "closed"

    def _open(self, position: Position) -> None:
        layout = layout_of(position.game)
        if _opens_display((layout.width, layout.height)):
            self._state = "open"
        else:
            self._state = "printing"
            print("No display was found, so the boards are printed.")

    def _draw(self, position: Position, last: int | None) -> None:
        import pygame

        picture = draw_pixels(position, last)
        size = picture.shape[1], picture.shape[0]
        surface = pygame.display.get_surface()
        if surface is None or surface.get_size() != size:
            surface = pygame.display.set_mode(size)
        pygame.display.set_caption(position.game.name)
        surface.blit(pygame.image.frombuffer(picture.tobytes(), size, "RGB"), (0, 0))
        pygame.display.flip()

    def _linger(self) -> None:
        """Wait 1/`fps` seconds, and close the window if its user does."""
        import pygame

        clock = pygame.time.Clock()
        waited = 0
        while self._state == "open" and waited < 1000 / self.fps:
            if any(event.type == pygame.QUIT for event in pygame.event.get()):
                self.close()
            waited += clock.tick(_EVENT_RATE)


def _opens_display(size: tuple[int, int]) -> bool:
    """Open a window of this size; True if that worked and somebody can see it."""
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
    # If DISPLAY names no display, SDL draws only into memory without being asked to.
    return pygame.display.get_driver() != "offscreen" or bool(os.environ.get("SDL_VIDEODRIVER"))
