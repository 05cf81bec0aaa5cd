"""Pictures in notebooks and in files."""

import itertools
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import gymnasium
import numpy as np
import pytest
from PIL import Image

import ttt_env
from tests.support.faults import files_of_at_most
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.support.refusals import all_raise
from ttt_env.agents.mcts.search import Search
from ttt_env.agents.planning.planners import Minimax, Softmax
from ttt_env.analysis.known import blunders_of
from ttt_env.errors import ImpossiblePositionError, ParameterError
from ttt_env.render import charts
from ttt_env.render.layout import BLUNDER, CARD, CHANCE, INK, STONE, TINT, layout_of, shade
from ttt_env.render.pixels import draw_pixels
from ttt_env.render.svg import Picture, draw_diagram
from ttt_env.rules.game import Position, cells_of
from ttt_env.rules.notation import GameRecord

SVG = "{http://www.w3.org/2000/svg}"
GIBSON = Position.parse("XX./OO./XO.", TICTACTOE)
RECORD = GameRecord.parse("tictactoe-v0: 3 5 2 4 0 6 1")
DRAWN = GameRecord.parse("tictactoe-v0: 4 0 8 2 1 7 3 5 6")


def softmax() -> Softmax:
    return Softmax(TICTACTOE, 0.2, 1.0)


def new_search() -> Search:
    search = Search(TICTACTOE.start)
    search.run(20)
    return search


PICTURED: dict[str, Callable[[], Any]] = {
    "position": lambda: GIBSON,
    "policy": lambda: softmax().picture(GIBSON),
    "game": lambda: RECORD,
    "certificate": lambda: ttt_env.certify("win-block"),
    "tree": lambda: softmax().tree(GIBSON),
    "search": new_search,
}


def picture_of(shown: Any) -> Picture:
    return shown if isinstance(shown, Picture) else shown.picture()


def texts_of(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(SVG + "text")]


def board_titles(svg: str) -> list[str]:
    """The titles of the boards in a picture of several boards."""
    root = ElementTree.fromstring(svg)
    return [inner.findtext(SVG + "title") or "" for inner in root.iter(SVG + "svg") if inner is not root]


def fills_of(svg: str) -> list[str]:
    return [element.attrib["fill"] for element in ElementTree.fromstring(svg).iter(SVG + "rect")]


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


class TestNotebook:
    @pytest.mark.parametrize("thing", PICTURED)
    def test_notebook_picture_equals_saved_svg(self, thing: str, tmp_path: Path) -> None:
        shown = PICTURED[thing]()
        svg = shown._repr_svg_()
        root = ElementTree.fromstring(svg)
        assert root.tag == SVG + "svg"
        assert float(root.attrib["width"]) > 0 and float(root.attrib["height"]) > 0
        assert fills_of(svg)[0] == CARD
        assert {element.attrib["fill"] for element in root.iter(SVG + "text")} <= {INK}
        if thing != "search":  # By default a search draws fewer nodes.
            picture_of(shown).save(tmp_path / "picture.svg")
            assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == svg

    def test_picture_has_short_repr(self) -> None:
        assert repr(GIBSON.picture()) == "Picture()"


