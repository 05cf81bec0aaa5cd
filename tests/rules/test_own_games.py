"""User-defined games: coordinates, files and registered names."""

import copy
import json
import pickle
import subprocess
import sys
from importlib.metadata import EntryPoint
from math import inf, sqrt

import pytest
from starlette.testclient import TestClient

import ttt_env
from tests.support.refusals import all_raise
from tests.support.running import ttt
from ttt_env.app.terminal.board import board
from ttt_env.errors import FileError, GameError, ParameterError, UnknownGameError
from ttt_env.render.layout import layout_of
from ttt_env.render.pixels import draw_pixels
from ttt_env.render.text import draw_text
from ttt_env.rules import catalogue
from ttt_env.web.data import layout_facts
from ttt_env.web.server import create_app


def hexagon(name="hexagon-v0"):
    """Three in a row on the seven cells of a hexagon."""
    cells = sorted((r, q) for q in (-1, 0, 1) for r in (-1, 0, 1) if abs(q + r) <= 1)
    places = [(q + r / 2, r * sqrt(3) / 2) for r, q in cells]
    return ttt_env.Game(name, (7,), [(0, 3, 6), (1, 3, 5), (2, 3, 4)], coordinates=places)


@pytest.fixture
def registered_hexagon(monkeypatch):
    """The hexagon, registered by its name for one test."""
    monkeypatch.setattr(catalogue, "_registered", {})
    catalogue._build.cache_clear()
    game = hexagon()
    ttt_env.register_game(game)
    yield game
    catalogue._build.cache_clear()


class TestCoordinates:
    def test_coordinates_do_not_affect_equality(self):
        game, plain = hexagon(), ttt_env.Game("hexagon-v0", (7,), hexagon().winning_sets)
        assert game == plain and hash(game) == hash(plain) and plain.coordinates is None

    def test_copies_keep_coordinates(self):
        for copied in (copy.deepcopy(hexagon()), pickle.loads(pickle.dumps(hexagon()))):
            assert copied.coordinates == hexagon().coordinates

    def test_invalid_coordinates_are_refused(self):
        def game(coordinates):
            return ttt_env.Game("two", (2,), [(0, 1)], coordinates=coordinates)

        of_each = (3, [(0, 0), ("a", 0)], [(0, 0), (1, 0, 0)])
        all_raise(GameError, "a pair of numbers for each cell", game, of_each)
        of_all = ([(0, 0)], [(0, 0), (1, 0), (2, 0)], [(0, 0), (1, inf)], [(0, 0), (1, float("nan"))])
        all_raise(GameError, "2 pairs of numbers", game, of_all)
        all_raise(GameError, "closer to each other", game, [[(1, 2), (1, 2)]])
        with pytest.raises(GameError, match="closer to each other"):  # The two cells almost coincide.
            ttt_env.Game("three", (3,), [(0, 1)], coordinates=[(0, 0), (1e-9, 0), (1, 0)])


class TestPictures:
    def test_tiles_lie_on_panel_without_overlap(self):
        layout = layout_of(hexagon())
        (panel,) = layout.panels
        for number, tile in enumerate(layout.tiles):
            assert panel.x < tile.x and tile.x + tile.width < panel.x + panel.width
            assert panel.y < tile.y and tile.y + tile.height < panel.y + panel.height
            for other in layout.tiles[:number]:
                apart = max(abs(tile.x - other.x), abs(tile.y - other.y))
                assert apart >= tile.width

    def test_svg_and_pixels_have_same_size(self):
        position = hexagon().start.play(3)
        height, width, _ = draw_pixels(position).shape
        assert f'viewBox="0 0 {width} {height}"' in position._repr_svg_()

    def test_text_follows_coordinates(self):
        game = hexagon()
        lines = draw_text(game.start.play(3).play(0), last=0).split("\n")
        assert lines == ["   [O]   ( )", "", "( )   (X)   ( )", "", "   ( )   ( )"]
        assert str(board(game.start.play(3))).split("\n")[2] == "( 2 )   ( X )   ( 4 )"

    def test_ring_and_single_cell_are_drawn(self):
        ring = ttt_env.Game("ring", (4,), [(0, 1)], coordinates=[(0, -1), (1, 0), (0, 1), (-1, 0)])
        assert draw_text(ring.start, numbers=True) == "    (0)\n\n(3)     (1)\n\n    (2)"
        alone = ttt_env.Game("one", (1,), [(0,)], coordinates=[(5, 5)])
        assert draw_text(alone.start) == "( )" and layout_of(alone).tiles


