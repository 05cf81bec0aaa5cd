"""The figures that a training reports, logs and writes are those of its agents, and it returns the best.

They are computed anew from the agents, on a board that takes milliseconds to evaluate.
"""

from functools import partial
from itertools import chain, permutations

import numpy as np
import pytest

import ttt_env
from tests.support import naive
from tests.support.agents import Nth
from tests.support.documents import ROOT
from tests.support.games import LOPSIDED, open_boards, positions_of
from tests.support.marks import slow_but_the_first
from ttt_env.agent.learner import Budget, Learner, learner_class, learner_names
from ttt_env.agents.learned.lookup import Lookup

pytest.importorskip("sb3_contrib")

from ttt_env.training.loop import TrainingOptions, checkpoint_of

GAME = ttt_env.get_game("mnk-v0:m=3,n=2,k=2")  # X wins
HARDER = ttt_env.Game("upside down", LOPSIDED.shape, LOPSIDED.winning_sets, misere=True)
LARGE = "mnk-v0:m=5,n=4,k=2"  # too large to be enumerated
WEAK, WEAKEST = (Lookup.of(spec, GAME) for spec in ("random", Nth(GAME, 0)))
SOLID, LESS_SOLID = (Lookup.of(Nth(GAME, rank), GAME) for rank in (1, 4))  # unbeatable, 11 and 13 blunders
OPTIMAL, ALSO_OPTIMAL = (Lookup.of(spec, GAME) for spec in ("weights", "win-block"))
SETTINGS = {
    "alphazero": {
        "games": 8,
        "simulations": 4,
        "channels": 4,
        "blocks": 1,
        "updates": 2,
        "evaluation_simulations": (4,),
    },
    "maskable-ppo": {"envs.n_envs": 4, "batch_size": 32},
    "ppo": {"envs.n_envs": 4, "n_steps": 8, "batch_size": 32},
    "a2c": {"envs.n_envs": 4},
    "dqn": {"envs.n_envs": 4, "learning_starts": 8, "batch_size": 8},
    "qr-dqn": {"envs.n_envs": 4, "learning_starts": 8, "batch_size": 8},
    "q-learning": {"alpha": 0.01},
    "value-network": {"hidden": [4]},
    "cfr": {},
}
STEPS = {"q-learning": 1100, "value-network": 7000, "cfr": 6}  # 64 of others: each is judged twice or more


class Scripted(Learner):
    """A learner whose nth evaluation judges the agents of the nth entry of a script."""

    name, plays_as = "scripted", "lookup"
    n_steps, current = 0, None

    @property
    def steps(self):
        return self.n_steps

    def advance(self, budget):
        self.n_steps += 1

    def candidates(self):
        for agent in self.script[self.n_steps - 1]:
            self.current = agent
            yield agent

    def agent(self):
        return self.current

    def state(self):
        return self.n_steps, self.current

    def restore(self, state):
        self.n_steps, self.current = state


@pytest.fixture
def script(monkeypatch):
    """A function that sets the script: an agent, or a tuple of them, for each step."""
    monkeypatch.setattr("ttt_env.training.loop.learner_class", lambda name: Scripted)

    def script(*steps, keeps_latest=False):
        entries = [agents if isinstance(agents, tuple) else (agents,) for agents in steps]
        for name, value in {
            "script": entries,
            "keeps_latest": keeps_latest,
            "default_budget": Budget(steps=len(entries)),
        }.items():
            monkeypatch.setattr(Scripted, name, value, raising=False)

    return script


train = partial(ttt_env.train, GAME, "scripted", until="budget")


def figures(agent, opponents=()):
    """The figures of an agent by the names under which they are logged."""
    worst = ttt_env.exploitability(agent)
    figures = {
        "exact/exploitability": worst.exploitability,
        "exact/exploitable as X": worst.as_x,
        "exact/exploitable as O": worst.as_o,
        "exact/blunders": ttt_env.certify(agent).n_blunders,
    }
    for name in opponents:
        played = ttt_env.match(agent, name)
        figures |= {f"exact/{name} as X": played.as_x.value, f"exact/{name} as O": played.as_o.value}
    return figures


