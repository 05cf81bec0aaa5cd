"""The agents that come with this package are what their certificates say."""

import json

import numpy as np
import pytest

import ttt_env
from tests.test_q_learning import open_boards
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.agents.pretrained import FOLDER, PretrainedTable
from ttt_env.analysis.dossier import dossier
from ttt_env.errors import PolicyFileError

FILES = sorted(FOLDER.glob("*.npz"))
NAMES = ("ppo", "dqn", "q-learning", "value-network", "alphazero")
MOST = 100_000  # bytes of a file


def certificate(path):
    return json.loads(path.with_suffix(".certificate.json").read_text(encoding="utf-8"))


def rounded(found):
    if isinstance(found, dict):
        return {key: rounded(value) for key, value in found.items() if key != "versions"}
    return round(found, 9) if isinstance(found, float) else found


def test_there_are_some():
    assert set(NAMES) <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_certificate_comes_out_again(path):
    saved = certificate(path)
    name, game = path.stem.split("@")[0], saved["game"]["name"]
    found = dossier(name, game, file=path)
    assert rounded(json.loads(json.dumps(found))) == rounded(saved)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_is_a_policy_table_of_the_agent(path):
    assert path.stat().st_size < MOST
    game = ttt_env.get_game(certificate(path)["game"]["name"])
    agent, boards = ttt_env.make_agent(path.stem.split("@")[0], game), open_boards(game)
    table = Lookup(game, str(path))
    np.testing.assert_allclose(table.policies(boards), agent.policies(boards), atol=1e-6)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_they_are_unbeatable(path):
    assert certificate(path)["unbeatable"]


def test_they_are_opponents():
    for name in NAMES:
        env = ttt_env.make("tictactoe-v0", opponent=name, play_as="O")
        observation, _ = env.reset(seed=0)
        assert observation.sum() == 1


def test_a_table_is_found_by_its_name(tmp_path):
    class Some(PretrainedTable):
        name = "q-learning"

    class No(PretrainedTable):
        name = "nobody"

    game = ttt_env.get_game("tictactoe-v0")
    assert ttt_env.certify(Some(game)).unbeatable
    Lookup.of("random").save(tmp_path / "t.npz")
    assert Some(game, str(tmp_path / "t.npz")).policy(game.start)[1] == pytest.approx(1 / 9)
    with pytest.raises(PolicyFileError, match="nobody comes trained for no game, not for tictactoe-v0"):
        No(game)
