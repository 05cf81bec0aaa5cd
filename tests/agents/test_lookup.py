"""Tables of policies, and their files."""

import numpy as np
import pytest

import ttt_env
from tests import reference
from ttt_env.agents.learned.lookup import Lookup, code, codes
from ttt_env.analysis.layers import reachable
from ttt_env.errors import GameTooLargeError, PolicyError, PolicyFileError
from ttt_env.storage.policy_file import MOST_BYTES, save_arrays


def all_open(game):
    layers = reachable(ttt_env.get_game(game))
    return [position for layer in layers if len(layer.open) for position in layer.boards(layer.open)]


def test_base_three_code():
    # Davis, "Tic-Tac-Toe Bots": 201211001 in base 3.
    assert code(ttt_env.Position.parse("XOO/XX./XO.")) == 14446 == int("201211001", 3)


@pytest.mark.parametrize("game", ["tictactoe-v0", "mnk-v0:m=4,n=3,k=3"])
def test_codes_of_a_batch_are_those_of_its_positions(game):
    positions = all_open(game)[::7]
    assert codes(ttt_env.Boards.of(positions)).tolist() == [code(position) for position in positions]


def test_codes_tell_all_positions_apart():
    positions = all_open("tictactoe-v0")
    assert len({code(position) for position in positions}) == len(positions)


def test_codes_of_a_large_board():
    with pytest.raises(GameTooLargeError, match="64 cells; base-3 codes hold 40"):
        codes(ttt_env.Boards.start(ttt_env.get_game("qubic-v0")))


def test_the_solved_game_merges_symmetric_positions(tmp_path):
    table = ttt_env.make_agent("lookup")
    over = 765 - len(table)  # 765 positions up to symmetry, 138 of them over
    assert (len(table), over) == (627, 138)
    assert ttt_env.certify(table).unbeatable
    table.save(tmp_path / "solved.npz")
    loaded = ttt_env.make_agent(f"lookup:{tmp_path}/solved.npz")
    minimax = ttt_env.make_agent("minimax")
    boards = ttt_env.Boards.of(all_open("tictactoe-v0"))
    assert np.allclose(loaded.policies(boards), minimax.policies(boards), atol=1e-7)


@pytest.mark.parametrize("game", ["tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3"])
def test_other_games(game, tmp_path):
    table = ttt_env.make_agent("lookup", game)
    table.save(tmp_path / "t.npz")
    assert ttt_env.certify(f"lookup:{tmp_path}/t.npz", game).unbeatable


def test_an_agent_that_is_not_symmetric_is_kept_whole(tmp_path):
    def lowest(position):
        return position.legal_cells[0]

    table = Lookup.of(lowest)
    assert len(table) == reference.TO_BE_PLAYED
    table.save(tmp_path / "t.npz")
    loaded = ttt_env.make_agent(f"lookup:{tmp_path}/t.npz")
    boards = ttt_env.Boards.of(all_open("tictactoe-v0"))
    assert loaded.policies(boards).argmax(axis=1).tolist() == [lowest(position) for position in boards]


def test_a_random_function_is_asked_once_and_the_table_has_its_answers():
    rng, answers = np.random.default_rng(0), {}

    def draw(position):
        assert position not in answers
        answers[position] = int(rng.choice(position.legal_cells))
        return answers[position]

    table = Lookup.of(draw)
    assert len(answers) == len(all_open("tictactoe-v0"))
    assert all(table.policy(position)[cell] == 1 for position, cell in answers.items())


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "table.npz"
    ttt_env.make_agent("lookup").save(path)
    return path


def broken(path, **changes):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays.update(changes)
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def test_file_of_another_game(saved):
    with pytest.raises(PolicyFileError, match="table of tictactoe-v0, not of square-v0"):
        ttt_env.make_agent(f"lookup:{saved}", "square-v0")
    with pytest.raises(PolicyFileError, match="misere"):
        ttt_env.make_agent(f"lookup:{saved}", "tictactoe-v0:misere=true")


def test_no_file(tmp_path):
    with pytest.raises(PolicyFileError, match="nowhere"):
        ttt_env.make_agent(f"lookup:{tmp_path}/nowhere.npz")


def test_pickled_objects_are_never_loaded(saved):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("a pickle was loaded",)

    broken(saved, codes=np.array([Bomb()], dtype=object))
    with pytest.raises(PolicyFileError, match="never loaded"):
        ttt_env.make_agent(f"lookup:{saved}")


@pytest.mark.parametrize("keep", [0, 10, 1000])
def test_a_damaged_file(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(PolicyFileError, match=r"table\.npz"):
        ttt_env.make_agent(f"lookup:{saved}")


def test_flipped_bits(saved):
    content = bytearray(saved.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(byte ^ 0x5A for byte in content[middle : middle + 64])
    saved.write_bytes(content)
    with pytest.raises(PolicyFileError):
        ttt_env.make_agent(f"lookup:{saved}")


@pytest.mark.parametrize(
    "change",
    [
        {"policies": None},
        {"codes": np.zeros(627, np.uint64)},
        {"codes": np.arange(5, dtype=np.uint64)},
        {"policies": np.full((627, 9), 1 / 9, np.float32)},
        {"policies": np.full((627, 9), np.nan, np.float32)},
        {"policies": np.zeros((627, 9), np.float32)},
        {"policies": np.zeros((627, 9))},
    ],
)
def test_arrays_that_are_no_table(saved, change):
    broken(saved, **change)
    with pytest.raises(PolicyFileError, match="is no policy table"):
        ttt_env.make_agent(f"lookup:{saved}")


def test_a_position_that_is_missing(saved):
    with np.load(saved) as file:
        keys, policies = file["codes"], file["policies"]
    start = code(ttt_env.get_game("tictactoe-v0").start)
    broken(saved, codes=keys[keys != start], policies=policies[keys != start])
    agent = ttt_env.make_agent(f"lookup:{saved}")
    with pytest.raises(PolicyError, match=r"no entry for \.\.\./\.\.\./\.\.\."):
        agent.policy(agent.game.start)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    table = ttt_env.make_agent("lookup")
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "table.npz"):
        with pytest.raises(PolicyFileError, match=f"{path} cannot be written"):
            table.save(path)
    table.save(tmp_path / "new" / "table.npz")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["table.npz"]


def test_no_file_is_written_that_is_too_large_to_be_read(tmp_path):
    huge = np.broadcast_to(np.uint8(0), (MOST_BYTES + 1,))
    with pytest.raises(PolicyFileError, match="policy files hold up to 2,147,483,648"):
        save_arrays(tmp_path / "huge.npz", ttt_env.get_game("tictactoe-v0"), {"huge": huge})
    assert not [*tmp_path.iterdir()]