class TestFiles:
    def test_game_round_trips_through_file(self, tmp_path):
        hexagon().save(tmp_path / "hexagon.json")
        game = ttt_env.Game.load(tmp_path / "hexagon.json")
        assert game == hexagon() and game.coordinates == hexagon().coordinates
        (tmp_path / "a.json").write_text('{"name": "a", "shape": [3], "winning_sets": [[0, 2]]}')
        assert ttt_env.Game.load(tmp_path / "a.json") == ttt_env.Game("a", (3,), [(0, 2)])
        with pytest.raises(GameError, match="there is no such file"):
            ttt_env.Game.load(tmp_path / "absent.json")

    @pytest.mark.parametrize(
        "text",
        ["", "[]", '{"name": "a"}', '{"name": "a", "shape": 3, "winning_sets": []}', "[" * 100_000,
         '{"name": "a", "shape": [3], "winning_sets": [[7]]}', '{"name": "tictactoe-v0"}',
         '{"name": "tictactoe-v0", "shape": [3, 3], "winning_sets": [[0, 1, 2, 3, 4, 5, 6, 7, 8]]}'],
        ids=lambda text: text[:30],
    )  # fmt: skip
    def test_invalid_file_is_reported_by_name(self, text, tmp_path):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(GameError, match=r"bad\.json"):
            ttt_env.Game.load(tmp_path / "bad.json")

    def test_command_line_certifies_game_from_file(self, tmp_path):
        hexagon().save(tmp_path / "hexagon.json")
        run = ttt("certify", "minimax", "--game", "hexagon.json", "--json", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        certificate = json.loads(run.stdout)
        assert certificate["unbeatable"] and certificate["game"]["coordinates"]

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (("solve", "--game", "hexagon.json"), "hexagon-v0, X to move"),
            (("bench", "random", "win-block", "--game", "hexagon.json"), "hexagon-v0: score of the row"),
            (("replay", "hexagon-v0: 3 0 2", "--game", "hexagon.json"), "hexagon-v0: 3 0 2"),
        ],
        ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
    )
    def test_commands_accept_game_file(self, arguments, expected, tmp_path, monkeypatch):
        monkeypatch.setattr(catalogue, "_registered", {})
        hexagon().save(tmp_path / "hexagon.json")
        run = ttt(*arguments, cwd=tmp_path)
        catalogue._build.cache_clear()
        assert expected in run.stdout, run.stderr

    def test_training_suggests_commands_with_game_file(self, tmp_path):
        hexagon().save(tmp_path / "hexagon.json")
        arguments = ("train", "q-learning", "--steps", "100", "--game", "hexagon.json", "--out", "q.npz")
        output = ttt(*arguments, cwd=tmp_path).stdout
        assert "ttt play q-learning:q.npz --game hexagon.json\n" in output
        assert 'ttt_env.make(ttt_env.Game.load("hexagon.json"), opponent="q-learning:q.npz")' in output

    def test_cells_without_grid_have_only_numbers(self, tmp_path):
        hexagon().save(tmp_path / "hexagon.json")
        output = ttt("play", "random", "--game", "hexagon.json", cwd=tmp_path, answers="z\n3\nr\nn\n").stdout
        assert "Type a cell by number, such as 3, or a word" in output
        assert "'z' is not a cell: 0 to 6 are." in output
        assert " --game hexagon.json\n" in output


