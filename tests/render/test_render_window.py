"""The window: its picture, closing, and behaviour without a display."""

import copy
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ttt_env.render.pixels import Window, draw_pixels
from ttt_env.render.text import draw_text
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Position

MIDGAME = Position.parse("X.O/.X./..O")
ROW_OF_X = Position.parse("XXX/OO./...")


@pytest.fixture
def pygame(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    module = pytest.importorskip("pygame")
    yield module
    module.display.quit()


@pytest.fixture
def window(pygame: Any) -> Iterator[Window]:
    window = Window(fps=1000)
    yield window
    window.close()


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)


def on_screen(pygame: Any) -> Any:
    return pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)


class TestWindow:
    def test_window_shows_picture_of_each_position(self, pygame: Any, window: Window) -> None:
        window.show(MIDGAME, last=4)
        assert (on_screen(pygame) == draw_pixels(MIDGAME, last=4)).all()
        window.show(ROW_OF_X)
        assert (on_screen(pygame) == draw_pixels(ROW_OF_X)).all()

    def test_window_resizes_for_other_game(self, pygame: Any, window: Window) -> None:
        window.show(MIDGAME)
        window.show(get_game("qubic-v0").start)
        assert (on_screen(pygame) == draw_pixels(get_game("qubic-v0").start)).all()

    def test_position_stays_for_one_frame(self, pygame: Any) -> None:
        window = Window(fps=10)
        started = time.monotonic()
        window.show(MIDGAME)
        window.show(ROW_OF_X)
        assert time.monotonic() - started >= 0.19
        window.close()

    def test_closed_window_stays_closed(self, pygame: Any, window: Window) -> None:
        window.show(MIDGAME)
        window.close()
        window.close()
        assert not pygame.display.get_init()
        window.show(MIDGAME)
        assert not pygame.display.get_init()

    def test_closing_unopened_window_keeps_display(self, pygame: Any) -> None:
        pygame.display.init()
        Window().close()
        assert pygame.display.get_init()

    def test_user_can_close_window(
        self, pygame: Any, window: Window, capsys: pytest.CaptureFixture[str]
    ) -> None:
        window.show(MIDGAME)
        pygame.event.post(pygame.event.Event(pygame.QUIT))
        window.show(MIDGAME)
        assert not pygame.display.get_init()
        window.show(ROW_OF_X)
        window.close()
        assert not pygame.display.get_init()
        assert capsys.readouterr().out == ""

    def test_window_survives_closing_of_another(self, pygame: Any, window: Window) -> None:
        other = Window(fps=1000)
        other.show(MIDGAME)
        window.show(MIDGAME)
        other.close()
        window.show(ROW_OF_X)
        assert (on_screen(pygame) == draw_pixels(ROW_OF_X)).all()

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
    def test_copy_is_new_window(self, pygame: Any, copied: Callable[[Window], Window]) -> None:
        window = Window(fps=500)
        window.show(MIDGAME)
        window.close()
        again = copied(window)
        assert again.fps == 500
        again.show(MIDGAME)
        assert (on_screen(pygame) == draw_pixels(MIDGAME)).all()
        again.close()

    def test_missing_display_prints_boards_with_one_notice(
        self, no_display: None, capsys: pytest.CaptureFixture[str]
    ) -> None:
        window = Window()
        window.show(MIDGAME, last=4)
        window.show(ROW_OF_X)
        first, *boards = capsys.readouterr().out.splitlines()
        assert "no display" in first.lower()
        assert boards == [*draw_text(MIDGAME, last=4).splitlines(), *draw_text(ROW_OF_X).splitlines()]
        window.close()
        window.show(MIDGAME)
        assert capsys.readouterr().out == ""

    @pytest.mark.parametrize(
        "environment",
        [{"SDL_VIDEODRIVER": "no such driver"},
         pytest.param({"SDL_VIDEODRIVER": None, "DISPLAY": ":4321", "WAYLAND_DISPLAY": "nowhere"},
                      marks=pytest.mark.skipif(sys.platform != "linux", reason="DISPLAY is of Linux"))],
    )  # fmt: skip
    def test_unusable_display_prints_boards(
        self,
        environment: dict[str, str | None],
        pygame: Any,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for name, value in environment.items():
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
        Window().show(MIDGAME)
        assert capsys.readouterr().out.endswith(draw_text(MIDGAME) + "\n")

    def test_missing_pygame_error_names_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
        monkeypatch.setitem(sys.modules, "pygame", None)
        with pytest.raises(ImportError, match=r'pip install "\.\[render\]"'):
            Window().show(MIDGAME)
