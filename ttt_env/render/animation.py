"""A game as an animated GIF; Pillow, of the extra `plot`, is imported when one is made."""

from io import BytesIO

from ttt_env.render.layout import MIN_CELL, layout_of
from ttt_env.render.pixels import draw_pixels
from ttt_env.rules.notation import GameRecord

_FRAME, _END = 800, 3000  # milliseconds
_MAX_SIZE = 600  # pixels; larger files take long to make and to send


def draw_gif(record: GameRecord) -> bytes:
    """The file of an endless GIF: the empty board, then a frame for each move, the last one held longer.

    Raises `ImportError` if Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError('animations need the extra "plot": pip install "ttt-env[plot]"') from error
    moves = zip(record.positions(), (None, *record.cells), strict=True)
    layout = layout_of(record.game)
    fitting = layout.cell * _MAX_SIZE // max(layout.width, layout.height)
    cell_size = max(MIN_CELL, min(layout.cell, fitting))
    frames = (Image.fromarray(draw_pixels(position, cell, cell_size)) for position, cell in moves)
    durations = [*[_FRAME] * len(record.cells), _END]
    file = BytesIO()
    next(frames).save(file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0)
    return file.getvalue()