def line(k: int = 3):
    """A game that another package may register: k in a row on four cells."""
    return ttt_env.Game("line-v0", (4,), ttt_env.Game.runs((4,), k))


class TestNames:
    def test_registered_id_is_accepted_everywhere(self, registered_hexagon):
        assert "hexagon-v0" in ttt_env.game_names()
        assert ttt_env.get_game("hexagon-v0") is registered_hexagon
        assert ttt_env.make("hexagon-v0", opponent="minimax").game == registered_hexagon
        assert str(ttt_env.play_game("minimax", "random", "hexagon-v0", rng=0)).startswith("hexagon-v0: ")
        ttt_env.register_game(hexagon())  # Registering the same game again is allowed.
        certificate = ttt_env.certify("random", "hexagon-v0")
        assert len(certificate.to_dict()["game"]["winning_sets"]) == 3

    def test_catalogue_ids_are_reserved_for_their_games(self):
        def game(name):
            return ttt_env.Game(name, (3, 3), [range(9)])

        ids = ("tictactoe-v0", "square-v0:n=3", "mnk-v0", "tictactoe-v0:misere=true", "mnk-v0:m=3,n=3,k=3")
        all_raise(GameError, "or its rules differ from those of", game, ids)
        unknown = ("tictactoe-v0:hard=true", "square-v0:n=1")
        all_raise(GameError, "{} is not the name of a game", game, unknown)
        rows = ttt_env.Game.runs((3, 3), 3)
        otherwise = ("mnk-v0:k=3,m=3,n=3", "mnk-v0: m=3,n=3,k=3", "tictactoe-v0:misere=false")
        all_raise(GameError, "differ from those of", lambda name: ttt_env.Game(name, (3, 3), rows), otherwise)
        for named in map(ttt_env.get_game, ids):
            same = ttt_env.Game(named.name, named.shape, named.winning_sets, named.misere)
            assert same == named == pickle.loads(pickle.dumps(named))

    @pytest.mark.parametrize("name", ["(tictactoe-v0)", "tictactoe-v0 (mine)", "qubic-v0(", "a" + ":b" * 40])
    def test_results_round_trip_with_any_game_name(self, name):
        game = ttt_env.Game(name, (2, 2), [(0, 3)])
        for result in (ttt_env.certify("random", game), ttt_env.prove(game)):
            assert type(result).from_json(result.to_json()) == result

    @pytest.mark.parametrize("name", ["tictactoe-v0", "hexagon-v0"])
    def test_result_with_forged_game_name_is_refused(self, name, registered_hexagon, tmp_path):
        own = ttt_env.Game("own", (3, 3), [range(9)])
        results = [
            ttt_env.certify("random", own),
            ttt_env.tournament(["random", "block"], own),
            ttt_env.prove(own),
        ]
        for result in results:
            forged = result.to_dict()
            forged["game"]["name"] = name
            with pytest.raises(FileError, match="or its rules differ from those of"):
                type(result).from_dict(forged)

    def test_unregistered_game_of_registered_name_is_refused(self, registered_hexagon):
        other = ttt_env.Game("hexagon-v0", (7,), [(0, 1)])
        for act in (ttt_env.get_game, ttt_env.prove, lambda game: ttt_env.certify("random", game)):
            with pytest.raises(GameError, match="already"):
                act(other)

    def test_invalid_and_unknown_names_are_refused(self, registered_hexagon):
        names = ("tictactoe-v0", "a b", "a:n=3", "3x3", "é")
        all_raise(GameError, "", lambda name: ttt_env.register_game(hexagon(name)), names)
        with pytest.raises(GameError, match="already"):
            ttt_env.register_game(ttt_env.Game("hexagon-v0", (7,), [(0, 1)]))
        assert ttt_env.game_names() == [*catalogue.CATALOGUE, "hexagon-v0"]
        with pytest.raises(UnknownGameError, match="did you mean hexagon-v0"):
            ttt_env.get_game("hexagn-v0")
        with pytest.raises(ParameterError):
            ttt_env.get_game("hexagon-v0", misere=True)

    def test_registering_installed_game_keeps_its_parameters(self, monkeypatch):
        point = EntryPoint("line-v0", "tests.rules.test_own_games:line", "ttt_env.games")
        monkeypatch.setattr(catalogue, "_registered", {})
        monkeypatch.setattr(catalogue, "_installed", lambda: {"line-v0": point})
        ttt_env.register_game(line())
        assert len(ttt_env.get_game("line-v0:k=2").winning_sets) == 3
        catalogue._build.cache_clear()

    @pytest.mark.slow
    def test_games_of_installed_packages_are_found(self, tmp_path):
        """It needs a new process because installed packages are searched only once."""
        (tmp_path / "mine-1.dist-info").mkdir()
        about, points = (
            "Metadata-Version: 2.1\nName: mine\nVersion: 1\n",
            "[ttt_env.games]\nline-v0 = mine:line\n",
        )
        for name, text in {"METADATA": about, "entry_points.txt": points}.items():
            (tmp_path / "mine-1.dist-info" / name).write_text(text)
        (tmp_path / "mine.py").write_text(
            "import ttt_env\n"
            "def line(n: int = 3):\n"
            "    return ttt_env.Game(f'line-v0:n={n}', (n,), ttt_env.Game.runs((n,), 2))\n"
        )
        text = "import ttt_env as t; print('line-v0' in t.game_names(), t.get_game('line-v0:n=4').n_cells)"
        run = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
        assert run.stdout == "True 4\n", run.stderr


