"""A picture, which a notebook shows and which is saved as SVG or as PNG."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ttt_env.errors import ParameterError, missing_extra

_SCALE = 2  # pixels of a PNG for each unit of the SVG, as sharp screens have them
_FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


@dataclass(frozen=True)
class Picture:
    """A picture as the text of a self-contained SVG document."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to `path`, which ends in .svg or .png; PNG at twice the size, for sharp screens.

        Raises `ParameterError` for another suffix, `ImportError` for a PNG without the extra `plot`.
        """
        write(path, self.formats)

    @property
    def formats(self) -> dict[str, Callable[[], bytes]]:
        """For each suffix, the function that makes the content of the file."""
        return {".svg": self.svg.encode, ".png": lambda: _png(self.svg)}


def write(path: str | Path, formats: Mapping[str, Callable[[], bytes]]) -> None:
    """Write what the function for the suffix of `path` returns. Raises `ParameterError` if there is none."""
    make = formats.get(Path(path).suffix.lower())
    if make is None:
        raise ParameterError(f"{str(path)!r} is no picture's name, which must end in {' or '.join(formats)}")
    Path(path).write_bytes(make())


def _png(svg: str) -> bytes:
    """The picture as PNG, in the fonts that come with matplotlib: the same on every machine."""
    try:
        from matplotlib import get_data_path
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise missing_extra("PNG pictures need", "plot") from error
    fonts = Path(get_data_path()) / "fonts" / "ttf"
    return svg_to_bytes(
        svg,
        zoom=_SCALE,
        skip_system_fonts=True,
        font_files=[str(fonts / name) for name in _FONTS],
        sans_serif_family="DejaVu Sans",
    )
