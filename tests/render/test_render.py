"""Positions as text, as SVG and as pixels."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ttt_env.render.layout import STONE, TINT, Box, layout_of, tile_styles
from ttt_env.render.pixels import draw_pixels
from ttt_env.render.svg import draw_svg
from ttt_env.render.text import draw_text
from ttt_env.render.words import signed
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Game, Position

SVG = "{http://www.w3.org/2000/svg}"
MIDGAME = Position.parse("X.O/.X./..O")
ROW_OF_X = Position.parse("XXX/OO./...")
SHAPES = [(1,), (7,), (3, 3), (4, 4), (2, 5), (8, 8), (3, 3, 3), (4, 4, 4), (2, 1, 3)]


def play_moves(game: Game, *cells: int) -> Position:
    position = game.start
    for cell in cells:
        position = position.play(cell)
    return position


def game_of(shape: tuple[int, ...]) -> Game:
    return Game("any", shape, [(0,)])


def some_stones(shape: tuple[int, ...]) -> Position:
    game = Game("any", shape, [range(int(np.prod(shape)))])
    return play_moves(game, *range(0, game.n_cells, 2))


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def crop(picture: np.ndarray[Any, Any], box: Box) -> np.ndarray[Any, Any]:
    return picture[box.y : box.y + box.height, box.x : box.x + box.width]


def has_colour(picture: np.ndarray[Any, Any], colour: str) -> bool:
    return bool((picture == rgb(colour)).all(axis=-1).any())


class TestText:
    def test_free_cells_are_blank(self) -> None:
        assert draw_text(MIDGAME).splitlines() == [
            "┌───┬───┬───┐",
            "│ X │   │ O │",
            "├───┼───┼───┤",
            "│   │ X │   │",
            "├───┼───┼───┤",
            "│   │   │ O │",
            "└───┴───┴───┘",
        ]

    def test_columns_fit_widest_number(self) -> None:
        position = play_moves(get_game("square-v0"), 5, 15)
        assert draw_text(position, last=15, numbers=True).splitlines()[1::2] == [
            "│ 0  │ 1  │ 2  │ 3  │",
            "│ 4  │ X  │ 6  │ 7  │",
            "│ 8  │ 9  │ 10 │ 11 │",
            "│ 12 │ 13 │ 14 │[O] │",
        ]

    def test_one_dimensional_board_is_one_row(self) -> None:
        assert draw_text(play_moves(Game("row", (4,), [(0, 1)]), 3)).splitlines()[1] == "│   │   │   │ X │"

    def test_layers_are_side_by_side_with_headings(self) -> None:
        lines = draw_text(play_moves(get_game("qubic-v0"), 0, 63)).splitlines()
        assert lines[0].split() == ["layer", "0", "layer", "1", "layer", "2", "layer", "3"]
        assert lines[2].startswith("│ X │   │") and lines[8].endswith("│   │ O │")
        assert len(lines) == 10 and max(map(len, lines)) <= 80

    def test_wide_layers_wrap(self) -> None:
        text = draw_text(get_game("qubic-v0").start, numbers=True)
        first, second = text.split("\n\n")
        assert first.split()[:4] == ["layer", "0", "layer", "1"]
        assert second.split()[:4] == ["layer", "2", "layer", "3"]

    @pytest.mark.parametrize("shape", SHAPES)
    def test_every_cell_is_shown_once(self, shape: tuple[int, ...]) -> None:
        text = draw_text(game_of(shape).start, numbers=True)
        numbers = text if len(shape) < 3 else "".join(line for line in text.splitlines(True) if "│" in line)
        shown = [int(word) for word in numbers.replace("│", " ").split() if word.isdigit()]
        assert sorted(shown) == list(range(int(np.prod(shape))))


class TestTileStyles:
    def test_all_completed_sets_are_highlighted(self) -> None:
        position = play_moves(get_game("tictactoe-v0"), 0, 1, 2, 3, 6, 5, 8, 7, 4)
        completed = [c for c, look in enumerate(tile_styles(position, last=4)) if look.accent == "completed"]
        assert completed == [0, 2, 4, 6, 8]

    def test_tilted_square_is_highlighted(self) -> None:
        position = play_moves(get_game("square-v0"), 1, 0, 7, 5, 14, 3, 8)
        assert [look.accent for look in tile_styles(position)].count("completed") == 4
        assert [look.colours[0] for look in tile_styles(position)].count(STONE["X"]) == 4

    def test_misere_highlights_set_of_loser(self) -> None:
        position = play_moves(get_game("tictactoe-v0:misere=true"), 0, 3, 1, 4, 2)
        assert position.winner == "O"
        found = [(c, look.mark) for c, look in enumerate(tile_styles(position)) if look.accent != "none"]
        assert found == [(0, "X"), (1, "X"), (2, "X")]

    def test_only_last_move_is_highlighted_during_game(self) -> None:
        assert [c for c, look in enumerate(tile_styles(MIDGAME, last=4)) if look.accent == "last"] == [4]


class TestLayout:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_tiles_are_disjoint_and_inside_panels(self, shape: tuple[int, ...]) -> None:
        layout = layout_of(game_of(shape))
        times_used = np.zeros((layout.height, layout.width), dtype=int)
        for box in layout.tiles:
            crop(times_used, box)[...] += 1
        assert times_used.max() == 1
        assert times_used.sum() == sum(box.width * box.height for box in layout.tiles)
        in_panels = sum(crop(times_used, panel).sum() for panel in layout.panels)
        assert in_panels == times_used.sum()
        assert len(layout.panels) == (shape[0] if len(shape) == 3 else 1)

    def test_layers_are_separated_by_gap(self) -> None:
        layout = layout_of(game_of((4, 4, 4)))
        first, second, third, _ = layout.panels
        assert second.x - (first.x + first.width) >= 0.4 * layout.cell
        assert third.y - (first.y + first.height) >= 0.4 * layout.cell

    def test_three_layers_take_one_row_and_qubic_two(self) -> None:
        assert len({panel.y for panel in layout_of(game_of((3, 3, 3))).panels}) == 1
        assert len({panel.y for panel in layout_of(game_of((4, 4, 4))).panels}) == 2


class TestSvg:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_svg_is_xml_with_one_tile_per_cell(self, shape: tuple[int, ...]) -> None:
        position = some_stones(shape)
        root = ElementTree.fromstring(draw_svg(position))
        layout = layout_of(game_of(shape))
        assert root.tag == SVG + "svg" and root.get("role") == "img"
        assert len(root.findall(SVG + "rect")) == 1 + len(layout.panels) + len(layout.tiles)
        assert len(root.findall(SVG + "path")) == position.x_mask.bit_count()
        assert len(root.findall(SVG + "circle")) == position.o_mask.bit_count()

    def test_title_is_position_text(self) -> None:
        root = ElementTree.fromstring(MIDGAME._repr_svg_())
        assert root.findtext(SVG + "title") == str(MIDGAME)

    def test_size_sets_width(self) -> None:
        root = ElementTree.fromstring(draw_svg(get_game("mnk-v0", m=8, n=4).start, size=300))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        assert root.attrib["width"] == "300"
        assert float(root.attrib["height"]) == pytest.approx(300 * height / width, rel=1e-4)

    def test_last_move_and_completed_sets_colour_tiles(self) -> None:
        assert TINT["O"] not in draw_svg(MIDGAME) and TINT["O"] in draw_svg(MIDGAME, last=2)
        assert draw_svg(ROW_OF_X).count(f'fill="{STONE["X"]}"') == 3

    def test_stone_is_centred_in_tile(self) -> None:
        circle = ElementTree.fromstring(draw_svg(MIDGAME)).find(SVG + "circle")
        box = layout_of(MIDGAME.game).tiles[2]
        assert circle is not None
        assert float(circle.attrib["cx"]) == box.x + box.width / 2
        assert float(circle.attrib["cy"]) == box.y + box.height / 2


class TestPixels:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_sizes_are_even_and_bounded(self, shape: tuple[int, ...]) -> None:
        for cell_size in (None, 33):
            picture = draw_pixels(some_stones(shape), cell_size=cell_size)
            assert picture.dtype == np.uint8 and picture.shape[2] == 3
            assert picture.shape[0] % 2 == 0 and picture.shape[1] % 2 == 0
            assert cell_size or max(picture.shape) <= 1000

    def test_three_by_three_is_about_480_wide(self) -> None:
        assert abs(draw_pixels(MIDGAME).shape[1] - 480) <= 5

    @pytest.mark.parametrize("shape", SHAPES)
    def test_tile_has_only_colour_of_its_stone(self, shape: tuple[int, ...]) -> None:
        position = some_stones(shape)
        picture = draw_pixels(position)
        for cell, box in enumerate(layout_of(game_of(shape)).tiles):
            shown = crop(picture, box)
            assert has_colour(shown, STONE["X"]) == bool(position.x_mask >> cell & 1)
            assert has_colour(shown, STONE["O"]) == bool(position.o_mask >> cell & 1)

    def test_move_changes_only_its_tile(self) -> None:
        before, after = draw_pixels(MIDGAME), draw_pixels(MIDGAME.play(3))
        box = layout_of(MIDGAME.game).tiles[3]
        assert (crop(before, box) != crop(after, box)).any()
        crop(after, box)[...] = crop(before, box)
        assert (before == after).all()

    def test_last_move_is_tinted(self) -> None:
        picture, box = draw_pixels(MIDGAME, last=4), layout_of(MIDGAME.game).tiles[4]
        assert has_colour(crop(picture, box), TINT["X"]) and has_colour(crop(picture, box), STONE["X"])
        assert not has_colour(draw_pixels(MIDGAME), TINT["X"])

    def test_completed_sets_are_filled(self) -> None:
        picture = draw_pixels(ROW_OF_X, last=0)
        share = [
            (crop(picture, box) == rgb(STONE["X"])).all(axis=-1).mean()
            for box in layout_of(MIDGAME.game).tiles
        ]
        assert min(share[:3]) > 0.5 and max(share[3:]) == 0

    def test_returned_picture_is_a_copy(self) -> None:
        first = draw_pixels(MIDGAME)
        kept = first.copy()
        first[...] = 0
        assert (draw_pixels(MIDGAME) == kept).all()

    def test_strokes_match_svg(self) -> None:
        picture, root = draw_pixels(MIDGAME), ElementTree.fromstring(draw_svg(MIDGAME))
        circle, cross = root.find(SVG + "circle"), root.find(SVG + "path")
        assert circle is not None and cross is not None
        x, y, radius = (float(circle.attrib[name]) for name in ("cx", "cy", "r"))
        assert tuple(picture[int(y), int(x + radius)]) == rgb(STONE["O"])
        assert tuple(picture[int(y), int(x)]) != rgb(STONE["O"])
        ends = [float(number) for number in re.findall(r"[\d.]+", cross.attrib["d"])]
        for x, y in zip(ends[::2], ends[1::2], strict=True):
            assert tuple(picture[int(y), int(x)]) == rgb(STONE["X"])

    def test_edges_are_smooth(self) -> None:
        cross = crop(draw_pixels(MIDGAME), layout_of(MIDGAME.game).tiles[0])
        colours = np.unique(cross.reshape(-1, 3), axis=0)
        assert len(colours) > 20


def test_signed_omits_sign_of_rounded_zero():
    assert [signed(number, 2) for number in (0.5, -0.5, 0.0, -0.001)] == ["+0.50", "−0.50", "0.00", "0.00"]