class TestFiles:
    @pytest.mark.parametrize(
        "thing", ["position", "game", *map(slow, ["policy", "certificate", "tree", "search"])]
    )
    def test_png_is_twice_the_size_of_svg(self, thing: str, tmp_path: Path) -> None:
        picture = picture_of(PICTURED[thing]())
        picture.save(tmp_path / "picture.PNG")
        root = ElementTree.fromstring(picture.svg)
        with Image.open(tmp_path / "picture.PNG") as image:
            assert image.format == "PNG"
            sizes = [2 * float(root.attrib[name]) for name in ("width", "height")]
            assert image.size == pytest.approx(sizes, abs=1)

    def test_png_matches_drawn_pixels(self, tmp_path: Path) -> None:
        GIBSON.picture(last=7).save(tmp_path / "board.png")
        with Image.open(tmp_path / "board.png") as image:
            shown = np.asarray(image.convert("RGB"))[40:-40, 40:-40]  # Its corners are transparent.
        pixels = draw_pixels(GIBSON, 7)[40:-40, 40:-40]
        windows = np.lib.stride_tricks.sliding_window_view(pixels, (3, 3), axis=(0, 1))
        flat = (windows == pixels[1:-1, 1:-1, :, None, None]).all(axis=(2, 3, 4))
        # Edges may be smoothed differently.
        assert flat.mean() > 0.8 and (shown[1:-1, 1:-1][flat] == pixels[1:-1, 1:-1][flat]).all()

    def test_png_has_text_without_system_fonts(self, tmp_path: Path) -> None:
        softmax().picture(GIBSON).save(tmp_path / "policy.png")
        with Image.open(tmp_path / "policy.png") as image:
            shown = np.asarray(image.convert("RGB"))
        for cell in (2, 5, 8):
            box = layout_of(GIBSON.game).tiles[cell]
            tile = shown[box.y : box.y + box.height, box.x : box.x + box.width]
            assert (tile == rgb(INK)).all(axis=-1).sum() > 100

    @pytest.mark.parametrize("name", ["x.jpg", "x", "x.svg.txt", ".png"])
    def test_other_suffixes_are_refused(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match=r"\.svg or \.png"):
            GIBSON.picture().save(tmp_path / name)
        with pytest.raises(ParameterError, match=r"\.gif or \.svg or \.png"):
            RECORD.save(tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["x.svg", "x.png", "x.gif", "x.pdf"])
    @pytest.mark.slow
    def test_full_disk_keeps_existing_picture(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / "new" / name  # The folder is created.
        if name == "x.pdf":
            charts.save(figure := charts.new_figure(3, 2), path)
            save = partial(charts.save, figure)
        else:
            (save := RECORD.save)(path)
        whole = path.read_bytes()
        with files_of_at_most(10), pytest.raises(OSError) as caught:
            save(path)
        assert caught.value.filename == str(path)
        assert path.read_bytes() == whole and list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize(("package", "name"), [("resvg_py", "x.png"), ("PIL", "x.gif")])
    def test_missing_package_error_names_extra(
        self, package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=r'"\.\[plot\]"'):
            RECORD.save(tmp_path / name)
        assert list(tmp_path.iterdir()) == []


class TestPolicy:
    def test_probabilities_match_published_ones(self) -> None:
        assert texts_of(softmax().picture(GIBSON).svg) == ["97.46%", "2.52%", "0.02%"]

    def test_likelier_cells_are_darker(self) -> None:
        policy = softmax().policy(GIBSON)
        drawn = fills_of(softmax().picture(GIBSON).svg)
        assert [shade(policy[cell]) for cell in (2, 5, 8)] == [drawn[2 + cell] for cell in (2, 5, 8)]
        greens = [sum(rgb(shade(share))) for share in (0, 0.001, 0.1, 0.5, 1)]
        assert greens == sorted(greens, reverse=True) and len(set(greens)) == 5
        assert shade(0) == "#ffffff" and sum(rgb(shade(1))) > sum(rgb(CHANCE))

    def test_every_free_cell_shows_probability(self) -> None:
        qubic = ttt_env.get_game("qubic-v0")
        position = qubic.start.play(0).play(21)
        shown = texts_of(ttt_env.make_agent("random", qubic).picture(position, last=21).svg)
        assert shown == ["1.61%"] * 62

    def test_last_move_is_highlighted(self) -> None:
        assert TINT["O"] in fills_of(softmax().picture(GIBSON, last=7).svg)

    def test_finished_game_shows_no_probabilities(self) -> None:
        over = RECORD.positions()[-1]
        assert softmax().picture(over).svg == over.picture().svg

    def test_text_stays_readable_on_large_board(self) -> None:
        start = ttt_env.get_game("mnk-v0", m=8, n=8, k=5).start
        root = ElementTree.fromstring(start.picture([1 / 64] * 64).svg)
        scale = float(root.attrib["width"]) / float(root.attrib["viewBox"].split()[2])
        text = next(root.iter(SVG + "text"))
        assert scale * float(text.attrib["font-size"]) > 10

    def test_invalid_policies_are_refused(self) -> None:
        bad = [[1.0], [0.0] * 9, [1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0.5, 0, 0, 0.6, 0, 0, -0.1]]
        bad.append([0, 0, float("nan"), 0, 0, 1, 0, 0, 0])
        all_raise(ParameterError, r"\[2, 5, 8\]", GIBSON.picture, bad)


class TestGame:
    def test_game_picture_shows_each_move_and_winner(self) -> None:
        svg = RECORD.picture(blunders_of(RECORD)).svg
        assert board_titles(svg) == [str(position) for position in RECORD.positions()[1:]]
        assert texts_of(svg) == ["1. X", "2. O", "3. X", "4. O?", "5. X", "6. O", "7. X · X wins"]
        assert texts_of(DRAWN.picture().svg)[-1] == "9. X · draw"
        assert board_titles(GameRecord(TICTACTOE, ()).picture().svg) == [str(TICTACTOE.start)]

    def test_large_board_game_is_one_diagram(self) -> None:
        record = GameRecord.parse("qubic-v0: 0 5 21 6 42 7 63")
        svg = record.picture().svg
        assert board_titles(svg) == [] and texts_of(svg) == ["1", "2", "4", "6", "3", "5", "7"]
        grounds = fills_of(svg)
        assert grounds.count(STONE["X"]) == 4 and grounds.count(TINT["O"]) == 3

    def test_blunders_are_yellow(self) -> None:
        assert [fills_of(board.svg).count(BLUNDER) for board in (RECORD.picture([4]), DRAWN.picture())] == [
            1,
            0,
        ]
        diagram = draw_diagram(RECORD, [4])
        assert "4?" in texts_of(diagram) and fills_of(diagram).count(BLUNDER) == 1

    def test_losing_last_move_in_misere_is_marked(self) -> None:
        lost = GameRecord.parse("tictactoe-v0:misere=true: 4 0 8 2 6 1")
        assert lost.winner == "X" and texts_of(lost.picture(blunders_of(lost)).svg)[-1] == "6. O? · X wins"

    def test_gif_shows_every_position_and_holds_last(self, tmp_path: Path) -> None:
        RECORD.save(tmp_path / "game.gif", blunders_of(RECORD))
        with Image.open(tmp_path / "game.gif") as image:
            assert (image.format, image.info["loop"]) == ("GIF", 0)
            durations, frames = [], []
            for number in range(image.n_frames):
                image.seek(number)
                durations.append(image.info["duration"])
                frames.append(np.asarray(image.convert("RGB"), dtype=int))
        assert blunders_of(RECORD) == [4]
        moves = zip(RECORD.positions(), (None, *RECORD.cells), strict=True)
        for number, (frame, move) in enumerate(zip(frames, moves, strict=True)):
            shown = draw_pixels(*move, is_blunder=number == 4)
            assert abs(frame - shown).max() < 24  # Out of 256 levels.
        assert len(set(durations[:-1])) == 1 and durations[-1] > 2 * durations[0]


class TestCertificate:
    def test_certificate_shows_boards_of_refutations(self) -> None:
        found = ttt_env.certify("win-block")
        games = [record for record in found.refutations.values() if record is not None]
        drawn = [str(position) for record in games for position in record.positions()[1:]]
        assert len(games) == 2 and board_titles(found.picture().svg) == drawn

    def test_certificate_shows_verdict(self) -> None:
        weights = ttt_env.certify("weights")
        shown = texts_of(weights.picture().svg)
        assert "\n".join(shown).startswith("\n".join(str(weights).splitlines()[:8]))
        assert shown[0] == f"tictactoe-v0: BEATABLE as O. Asked once in {weights.n_queries} positions."
        assert f"Blunders in {len(weights.blunders)} positions." in shown
        assert "Worst result as X: draw, as under best play." in shown
        assert "Worst result as O: loss, in the shortest refutation." in shown
        best = ttt_env.certify("minimax").picture().svg
        assert texts_of(best)[0].startswith("tictactoe-v0: UNBEATABLE.") and not board_titles(best)


class TestTrees:
    def test_value_and_probabilities_match_published_ones(self) -> None:
        tree = softmax().tree(GIBSON, depth=3)
        assert tree.caption == ("X +0.98",)
        assert [child.caption[0] for child in tree.children] == ["97.46%", "2.52%", "0.02%"]
        assert [child.is_marked for child in tree.children] == [True, False, False]

    @pytest.mark.parametrize("agent", [softmax(), Minimax(TICTACTOE), Minimax(TICTACTOE, "fast")])
    def test_tree_shows_policy_of_agent(self, agent: Minimax | Softmax) -> None:
        for position in (TICTACTOE.start, TICTACTOE.start.play(0), GIBSON):
            children = agent.tree(position, depth=1).children
            assert [child.last for child in children] == position.legal_cells
            policy = agent.policy(position)
            for child in children:
                assert child.position == position.play(child.last or 0)
                expected = float(child.caption[0].strip("<%"))
                assert expected == pytest.approx(100 * policy[child.last], abs=0.01)

    def test_opponent_moves_by_assumed_temperature(self) -> None:
        answers = softmax().tree(GIBSON, depth=2).children[1].children
        assert [answer.caption[0] for answer in answers] == ["73.11%", "26.89%"]  # softmax(0 and −1, T = 1)

    def test_minimax_tree_shows_exact_values(self) -> None:
        tree = Minimax(TICTACTOE).tree(GIBSON.play(5), depth=9)
        assert [node.caption[-1] for node in (tree, *tree.children)] == ["X 0.00", "X 0.00", "X +1.00"]
        assert not tree.children[1].children[0].children  # The game is over.

    @pytest.mark.parametrize(
        ("tree", "expected"),
        [*((lambda depth=depth: softmax().tree(GIBSON, depth), "depth=") for depth in (-1, 1.5, True, "2")),
         (lambda: softmax().tree(ttt_env.get_game("square-v0").start), "square-v0, not of tictactoe-v0"),
         (lambda: Minimax(TICTACTOE, depth=3).tree(GIBSON), "depth and seconds")],
    )  # fmt: skip
    def test_invalid_trees_are_refused(self, tree: Callable[[], Any], expected: str) -> None:
        with pytest.raises((ParameterError, ImpossiblePositionError), match=expected):
            tree()

    def test_notebook_shows_most_searched_moves(self) -> None:
        search = Search(GIBSON, solve=False)
        assert len(board_titles(search._repr_svg_())) == 1
        search.run(2000)
        shown = search.tree(1, 2000 // 50 + 1).children
        assert 0 < len(shown) < 3
        assert len(board_titles(search._repr_svg_())) == 1 + len(shown)


@pytest.fixture(scope="module")
def tournament_table() -> ElementTree.Element:
    agents = {"<b>random": "random", "R & D": "minimax", "searcher": "mcts:simulations=2"}
    return ElementTree.fromstring(ttt_env.tournament(agents, width=0.5)._repr_html_())


class TestTournament:
    def test_table_shows_names_and_ranks(self, tournament_table: ElementTree.Element) -> None:
        rows = [[cell.text for cell in row] for row in tournament_table.iter("tr")]
        assert [row[0] for row in rows[1:]] == rows[0][-3:] == ["1", "2", "3"]
        assert [row[1] for row in rows[1:]] == ["R & D", "searcher", "<b>random"]

    def test_sampled_scores_have_interval(self, tournament_table: ElementTree.Element) -> None:
        assert sum("±" in (cell.text or "") for cell in tournament_table.iter("td")) == 4
        assert any("sampled (95 % interval)" in (note.text or "") for note in tournament_table.iter("div"))

    def test_cell_colours_are_translucent(self, tournament_table: ElementTree.Element) -> None:
        cells = [cell.attrib["style"] for cell in tournament_table.iter("td")]
        colours = [style.partition("rgba")[2].strip("()").split(",") for style in cells if "rgba" in style]
        won, lost = (list(map(str, rgb(STONE[seat]))) for seat in ("O", "X"))
        assert len(colours) == 9 and all(colour[:3] in (won, lost) for colour in colours)
        strengths = [float(colour[3]) for colour in colours]
        assert strengths.count(0.0) == 3 and 0.3 < max(strengths) < 0.6


class TestVideo:
    """Gymnasium's video wrapper, with a fake of the package that encodes frames."""

    @pytest.fixture
    def clips(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """A list that receives each written clip as (frames, frames per second, path)."""
        written: list[Any] = []

        class ImageSequenceClip:
            def __init__(self, frames: list[Any], fps: int) -> None:
                self.frames, self.fps = list(frames), fps

            def write_videofile(self, path: str, logger: Any) -> None:
                written.append((self.frames, self.fps, Path(path).name))

        modules = ["moviepy", "moviepy.video", "moviepy.video.io", "moviepy.video.io.ImageSequenceClip"]
        for name in modules:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        sys.modules[modules[-1]].ImageSequenceClip = ImageSequenceClip  # type: ignore[attr-defined]
        return written

    @pytest.mark.slow
    def test_video_has_frame_for_every_position(self, clips: list[Any], tmp_path: Path) -> None:
        made = ttt_env.make("tictactoe-v0", opponent="random", play_as="X", render_mode="rgb_array")
        env = gymnasium.wrappers.RecordVideo(made, f"{tmp_path}/videos", episode_trigger=lambda episode: True)
        ends = []
        for seed in range(2):
            _, info = env.reset(seed=seed)
            n_steps, is_over = 0, False
            while not is_over:
                _, _, is_over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
                n_steps += 1
            ends.append((n_steps, made.unwrapped.position))
        env.close()
        assert [path for _, _, path in clips] == [f"rl-video-episode-{number}.mp4" for number in range(2)]
        for (frames, fps, _), (n_steps, last) in zip(clips, ends, strict=True):
            assert fps == 4 and len(frames) == n_steps + 1
            assert len({frame.shape for frame in frames}) == 1
            assert any((frames[-1] == draw_pixels(last, cell)).all() for cell in cells_of(last.theirs))
            # In all other frames O has just replied, and its stone is highlighted.
            assert all((frame == rgb(TINT["O"])).all(axis=-1).any() for frame in frames[1:-1])
            assert all((frame != after).any() for frame, after in itertools.pairwise(frames))
