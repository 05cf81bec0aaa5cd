"""Results of people against agents, with counts and expectations checked against plain code."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.games import TICTACTOE
from ttt_env import Game, GameRecord, get_game, make_agent, play_game
from ttt_env.analysis.tally import SeatTally, expected_result, tallies_in, tallies_of
from ttt_env.app.cli import app
from ttt_env.storage.game_log import PERSON, GameLog


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "games.sqlite"
    monkeypatch.setenv("TTT_ENV_GAMES", str(path))
    with GameLog(path) as opened:
        yield opened


def counts(tally):
    return {seat: (counted.wins, counted.draws, counted.losses) for seat, counted in tally.seats.items()}


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
        results.setdefault(agent, {"X": [0, 0, 0], "O": [0, 0, 0]})[seat][end] += 1
    found = tallies_of(log.games(TICTACTOE))
    assert {tally.agent: counts(tally) for tally in found} == {
        agent: {seat: tuple(ends) for seat, ends in seats.items()} for agent, seats in results.items()
    }
    assert [tally.games for tally in found] == sorted((tally.games for tally in found), reverse=True)


def test_only_finished_games_of_person_and_agent_count(log):
    won = GameRecord(TICTACTOE, (0, 3, 1, 4, 2))
    for x, o in [(PERSON, PERSON), ("random", "minimax"), (None, "minimax"), (PERSON, None), (None, None)]:
        log.add(won, x=x, o=o)
    log.add(GameRecord(TICTACTOE, (0, 3)), x=PERSON, o="minimax")
    assert tallies_of(log.games(TICTACTOE)) == []
    log.add(won, x="minimax", o=PERSON)
    [tally] = tallies_of(log.games(TICTACTOE))
    assert tally.seats == {"X": SeatTally(), "O": SeatTally(0, 0, 1)} and tally.games == 1


def random_result(agent, position, seat):
    """The chances that a random player in `seat` wins, draws and loses, by plain recursion."""
    if position.is_over:
        return np.eye(3)[1 if position.winner is None else 0 if position.winner == seat else 2]
    cells = position.legal_cells
    shares = {cell: 1 / len(cells) for cell in cells}
    if position.to_move != seat:
        policy = agent.policy(position)
        shares = {cell: policy[cell] for cell in cells if policy[cell]}
    return sum(share * random_result(agent, position.play(cell), seat) for cell, share in shares.items())


@pytest.mark.parametrize("spec", ["win-block", "newell-simon"])
def test_expectation_is_exact(spec):
    small = get_game("mnk-v0:m=3,n=2,k=2")
    agent, found = make_agent(spec, small), expected_result(spec, small)
    assert found.of_random.exact and found.lack == ""
    for seat in "XO":
        assert tuple(found.on(seat)) == pytest.approx(tuple(random_result(agent, small.start, seat)))


def test_missing_expectation_has_reason():
    assert "fixed policy" in expected_result("mcts:simulations=10", TICTACTOE).lack
    large = expected_result("brute-force", get_game("square-v0"))  # It needs no sweep of the game.
    assert "16 cells, too many to compute what is expected; 12 cells are the limit" in large.lack

    slow = "mcts:simulations=1000000,seed=0"
    assert f"{slow} would take too long" in expected_result(slow, TICTACTOE).lack
    gone = expected_result("lookup:/nowhere.npz", TICTACTOE)
    assert gone.of_random is None and "nowhere" in gone.lack and gone.on("X") is None


def test_games_of_unknown_names_are_omitted(log):
    own = Game("own", (1, 3), [(0, 1)])
    log.add(GameRecord(own, (0, 2, 1)), x=PERSON, o="random")
    log.add(GameRecord(TICTACTOE, (0, 3, 1, 4, 2)), x=PERSON, o="block")
    [(tally, found)] = tallies_in(log)
    assert (tally.game, tally.agent) == ("tictactoe-v0", "block") and found.of_random.exact


def test_games_command_shows_tallies(log):
    log.add(GameRecord(TICTACTOE, (0, 3, 1, 4, 2)), x=PERSON, o="minimax:depth=1")
    log.add(GameRecord(TICTACTOE, (0, 3, 1, 4, 2)), x="mcts:simulations=10", o=PERSON)
    exact = expected_result("minimax:depth=1", TICTACTOE).of_random
    run = CliRunner().invoke(app, ["games", "--json"], catch_exceptions=False)
    people = {facts["agent"]: facts for facts in json.loads(run.stdout)["people"]}
    for seat, wins, random in (("as_x", 1, exact.as_x), ("as_o", 0, exact.as_o)):
        counted = {"wins": wins, "draws": 0, "losses": 0, "random": random._asdict()}
        assert people["minimax:depth=1"][seat] == counted
    assert people["mcts:simulations=10"]["as_o"]["losses"] == 1
    assert people["mcts:simulations=10"]["as_o"]["random"] is None and people["mcts:simulations=10"]["lack"]
    text = CliRunner().invoke(app, ["games"], catch_exceptions=False).stdout
    [line] = [line.split() for line in text.splitlines() if line.split()[1:2] == ["minimax:depth=1"]]
    assert line[0] == "tictactoe-v0" and line[2:6] == ["X", "1", "0", "0"] and line[6].endswith("%")
    assert "the exact result of a random player" in text
