"""Populations: who meets whom, the same on any number of processes, and on after an interruption."""

import pytest

import ttt_env
from tests.support.games import ANY_MOVE_WINS, LOPSIDED
from ttt_env.errors import GameTooLargeError, ParameterError, ResultFileError

pytest.importorskip("sb3_contrib")

from ttt_env.agents.learned.lookup import Lookup
from ttt_env.training import population
from ttt_env.training.loop import TrainingOptions

OPTIONS = {
    "game": LOPSIDED, "algo": "a2c", "seeds": (0, 3), "rounds": 2, "round_steps": 10, "until": "budget"
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A population of two learners after two rounds."""
    rounds, out = [], tmp_path_factory.mktemp("whole")
    return population(**OPTIONS, out=out, report=lambda *each: rounds.append(each)), rounds


def tables(folder):
    """The contents of all that learners have put into the pool, by name."""
    return {path.name: path.read_bytes() for path in folder.glob("*.npz")}


def test_every_learner_meets_the_others_as_they_were(whole):
    plan = whole[0].plan
    for seed, other in ((0, 3), (3, 0)):
        options = TrainingOptions(LOPSIDED, "a2c")
        pool = options.begun(checkpoint=plan.checkpoint(seed, 2)).learner.pool
        met = pool.shared
        assert len(met) == 2 and pool.agents[-2:] == met
        self_and_response = [Lookup(LOPSIDED, str(path)) for path in plan.shared(other, 1)]
        for agent, expected in zip(met, self_and_response, strict=True):
            played = [ttt_env.match(each, "random", LOPSIDED).as_x for each in (agent, expected)]
            assert played[0] == played[1]
        exploited = ttt_env.exploitability(self_and_response[0], LOPSIDED)
        played = ttt_env.match(self_and_response[1], self_and_response[0], LOPSIDED)
        assert (played.as_x.value, played.as_o.value) == pytest.approx((exploited.as_o, exploited.as_x))


def test_is_judged_exactly(whole):
    found, rounds = whole
    assert [number for number, _ in rounds] == [1, 2]
    for seed, looks in found.looks.items():
        best = ttt_env.exploitability(found.agent(seed), LOPSIDED).exploitability
        assert best == min(look.exploitability for look in looks) == rounds[-1][1][seed].exploitability
        assert [look.steps for look in looks] == sorted({look.steps for look in looks})
    assert found.table.names == ("seed 0", "seed 3")
    assert all(played.exact for played in found.table.matches.values())
    assert found.certificate.unbeatable == ttt_env.certify(found.agent(), LOPSIDED).unbeatable


@pytest.mark.slow
def test_each_round_trains_its_steps_though_rollouts_are_longer(whole):
    for looks in whole[0].looks.values():
        rollout = looks[-1].steps // 2
        assert rollout > 10 and {look.steps for look in looks} >= {rollout, 2 * rollout}


def test_an_interrupted_population_goes_on(whole, tmp_path):
    """Interrupted once between rounds, and once with a learner that has not ended its round."""

    def interrupt(number, best):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        population(**OPTIONS, out=tmp_path, report=interrupt)
    (tmp_path / "learner-3-round-1.json").unlink()
    rounds = []
    again = population(**OPTIONS, out=tmp_path, report=lambda number, _: rounds.append(number))
    assert rounds == [1, 2]
    assert tables(tmp_path) == tables(whole[0].plan.folder)
    found, expected = (
        {seed: [look.exploitability for look in looks] for seed, looks in each.looks.items()}
        for each in (again, whole[0])
    )
    assert found == expected


def test_fewer_rounds_than_the_folder_holds_are_all_of_them(tmp_path):
    options = {**OPTIONS, "round_steps": 200}
    whole = population(**options, out=tmp_path)
    assert all(looks[-1].steps >= 400 for looks in whole.looks.values())
    assert population(**{**options, "rounds": 1}, out=tmp_path).looks == whole.looks


@pytest.mark.slow
def test_processes_give_the_same(whole, tmp_path):
    population(**OPTIONS, out=tmp_path, workers=2)
    assert tables(tmp_path) == tables(whole[0].plan.folder)


def test_ends_when_a_learner_is_unbeatable(tmp_path):
    """On a board that X wins with any move, that is at once."""
    rounds, options = [], {**OPTIONS, "game": ANY_MOVE_WINS, "until": "unbeatable"}
    found = population(**options, out=tmp_path, report=lambda number, _: rounds.append(number))
    assert rounds == [1] and found.certificate.unbeatable


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"seeds": [1]}, "two learners or more"),
        ({"seeds": [1, 1]}, "of different seeds"),
        ({"seeds": 3}, "seeds=3"),
        ({"seeds": range(10**9)}, "up to 100,000"),
        ({"report": 3}, "report=3"),
        ({"algo": "dqm"}, "did you mean dqn"),
        ({"rounds": 0}, "rounds=0"),
        ({"until": "optimal"}, "budget"),
        ({"game": "square-v0"}, "16 cells"),
    ],
)
def test_mistakes_are_told_before_anything_begins(options, told, tmp_path):
    errors = GameTooLargeError if "game" in options else ParameterError
    with pytest.raises(errors, match=told):
        population(**{**OPTIONS, "out": tmp_path / "new", **options})
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["no JSON", "[" * 100_000, '{"seeds": NaN}'], ids=len)
def test_a_description_that_cannot_be_read_is_named(text, tmp_path):
    (tmp_path / "population.json").write_text(text)
    with pytest.raises(ResultFileError, match=r"population\.json cannot be read: "):
        population(**OPTIONS, out=tmp_path)


def test_the_folder_of_another_population_is_left_alone(whole):
    folder = whole[0].plan.folder
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    with pytest.raises(ParameterError, match="holds another population"):
        population(**{**OPTIONS, "seeds": (0, 1)}, out=folder)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
