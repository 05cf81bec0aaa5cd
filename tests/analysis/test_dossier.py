"""Dossiers: certificates with results against opponents, as files."""

import hashlib
import json

import pytest

import ttt_env
from tests import reference
from tests.support.games import NEAR_WIN, lowest, open_boards
from ttt_env.analysis import dossier as dossiers
from ttt_env.analysis.dossier import LADDER, Strength, dossier, sampled_scorecard
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.app.scorecard import scorecard
from ttt_env.errors import ParameterError
from ttt_env.storage.codec import write_json


@pytest.fixture(scope="module")
def random_dossier():
    return dossier("random")


@pytest.mark.slow
def test_dossier_agrees_with_certify_and_match(random_dossier):
    found, worst = ttt_env.certify("random"), ttt_env.exploitability("random")
    assert random_dossier["game"] == {"name": "tictactoe-v0"} and random_dossier["game_value"] == 0
    assert random_dossier["unbeatable"] is random_dossier["optimal_everywhere"] is False
    assert random_dossier["worst_case"] == found.worst_case
    assert random_dossier["refutations"] == {seat: str(record) for seat, record in found.refutations.items()}
    assert random_dossier["exploitability"] == {
        "as_X": worst.as_x,
        "as_O": worst.as_o,
        "mean": worst.exploitability,
    }
    assert list(random_dossier["results"]) == list(LADDER)
    for opponent in LADDER:
        played = ttt_env.match("random", opponent)
        assert tuple(random_dossier["results"][opponent]["as_X"].values()) == played.as_x
        assert tuple(random_dossier["results"][opponent]["as_O"].values()) == played.as_o
    assert random_dossier["n_blunders"] == len(random_dossier["blunders_everywhere"]) == reference.CAN_BLUNDER
    assert len(random_dossier["blunders"]) == reference.CAN_BLUNDER
    solution = ttt_env.solve("tictactoe-v0")
    for text in random_dossier["missed_wins"]:
        assert solution.value_of(ttt_env.Position.parse(text)) == 1


def test_unbeatable_agent_may_be_suboptimal_elsewhere():
    boards = open_boards()
    best = dict(zip(boards, ttt_env.make_agent("minimax").policies(boards).argmax(axis=1), strict=True))

    def suboptimal_in_one_position(position):
        return 5 if position == NEAR_WIN else int(best[position])

    found = dossier(suboptimal_in_one_position, opponents=[])
    assert found["unbeatable"] and not found["optimal_everywhere"]
    assert found["blunders_everywhere"] == ["XX./OO./..."]
    found = dossier("minimax", "mnk-v0:m=3,n=2,k=2", opponents=[])
    assert found["unbeatable"] and found["optimal_everywhere"]
    assert found["game_value"] == found["worst_case"]["X"] == 1


def test_dossier_file_names_its_model(tmp_path):
    from ttt_env.agents.learned.lookup import Lookup

    model, path = tmp_path / "policy.npz", tmp_path / "policy.certificate.json"
    Lookup.of("win-block").save(model)
    write_json(dossier(f"lookup:{model}", file=model, opponents=["random"]), path)
    found = json.loads(path.read_text())
    assert found["agent"]["file"] == "policy.npz"
    assert found["agent"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert found["versions"]["ttt-env"] == ttt_env.__version__


def test_larger_game_is_checked_only_where_reachable():
    found = dossier("weights", "mnk-v0:m=7,n=2,k=2", opponents=[])
    assert found["optimal_everywhere"] is found["blunders_everywhere"] is None
    assert found["refutations"]["X"] is None and found["worst_case"]["O"] == -1


SOFT, HARD = (ttt_env.make_agent(f"softmax:temperature={temperature}") for temperature in (1, 0.1))


@pytest.mark.parametrize(
    ("opponents", "agents"),
    [
        ([SOFT, HARD, "random", "random"],
         {"Softmax": SOFT, "Softmax (2)": HARD, "random": "random", "random (2)": "random"}),
        ([lowest], {"lowest": lowest}),
        ("random", {"random": "random"}),
        ({"soft": SOFT, "hard": HARD}, {"soft": SOFT, "hard": HARD}),
    ],
)  # fmt: skip
def test_every_opponent_has_its_own_result(opponents, agents):
    exact = dossier("rules", "tictactoe-v0", opponents=opponents)["results"]
    sampled = sampled_scorecard("rules", "tictactoe-v0", opponents=opponents, games=10)["results"]
    assert list(exact) == list(sampled) == list(agents) and repr(SOFT) == repr(HARD)
    for name, agent in agents.items():
        assert tuple(exact[name]["as_X"].values()) == ttt_env.match("rules", agent, exact=True).as_x
        assert sampled[name] == ttt_env.match("rules", agent, exact=False, games=10, rng=0).to_dict()


@pytest.mark.parametrize("make", [dossier, sampled_scorecard])
def test_agents_are_named_consistently(make):
    assert make(lowest, "tictactoe-v0", opponents=[])["agent"]["name"] == "lowest"
    assert make("rules", "tictactoe-v0", opponents=[])["agent"]["name"] == "rules"
    with pytest.raises(ParameterError, match="opponents=3: expected at most 10000 agents"):
        make("rules", "tictactoe-v0", opponents=3)


def test_sampled_scorecard_plays_games(tmp_path):
    path = tmp_path / "bot.npz"
    path.write_bytes(b"some weights")
    game = ttt_env.get_game("mnk-v0:m=5,n=5,k=4")
    opponents = ("random", "block")
    found = sampled_scorecard("win-block", game, opponents=opponents, games=10, seed=3, name="bot", file=path)
    digest = hashlib.sha256(b"some weights").hexdigest()
    assert found["agent"] == {"name": "bot", "file": "bot.npz", "sha256": digest}
    assert found["game"]["name"] == game.name and found["seed"] == 3
    for opponent in opponents:
        played = ttt_env.match("win-block", opponent, game, exact=False, games=10, rng=3)
        assert found["results"][opponent] == played.to_dict()
        assert not found["results"][opponent]["exact"] and found["results"][opponent]["games"] == 10
    assert json.loads(json.dumps(found)) == found


def test_scorecard_and_dossier_share_results(monkeypatch):
    computed = []

    def count(name):
        compute = getattr(dossiers, name)

        def counted(agent, *more, **named):
            computed.append((name, *map(str, more[:1])))
            return compute(agent, *more, **named)

        monkeypatch.setattr(dossiers, name, counted)

    for name in ("certify", "exploitability", "match"):
        count(name)
    strength = Strength(PolicyTable.of("block"))
    text, facts = scorecard(strength, "block"), dossier("block", strength=strength)
    assert len(computed) == len(set(computed)) == 2 + len(LADDER)
    assert "BEATABLE as" in text and facts["agent"]["name"] == "block"
