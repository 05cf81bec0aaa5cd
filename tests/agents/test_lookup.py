"""Lookup tables of policies; test_policy_files.py tests their files."""

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.games import lowest, open_boards
from ttt_env.agents.learned.lookup import Lookup, code, codes
from ttt_env.errors import ForfeitError, GameTooLargeError, ParameterError, PolicyError


def test_base_three_code_matches_published_example():
    # Davis, "Tic-Tac-Toe Bots": 201211001 in base 3.
    assert code(ttt_env.Position.parse("XOO/XX./XO.")) == 14446 == int("201211001", 3)


@pytest.mark.parametrize("game", ["tictactoe-v0", "mnk-v0:m=4,n=3,k=3"])
def test_batch_codes_match_single_codes_and_are_unique(game):
    boards = open_boards(game)[::7]
    found = codes(boards).tolist()
    assert found == [code(position) for position in boards]
    assert len(set(found)) == len(found)


def test_board_too_large_for_codes_is_refused():
    with pytest.raises(GameTooLargeError, match="64 cells, too many for base-3 codes of boards; 40 cells"):
        codes(ttt_env.Boards.start(ttt_env.get_game("qubic-v0")))


def test_solved_game_merges_symmetric_positions(tmp_path):
    table = ttt_env.make_agent("lookup")
    over = 765 - len(table)  # There are 765 positions up to symmetry, 138 of them over.
    assert (len(table), over) == (627, 138)
    assert ttt_env.certify(table).unbeatable
    table.save(tmp_path / "solved.npz")
    loaded = ttt_env.make_agent(f"lookup:{tmp_path}/solved.npz")
    minimax = ttt_env.make_agent("minimax")
    assert np.allclose(loaded.policies(open_boards()), minimax.policies(open_boards()), atol=1e-7)


@pytest.mark.parametrize("game", ["tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3"])
def test_saved_table_of_other_game_is_unbeatable(game, tmp_path):
    table = ttt_env.make_agent("lookup", game)
    table.save(tmp_path / "t.npz")
    assert ttt_env.certify(f"lookup:{tmp_path}/t.npz", game).unbeatable


def test_asymmetric_agent_is_not_merged(tmp_path):
    table = Lookup.of(lowest)
    assert len(table) == reference.TO_BE_PLAYED
    table.save(tmp_path / "t.npz")
    loaded = ttt_env.make_agent(f"lookup:{tmp_path}/t.npz")
    found = loaded.policies(open_boards()).argmax(axis=1)
    assert found.tolist() == [lowest(position) for position in open_boards()]


PERFECT = ttt_env.make_agent("minimax")


class RarelyWrong(ttt_env.Agent):
    """Perfect except for a losing move of probability 1e-9 in one of four symmetric positions."""

    is_stationary = True

    def policies(self, boards):
        policies = PERFECT.policies(boards)
        at = (boards.ply == 1) & ~boards.legal[:, 2]
        policies[at] = policies[at] * (1 - 1e-9) + 1e-9 * np.eye(9)[1]
        return policies


def test_table_of_beatable_agent_is_beatable():
    table = Lookup.of(RarelyWrong(ttt_env.get_game("tictactoe-v0")))
    assert len(table) == reference.TO_BE_PLAYED
    assert not ttt_env.certify(table).unbeatable


def test_illegal_answers_and_empty_tables_are_refused():
    with pytest.raises(ForfeitError, match=r"plays 99 in X\.\./\.\.\./\.\.\."):
        Lookup.of(lambda position: 99 if position.ply == 1 else position.legal_cells[0])
    with pytest.raises(ParameterError, match="expected at least one"):
        Lookup.of("minimax", "tictactoe-v0", [])


@pytest.mark.slow
def test_random_function_is_called_once_per_position():
    rng, answers = np.random.default_rng(0), {}

    def draw(position):
        assert position not in answers
        answers[position] = int(rng.choice(position.legal_cells))
        return answers[position]

    table = Lookup.of(draw)
    assert len(answers) == len(open_boards())
    assert all(table.policy(position)[cell] == 1 for position, cell in answers.items())


def test_missing_position_raises_policy_error():
    whole = ttt_env.make_agent("lookup")
    arrays, game = whole.arrays(), whole.game
    kept = arrays["codes"] != code(game.start)
    part = Lookup.from_arrays(game, arrays["codes"][kept], arrays["policies"][kept], merged=True)
    with pytest.raises(PolicyError, match=r"no entry for \.\.\./\.\.\./\.\.\."):
        part.policy(game.start)
