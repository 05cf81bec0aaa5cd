"""The agent that imitates recorded games of people."""

from collections import Counter

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE, open_boards
from ttt_env import Game, GameRecord, Position
from ttt_env.agents.learned.imitation import Imitation
from ttt_env.errors import FileError
from ttt_env.rules.symmetry import symmetries, transform
from ttt_env.storage.game_log import PERSON, GameLog


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "games.sqlite")


def write_games(path, *texts, x=None, o=None, game=None):
    with GameLog(path) as log:
        for text in texts:
            log.add(GameRecord.parse(text, game), x=x, o=o)


def played_cells(path, text, fallback="random", game=TICTACTOE):
    """The cells that the agent plays, with equal probability, in a position."""
    policy = Imitation(game, path, fallback).policy(Position.parse(text, game))
    cells = np.flatnonzero(policy)
    assert policy[cells] == pytest.approx(1 / len(cells))
    return cells.tolist()


def test_only_games_of_people_are_imitated(path):
    write_games(path, "tictactoe-v0: 0 4 8", x="random", o=PERSON)
    write_games(path, "tictactoe-v0: 1 4 8", x="minimax", o="minimax")
    assert played_cells(path, ".../.../...") == list(range(9))
    assert played_cells(path, "X../.../...") == [4]
    assert played_cells(path, ".X./.../...") == [0, *range(2, 9)]
    write_games(path, "tictactoe-v0: 2")  # Imported games name no players.
    assert played_cells(path, ".../.../...") == [0, 2, 6, 8]


def test_fallback_plays_unknown_positions(path):
    write_games(path, "tictactoe-v0: 4")
    assert played_cells(path, "XX./OO./...", "win-block") == [2]
    assert played_cells(path, ".../.../...", "win-block") == [4]


def test_refresh_reads_new_games(path):
    write_games(path, "tictactoe-v0: 4")
    agent = Imitation(TICTACTOE, path)
    write_games(path, "tictactoe-v0: 0", "tictactoe-v0: 0")
    assert agent.policy(TICTACTOE.start)[4] == 1
    assert Imitation(TICTACTOE, path).policy(TICTACTOE.start)[4] == 0
    agent.refresh()
    assert agent.policy(TICTACTOE.start)[4] == 0


def test_missing_default_log_uses_fallback(monkeypatch, tmp_path):
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "none"))
    agent = ttt_env.make_agent("imitation:fallback=minimax")
    due = ttt_env.make_agent("minimax").policy(TICTACTOE.start)
    assert agent.policy(TICTACTOE.start).tolist() == due.tolist()
    assert not list(tmp_path.iterdir())


def test_spec_sets_path_and_fallback(path):
    write_games(path, "tictactoe-v0: 4 0 8")
    for spec in (f"imitation:{path}", f"imitation:path={path},fallback=(softmax:temperature=0.1)"):
        assert ttt_env.make_agent(spec).policy(TICTACTOE.start)[4] == 1
    with pytest.raises(FileError, match="no game log nowhere"):
        ttt_env.make_agent("imitation:nowhere.sqlite")
    with pytest.raises(ttt_env.errors.UnknownAgentError, match="did you mean minimax"):
        ttt_env.make_agent("imitation:fallback=minmax")


def test_policy_matches_plain_count(path):
    """The count applies every symmetry to every game; every third position is checked."""
    rng = np.random.default_rng(0)
    games = [ttt_env.play_game("random", "random", TICTACTOE, rng) for _ in range(60)]
    write_games(path, *map(str, games))
    counts = Counter()
    for record in games:
        for position, cell in zip(record.positions(), record.cells, strict=False):
            images = {(transform(position, motion), motion[cell]) for motion in symmetries(TICTACTOE)}
            counts.update(images)  # Each pair counts once, even if several symmetries lead there.
    boards, n_known = open_boards()[::3], 0
    for position, policy in zip(boards, Imitation(TICTACTOE, path).policies(boards), strict=True):
        of = [counts[position, cell] for cell in range(9)]
        best = [cell for cell in position.legal_cells if of[cell] == max(of)]
        np.testing.assert_array_equal(np.flatnonzero(policy), best)
        n_known += max(of) > 0
    assert n_known > 150


@pytest.mark.parametrize(
    ("game", "text"),
    [
        ("qubic-v0", "qubic-v0: 21 22 42"),
        ("mnk-v0:m=8,n=8,k=5", "mnk-v0:m=8,n=8,k=5: 36 0 63 56"),
        ("mnk-v0:m=4,n=3,k=3", "mnk-v0:m=4,n=3,k=3: 5 0 6"),
        ("tictactoe-v0:misere=true", "tictactoe-v0:misere=true: 4 0 1"),
        (Game("path", (5,), [(0, 1), (3, 4)]), "path: 0 1 3"),
    ],
)
def test_games_of_any_shape_are_imitated(path, game, text):
    game = ttt_env.get_game(game)
    record = GameRecord.parse(text, game)
    write_games(path, text, game=game)
    agent = Imitation(game, path)
    for position, cell in zip(record.positions(), record.cells, strict=False):
        for motion in symmetries(game)[::5]:
            assert agent.policy(transform(position, motion))[motion[cell]] > 0
    with pytest.raises(ValueError):
        write_games(path, text, game=TICTACTOE)


def test_fallback_may_be_random(path):
    write_games(path, "tictactoe-v0: 4")
    spec, position = "mcts:simulations=20", TICTACTOE.start.play(0)
    agent = Imitation(TICTACTOE, path, spec)
    assert not agent.is_stationary
    assert agent.choose(TICTACTOE.start, np.random.default_rng(0)) == 4
    cells = {Imitation(TICTACTOE, path, spec).choose(position, np.random.default_rng(1)) for _ in range(3)}
    assert len(cells) == 1
