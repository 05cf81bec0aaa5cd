"""`ttt games`: the results of people against agents."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.games import TICTACTOE
from ttt_env import Game, GameRecord, play_game
from ttt_env.app.cli import app
from ttt_env.app.games import Tally, tallies_in
from ttt_env.storage.game_log import PERSON, GameLog


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "games.sqlite"
    monkeypatch.setenv("TTT_ENV_GAMES", str(path))
    with GameLog(path) as opened:
        yield opened


def test_results_are_counted_per_seat(log):
    rng, results = np.random.default_rng(1), {}
    for number in range(80):
        record = play_game("random", "random", TICTACTOE, rng=rng)
        agent = ["minimax", "random", "weights"][number % 3]
        players = [(PERSON, agent), (agent, PERSON)][number % 2]
        log.add(record, x=players[0], o=players[1])
        seat = "XO"[players.index(PERSON)]
        winner = record.positions()[-1].winner
        end = 1 if winner is None else 0 if winner == seat else 2
        results.setdefault((agent, seat), [0, 0, 0])[end] += 1
    assert tallies_in(log) == [Tally("tictactoe-v0", *key, *results[key]) for key in sorted(results)]


def test_only_finished_games_of_person_and_agent_count(log):
    won = GameRecord(TICTACTOE, (0, 3, 1, 4, 2))
    for x, o in [(PERSON, PERSON), ("random", "minimax"), (None, "minimax"), (PERSON, None), (None, None)]:
        log.add(won, x=x, o=o)
    log.add(GameRecord(TICTACTOE, (0, 3)), x=PERSON, o="minimax")
    assert tallies_in(log) == []
    log.add(won, x="minimax", o=PERSON)
    assert tallies_in(log) == [Tally("tictactoe-v0", "minimax", "O", 0, 0, 1)]


def test_games_of_unknown_names_are_omitted(log):
    own = Game("own", (1, 3), [(0, 1)])
    log.add(GameRecord(own, (0, 2, 1)), x=PERSON, o="random")
    log.add(GameRecord(TICTACTOE, (0, 3, 1, 4, 2)), x=PERSON, o="block")
    [tally] = tallies_in(log)
    assert (tally.game, tally.agent) == ("tictactoe-v0", "block")


def test_games_command_shows_tallies(log):
    log.add(GameRecord(TICTACTOE, (0, 3, 1, 4, 2)), x=PERSON, o="minimax:depth=1")
    log.add(GameRecord(TICTACTOE, (0, 3, 1, 4, 2)), x="mcts:simulations=10", o=PERSON)
    run = CliRunner().invoke(app, ["games", "--json"], catch_exceptions=False)
    game = {"game": "tictactoe-v0"}
    assert json.loads(run.stdout)["people"] == [
        game | {"agent": "mcts:simulations=10", "person": "O", "won": 0, "drawn": 0, "lost": 1},
        game | {"agent": "minimax:depth=1", "person": "X", "won": 1, "drawn": 0, "lost": 0},
    ]
    text = CliRunner().invoke(app, ["games"], catch_exceptions=False).stdout
    [line] = [line.split() for line in text.splitlines() if line.split()[1:2] == ["minimax:depth=1"]]
    assert line == ["tictactoe-v0", "minimax:depth=1", "X", "1", "0", "0"]
