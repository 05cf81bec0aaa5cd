"""The included agents match their certificates."""

import hashlib
import json

import numpy as np
import pytest

import ttt_env
from tests.support.agents import FILES, NETWORKS, SAMPLED, TABLES, cases_of, certificate, shipped
from tests.support.games import open_boards
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.agents.pretrained import PretrainedTable
from ttt_env.alphazero.network import load_network
from ttt_env.analysis.dossier import dossier
from ttt_env.analysis.play import play_game
from ttt_env.errors import FileError

NAMES = ("ppo", "dqn", "q-learning", "value-network", "alphazero")
MAX_TABLE_BYTES, MAX_NETWORK_BYTES = 100_000, 300_000  # Bytes of a file, and of a file with a network.


def rounded(found):
    if isinstance(found, dict):
        return {key: rounded(value) for key, value in found.items() if key != "versions"}
    return round(found, 9) if isinstance(found, float) else found


def test_included_agents_have_files():
    assert set(NAMES) <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", cases_of(FILES))
def test_certificate_is_reproducible(path):
    saved = certificate(path)
    found = dossier(*shipped(path), file=path)
    assert rounded(json.loads(json.dumps(found))) == rounded(saved)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_certificate_names_file_and_is_unbeatable(path):
    facts = certificate(path)
    agent = facts["agent"]
    assert (agent["name"], agent["file"]) == (path.stem.split("@")[0], path.name)
    assert agent["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts["unbeatable"]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_file_is_policy_table_of_agent(path):
    assert path.stat().st_size < MAX_TABLE_BYTES
    name, game = shipped(path)
    agent, boards = ttt_env.make_agent(name, game), open_boards(game)
    table = Lookup(game, str(path))
    np.testing.assert_allclose(table.policies(boards), agent.policies(boards), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_network_of_game_is_loaded_and_does_not_lose(path):
    assert path.stat().st_size < MAX_NETWORK_BYTES
    name, game = shipped(path)
    agent = ttt_env.make_agent(name, game)
    for array, expected in load_network(path, game).weights.items():
        np.testing.assert_array_equal(agent.network.weights[array], expected)
    for seed, opponent in enumerate(["random", "win-block", "minimax:depth=2"] * 3):
        assert play_game(agent, opponent, game, rng=seed).value("X") >= 0
        assert play_game(opponent, agent, game, rng=seed).value("O") >= 0


def test_networks_of_16_cells_claim_only_checked_facts():
    assert {path.stem for path in NETWORKS} == {"alphazero@square", "alphazero@4-4-4"}
    for path in NETWORKS:
        facts = certificate(path)
        assert facts["worst_case"] == {"X": 0, "O": 0}
        assert facts["optimal_everywhere"] is facts["blunders_everywhere"] is None


class TestLargeBoards:
    """Nothing is proved about them; their scorecards count played games."""

    def test_scorecards_describe_their_files(self):
        assert [path.stem.partition("@")[2] for path in SAMPLED] == ["5-5-4", "6-5-4", "qubic"]
        for path in SAMPLED:
            facts = certificate(path, ".scorecard.json")
            assert path.stat().st_size < MAX_NETWORK_BYTES
            assert facts["agent"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
            assert facts["agent"]["file"] == path.name
            assert all(not result["exact"] for result in facts["results"].values())

    @pytest.mark.parametrize("path", SAMPLED, ids=lambda path: path.stem)
    def test_network_of_game_beats_random(self, path):
        facts = certificate(path, ".scorecard.json")
        game = ttt_env.get_game(facts["game"]["name"])
        agent = ttt_env.make_agent("alphazero:simulations=20", game)
        assert ttt_env.match(agent, "random", game, exact=False, games=6).score == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("path", SAMPLED, ids=lambda path: path.stem)
    def test_scorecard_is_reproducible(self, path):
        facts = certificate(path, ".scorecard.json")
        game = ttt_env.get_game(facts["game"]["name"])
        for opponent in ("random", "mcts:simulations=1000"):
            played = ttt_env.match(
                "alphazero", opponent, game, exact=False, games=facts["results"][opponent]["games"], rng=0
            )
            assert played.to_dict() == facts["results"][opponent]


def test_pretrained_table_is_loaded_by_name(tmp_path):
    class Some(PretrainedTable):
        name = "q-learning"

    class No(PretrainedTable):
        name = "nobody"

    game = ttt_env.get_game("tictactoe-v0")
    boards = open_boards(game)
    expected = ttt_env.make_agent("q-learning").policies(boards)
    np.testing.assert_allclose(Some(game).policies(boards), expected, atol=1e-6)
    Lookup.of("random").save(tmp_path / "t.npz")
    assert Some(game, str(tmp_path / "t.npz")).policy(game.start.play(0))[1] == pytest.approx(1 / 8)
    with pytest.raises(FileError, match="nobody is included for no game, not for tictactoe-v0"):
        No(game)