class TestPage:
    def test_page_offers_registered_game(self, registered_hexagon):
        client = TestClient(create_app(), base_url="http://localhost")
        games = {fact["id"]: fact for fact in client.get("/data/app.json").json()["games"]}
        facts = games["hexagon-v0"]
        assert facts["sets"] == [list(each) for each in registered_hexagon.winning_sets]
        assert {"minimax", "mcts"} <= set(facts["agents"]) and facts["policies"]["minimax"]

    def test_page_tiles_follow_coordinates(self):
        facts = layout_facts(hexagon())
        left, middle, right = ((tile.x, tile.y) for tile in facts["tiles"][2:5])
        assert left[1] == middle[1] == right[1]
        assert right[0] - middle[0] == pytest.approx(middle[0] - left[0], abs=1)
        first = facts["tiles"][0]
        assert (middle[1] - first.y) / (middle[0] - first.x) == pytest.approx(sqrt(3), rel=0.02)
        assert facts["round"] and facts["lines"]


def test_board_with_four_axes_is_supported():
    game = ttt_env.Game("tesseract", (2, 2, 2, 2), ttt_env.Game.runs((2, 2, 2, 2), 2), misere=True)
    assert len(game.winning_sets) == 16 * 15 // 2 and len(ttt_env.rules.symmetries(game)) == 384
    position = game.start.play(3)
    assert ttt_env.Position.parse(str(position), game) == position
    assert ttt_env.solve(game).value == -1 and ttt_env.certify("minimax", game).unbeatable
    assert "<svg" in position._repr_svg_()


def test_wrapped_runs_continue_at_opposite_edge():
    runs = ttt_env.Game.runs((3, 3), 3, wrap=True)
    assert {frozenset(run) for run in runs} > {frozenset(run) for run in ttt_env.Game.runs((3, 3), 3)}
    # Rows, columns and three diagonals in each direction are the lines of the affine plane of order 3.
    assert len(runs) == 12 and all(len({*a} & {*b}) <= 1 for a in runs for b in runs if a != b)
    game = ttt_env.Game("torus", (3, 3), runs)
    assert ttt_env.solve(game).value == 1  # No draw is possible, so X wins by strategy stealing.