def assert_figures_of(evaluation, agent):
    """Check that all figures of the evaluation are those of the agent."""
    expected, proof = figures(agent, evaluation.results), ttt_env.certify(agent)
    assert evaluation.scalars() == expected
    assert evaluation.certificate == proof
    words = {seat: {1: "wins", 0: "draws", -1: "loses"}[worst] for seat, worst in proof.worst_case.items()}
    assert str(evaluation) == (
        f"{evaluation.steps:,} steps, exploitability {expected['exact/exploitability']:.4f}, "
        f"worst: X {words['X']}, O {words['O']}"
    )


def load_training(out, algo="scripted", game=GAME):
    """The training in the checkpoint of a model's file."""
    return TrainingOptions(game, algo).begin(checkpoint=checkpoint_of(out))


def same_policy(one, two):
    return np.array_equal(one.policies(open_boards(GAME)), two.policies(open_boards(GAME)))


@pytest.mark.parametrize("algo", slow_but_the_first(reversed(learner_names())))
def test_reports_and_files_describe_returned_agent(algo, tmp_path):
    learner, reports = learner_class(algo), []
    out, steps = tmp_path / f"model.{learner.suffix}", STEPS.get(algo, 64)
    options = {"steps": steps, "until": "budget", "seed": 3, "out": out, "report": reports.append}
    agent = ttt_env.train(HARDER, algo, **options, **SETTINGS.get(algo, {}))
    assert len(reports) > 1
    ranked = reports[::-1] if learner.keeps_latest else reports
    best = min(ranked, key=lambda evaluation: evaluation.exploitability.exploitability)
    training = load_training(out, algo, HARDER)
    saved = ttt_env.make_agent(f"{learner.plays_as}:{out}", HARDER)
    for evaluation, each in ((best, agent), (best, saved), (reports[-1], training.learner.agent())):
        assert_figures_of(evaluation, Lookup.of(each))  # a table is faster than a network
    assert training.progress.best.scalars() == best.scalars()
    assert training.progress.evaluation.scalars() == reports[-1].scalars()


@pytest.mark.parametrize("keeps_latest", [False, True])
@pytest.mark.parametrize("agents", list(permutations([OPTIMAL, ALSO_OPTIMAL, WEAK])))
def test_best_agent_is_returned_at_any_step(agents, keeps_latest, script, tmp_path):
    """Of two equally good agents, the first, or the latest if the learner keeps the latest."""
    reports, out = [], tmp_path / "model.npz"
    number = (max if keeps_latest else min)(agents.index(OPTIMAL), agents.index(ALSO_OPTIMAL))
    script(*agents, keeps_latest=keeps_latest)
    agent = train(out=out, report=reports.append)
    assert agent is agents[number]
    assert same_policy(ttt_env.make_agent(f"lookup:{out}", GAME), agent)
    assert [evaluation.steps for evaluation in reports] == [1, 2, 3]
    for evaluation, judged in zip(reports, agents, strict=True):
        assert_figures_of(evaluation, judged)
    progress = load_training(out).progress
    assert (progress.best.steps, progress.evaluation.steps) == (number + 1, 3)
    assert_figures_of(progress.best, agent)


@pytest.mark.slow
def test_best_agent_before_break_is_best_after_it(script, tmp_path):
    """If the budget is used up, a resumed training does not evaluate its agent again."""
    out, reports = tmp_path / "model.npz", []
    for agents in permutations([OPTIMAL, WEAK, WEAKEST]):
        script(*agents)
        for steps in (1, 2):
            train(steps=steps, out=out)
            agent = train(steps=3, out=out, resume=True)
            for each in (agent, ttt_env.make_agent(f"lookup:{out}", GAME)):
                assert same_policy(each, OPTIMAL)
    assert same_policy(train(steps=3, out=out, resume=True, report=reports.append), OPTIMAL)
    assert not reports


@pytest.mark.parametrize(
    ("until", "steps", "best"),
    [("unbeatable", 2, LESS_SOLID), ("optimal", 5, OPTIMAL), ("budget", 7, LESS_SOLID)],
)
def test_training_ends_when_agent_reaches_goal(until, steps, best, script):
    """By exploitability alone, no agent is better than an unbeatable one."""
    reports = []
    script(WEAK, LESS_SOLID, WEAKEST, SOLID, OPTIMAL, WEAK, ALSO_OPTIMAL)
    assert train(until=until, report=reports.append) is best
    assert [evaluation.steps for evaluation in reports] == list(range(1, steps + 1))


