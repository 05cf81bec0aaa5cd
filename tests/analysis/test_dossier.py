"""Certificates as files."""

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
def random():
    return dossier("random")


@pytest.mark.slow
def test_says_what_certify_and_match_say(random):
    found, worst = ttt_env.certify("random"), ttt_env.exploitability("random")
    assert random["game"] == {"name": "tictactoe-v0"} and random["game_value"] == 0
    assert random["unbeatable"] is random["optimal_everywhere"] is False
    assert random["worst_case"] == found.worst_case
    assert random["refutations"] == {seat: str(record) for seat, record in found.refutations.items()}
    assert random["exploitability"] == {"as_X": worst.as_x, "as_O": worst.as_o, "mean": worst.exploitability}
    assert list(random["results"]) == list(LADDER)
    for opponent in LADDER:
        played = ttt_env.match("random", opponent)
        assert tuple(random["results"][opponent]["as_X"].values()) == played.as_x
        assert tuple(random["results"][opponent]["as_O"].values()) == played.as_o
    assert random["n_blunders"] == len(random["blunders_everywhere"]) == reference.CAN_BLUNDER
    assert len(random["blunders"]) == reference.CAN_BLUNDER
    solution = ttt_env.solve("tictactoe-v0")
    for text in random["missed_wins"]:
        assert solution.value_of(ttt_env.Position.parse(text)) == 1


def test_unbeatable_is_not_yet_optimal_everywhere():
    boards = open_boards()
    best = dict(zip(boards, ttt_env.make_agent("minimax").policies(boards).argmax(axis=1), strict=True))

    def beats_a_fool_late(position):
        return 5 if position == NEAR_WIN else int(best[position])

    found = dossier(beats_a_fool_late, opponents=[])
    assert found["unbeatable"] and not found["optimal_everywhere"]
    assert found["blunders_everywhere"] == ["XX./OO./..."]
    found = dossier("minimax", "mnk-v0:m=3,n=2,k=2", opponents=[])
    assert found["unbeatable"] and found["optimal_everywhere"]
    assert found["game_value"] == found["worst_case"]["X"] == 1


def test_is_a_file_that_names_the_model_it_is_of(tmp_path):
    from ttt_env.agents.learned.lookup import Lookup

    model, path = tmp_path / "policy.npz", tmp_path / "policy.certificate.json"
    Lookup.of("win-block").save(model)
    write_json(dossier(f"lookup:{model}", file=model, opponents=["random"]), path)
    found = json.loads(path.read_text())
    assert found["agent"]["file"] == "policy.npz"
    assert found["agent"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert found["versions"]["ttt-env"] == ttt_env.__version__


def test_of_larger_games_only_what_can_come_up_is_looked_at():
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
def test_every_opponent_keeps_its_result(opponents, agents):
    exact = dossier("rules", "tictactoe-v0", opponents=opponents)["results"]
    sampled = sampled_scorecard("rules", "tictactoe-v0", opponents=opponents, games=10)["results"]
    assert list(exact) == list(sampled) == list(agents) and repr(SOFT) == repr(HARD)
    for name, agent in agents.items():
        assert tuple(exact[name]["as_X"].values()) == ttt_env.match("rules", agent, exact=True).as_x
        assert sampled[name] == ttt_env.match("rules", agent, exact=False, games=10, rng=0).to_dict()


@pytest.mark.parametrize("make", [dossier, sampled_scorecard])
def test_an_agent_is_named_the_same_way_in_each_process(make):
    assert make(lowest, "tictactoe-v0", opponents=[])["agent"]["name"] == "lowest"
    assert make("rules", "tictactoe-v0", opponents=[])["agent"]["name"] == "rules"
    with pytest.raises(ParameterError, match="opponents=3: expected at most 10000 agents"):
        make("rules", "tictactoe-v0", opponents=3)


def test_where_nothing_can_be_computed_games_are_played(tmp_path):
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


def test_a_scorecard_and_a_dossier_compute_everything_once(monkeypatch):
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