def test_optimal_goal_counts_blunders_everywhere(script):
    agents, reports, twin = (LESS_SOLID, SOLID, LESS_SOLID), [], naive.twin(GAME)
    script(*agents)
    assert train(until="optimal", report=reports.append) is SOLID
    for evaluation, agent in zip(reports, agents, strict=True):
        blunders = {
            position
            for board, position in positions_of(GAME).items()
            if twin.moves(board)
            and not set(np.flatnonzero(agent.policy(position))) <= set(twin.best_cells(board))
        }
        assert set(evaluation.everywhere) == blunders
        assert evaluation.scalars()["exact/blunders everywhere"] == len(blunders)


@pytest.mark.parametrize(
    ("first", "last", "best"), [(SOLID, LESS_SOLID, 1), (LESS_SOLID, SOLID, 3), (SOLID, SOLID, 3)]
)
def test_new_goal_ranks_best_agent_by_its_blunders(first, last, best, script, tmp_path):
    """That it met the old goal no longer counts: a later agent that is equally good takes its place."""
    out = tmp_path / "model.npz"
    script(first, WEAK, last, keeps_latest=True)
    train(steps=2, out=out)
    assert same_policy(train(until="optimal", out=out, resume=True), SOLID)
    assert load_training(out).progress.best.steps == best


def test_most_passes_break_ties(script, tmp_path):
    """An agent passes if it reaches the goal; if all agents of a step pass, the training is done."""
    steps = [(SOLID, WEAK), (LESS_SOLID, WEAK), (OPTIMAL, LESS_SOLID, WEAK), (SOLID, WEAK)]
    reports, out = [], tmp_path / "model.npz"
    script(*steps)
    assert train(until="unbeatable", out=out, report=reports.append) is LESS_SOLID
    assert [evaluation.steps for evaluation in reports] == [1, 1, 2, 2, 3, 3, 3, 4, 4]
    for evaluation, agent in zip(reports, chain(*steps), strict=True):
        assert_figures_of(evaluation, agent)
    progress = load_training(out).progress
    assert (progress.n_passed, progress.evaluation.steps) == (2, 4)
    assert_figures_of(progress.evaluation, WEAK)


@pytest.mark.parametrize("until", ["unbeatable", "budget"])
def test_failing_agent_ends_evaluation_of_step(until, script):
    reports = []
    script((WEAK, OPTIMAL), (SOLID, OPTIMAL))
    assert train(until=until, report=reports.append) is OPTIMAL
    assert [evaluation.steps for evaluation in reports] == [1, 2, 2]


def test_learner_is_notified_with_current_agent(script, monkeypatch):
    noted = []
    monkeypatch.setattr(
        Scripted, "on_evaluation", lambda learner, report: noted.append((report, learner.agent()))
    )
    script((SOLID, WEAK), WEAKEST, (OPTIMAL, LESS_SOLID))
    train()
    assert [agent for _, agent in noted] == [WEAK, WEAKEST, LESS_SOLID]
    for evaluation, agent in noted:
        assert_figures_of(evaluation, agent)


def test_latest_agent_is_returned_if_strength_is_sampled(script):
    agents = [ttt_env.make_agent(name, LARGE) for name in ("weights", "random", "weights", "random")]
    script(*agents)
    assert ttt_env.train(LARGE, "scripted") is agents[-1]


def test_log_holds_figures_of_each_step(script, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    agents = (WEAK, OPTIMAL, WEAKEST)
    script(*agents)
    train(tensorboard=tmp_path)
    log = accumulator.EventAccumulator(str(tmp_path)).Reload()
    expected = [figures(agent) for agent in agents]
    assert set(log.Tags()["scalars"]) == set(expected[0])
    for name in expected[0]:
        logged = [(event.step, event.value) for event in log.Scalars(name)]
        values = [pytest.approx(each[name], abs=1e-6) for each in expected]
        assert logged == list(enumerate(values, 1))


def test_table_of_trainings_holds_figures_of_best_agent(script, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import train_unbeatable

    training = {"game": GAME, "algorithm": "scripted", "seed": 0, "steps": None, "seconds": None}
    for agents in permutations([SOLID, WEAK, WEAKEST]):
        script(*agents)
        line = train_unbeatable.trained({**training, "until": "budget"})
        proof, steps = ttt_env.certify(SOLID), agents.index(SOLID) + 1
        assert (line["exploitability"], line["steps"], line["unbeatable"]) == (0, steps, True)
        assert (line["worst_case"], line["blunders"]) == (proof.worst_case, proof.n_blunders)
