"""Agents that are not what they declare: every analysis refuses them, by whatever door they come."""

from functools import cache, partial

import numpy as np
import pytest

import ttt_env
from tests.support.games import MISERE, TICTACTOE, lowest
from tests.support.marks import slow, slow_unless
from ttt_env import Agent, RecordedAgent
from ttt_env.agent import Answer, FunctionAgent
from ttt_env.agents.combining import Epsilon, Mixture
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.worst_case import worst_case
from ttt_env.errors import PolicyError
from ttt_env.rules.boards import Boards

LINE = ttt_env.get_game("mnk-v0:m=13,n=1,k=3")  # its answers are not kept: more than 12 cells
SEVEN = ttt_env.Game("seven", (7,), [(3, 4, 6), (0, 5, 6), (3, 5, 6)])  # drawn; weak play loses as X and as O
ONE_OF_MANY = ttt_env.Position.parse("X../..O/...")  # the first free cell loses; no even sample has it
M433 = "mnk-v0:m=4,n=3,k=3"
perfect = cache(lambda game: ttt_env.make_agent("minimax", game))


def first_cell(position):
    return np.eye(position.game.n_cells)[position.legal_cells[0]]


# Methods for classes: by some of them an agent is perfect, by others it plays the first cell.


def best(agent, position):
    return perfect(agent.game).policy(position)


def all_best(agent, boards):
    return perfect(agent.game).policies(boards)


def first(agent, position):
    return first_cell(position)


def choose_lowest(agent, position, rng):
    return lowest(position)


class BeatenAlone(Agent):
    is_fixed = True
    policies, policy = all_best, first


class Counting(Agent):
    """Every answer is another one."""

    is_fixed = True
    calls = 0

    def policy(self, position):
        self.calls += 1
        return np.eye(self.game.n_cells)[position.legal_cells[self.calls % len(position.legal_cells)]]


class BeatenInBatchesOfOne(Agent):
    """Perfect by `policy` and in batches of several, and plays the first cell in a batch of one."""

    is_fixed = True
    policy = best

    def policies(self, boards):
        return first_cell(boards[0])[None] if len(boards) == 1 else all_best(self, boards)


class BeatenByBatchSize(Agent):
    """As the last one, without a `policy` of its own."""

    is_fixed = True
    policies = BeatenInBatchesOfOne.policies


class BeatenInOnePosition(Agent):
    """Perfect but for one position, in which it plays the first cell alone."""

    is_fixed = True
    policies = all_best

    def policy(self, position):
        return first_cell(position) if position == ONE_OF_MANY else best(self, position)


class BeatenByASlip(Agent):
    """Perfect in batches; alone, a losing move in one position has a probability that rounding could have."""

    is_fixed = True
    policies = all_best

    def policy(self, position):
        slip = 5e-6 if position == ONE_OF_MANY else 0
        return best(self, position) * (1 - slip) + slip * first_cell(position)


class Disguised(BeatenAlone):
    """Says that it is a class of this package."""

    __module__ = "ttt_env.agents.planning.planners"
    is_fixed = True
    policies, policy = all_best, first


class DrawsItsCell(Agent):
    """Declares a fixed policy, and draws."""

    is_fixed = True

    def choose(self, position, rng):
        return int(rng.choice(position.legal_cells))


class ChoosesBesides(Agent):
    is_fixed = True
    policy, choose = best, choose_lowest


def changed(name, method, answer):
    """Makes an agent of this package, with a method put into the object."""

    def changed_agent(game):
        agent = ttt_env.make_agent(name, game)
        setattr(agent, method, answer)
        return agent

    return changed_agent


class AnswersBesides(FunctionAgent):
    """A function that is perfect, and a class around it that plays another cell."""

    choose = choose_lowest

    def __init__(self, game):
        super().__init__(game, lambda position: int(perfect(game).policy(position).argmax()))


class JudgedBesides(AnswersBesides):
    choose = FunctionAgent.choose

    def judged_answer(self, position):
        return Answer.of(lowest(position), position)


class RecordedBesides(RecordedAgent):
    """Says that its answers are those of another agent."""

    def __init__(self, game):
        super().__init__(perfect(game))

    def _of_one_ply(self, boards, ply):
        return np.array([first_cell(position) for position in boards])


class SaysNothing(Agent):
    """Names no cell, as only recorded answers may."""

    is_fixed = may_forfeit = True

    def policies(self, boards):
        return np.zeros((len(boards), self.game.n_cells))


class HidesItsParts(Mixture):
    """A mixture whose `agents` are no attribute of the object."""

    is_fixed = True
    agents = property(lambda mixture: [ChoosesBesides(mixture.game)], lambda mixture, agents: None)

    def __init__(self, game):
        super().__init__(game, ["random"])


class WritesIntoItsAnswers(Agent):
    """Perfect in batches, and weak alone; then it changes what it has answered in the batch."""

    is_fixed = True

    def policies(self, boards):
        self.rows = {(board.mine, board.theirs): row for row, board in enumerate(boards)}
        self.answers = all_best(self, boards).copy()
        return self.answers

    def policy(self, position):
        if (row := self.rows.get((position.mine, position.theirs))) is not None:
            self.answers[row] = first_cell(position)
        return first_cell(position)


class AveragesNoPolicies(Mixture):
    """Parts of which none has a policy, and whose average is perfect."""

    def __init__(self, game):
        super().__init__(game, [Doubled(game), Nothing(game)])


class Doubled(Agent):
    is_fixed = True

    def policy(self, position):
        return 2 * best(self, position)


class Nothing(Agent):
    is_fixed = True

    def policy(self, position):
        return np.zeros(self.game.n_cells)


class ErrsAloneOnce(Epsilon):
    """Changes one answer of one of our classes, in one position of many."""

    is_fixed = True

    def __init__(self, game):
        super().__init__(game, "minimax", epsilon=0.0)

    def _average(self, policies):
        average = super()._average(policies)
        is_there = average.ndim == 1 and average[8] == 1 and average.sum() == 1
        return np.roll(average, 1) if is_there else average


def network_of_batches(game):
    """A network that is perfect in batches of several, but for the last of them."""

    def scores(planes):
        stones = planes.reshape(len(planes), -1, 2).astype(np.uint64)
        boards = Boards(game, *np.einsum("bcp,c->pb", stones, np.uint64(1) << np.arange(9, dtype=np.uint64)))
        answers = perfect(TICTACTOE).policies(boards)
        answers[-1] = first_cell(boards[-1])
        return answers

    return ttt_env.make_agent(scores, game, observation="planes")


CHANGED = [
    changed("newell-simon", "policy", first_cell),
    changed("random", "policy", lambda position: perfect(position.game).policy(position)),
    changed("minimax", "choose", lambda position, rng: lowest(position)),
]
LIARS = [BeatenAlone, BeatenInBatchesOfOne, BeatenByBatchSize, BeatenInOnePosition, BeatenByASlip, Disguised]
LIARS += [DrawsItsCell, ChoosesBesides, *CHANGED, RecordedBesides]
LIARS += [
    SaysNothing,
    HidesItsParts,
    WritesIntoItsAnswers,
    AveragesNoPolicies,
    ErrsAloneOnce,
]
DISGUISES = {
    "alone": lambda liar: liar,
    "epsilon": lambda liar: Epsilon(liar.game, liar, epsilon=0.0),
    "mixture": lambda liar: Mixture(liar.game, [liar, "minimax"], [1, 0]),
    "twice": lambda liar: Epsilon(liar.game, Mixture(liar.game, [liar]), epsilon=0.0),
    "recorded": RecordedAgent,
}
ANALYSES = {
    "certify": ttt_env.certify,
    "exploitability": ttt_env.exploitability,
    "best_response": ttt_env.best_response,
    "match": lambda agent: ttt_env.match("random", agent),
    "worst_case": lambda agent: worst_case(agent, "X"),
    "tournament": lambda agent: ttt_env.tournament({"liar": agent, "random": "random"}, agent.game),
}
TWO = (BeatenAlone, ChoosesBesides)  # found in different ways


def id_of(value):
    return getattr(value, "__name__", value)


def is_fast(build, disguise, analysis):
    """True for each liar by one door, for one as a part of a part, and for two by all doors."""
    if analysis == "certify":
        return disguise == "alone" or build in TWO or (disguise, build) == ("twice", DrawsItsCell)
    return (build in TWO and disguise == "alone") or (analysis == "tournament" and build is BeatenAlone)


@pytest.mark.parametrize(
    "build, disguise, analysis", slow_unless(is_fast, LIARS, DISGUISES, ANALYSES), ids=id_of
)
def test_is_refused(build, disguise, analysis):
    with pytest.raises(PolicyError, match=r"fixed policy: in [XO.]{3}/|beside |may_forfeit|no policy in"):
        ANALYSES[analysis](DISGUISES[disguise](build(TICTACTOE)))


@pytest.mark.parametrize(
    "build, analysis",
    slow_unless(
        lambda build, analysis: analysis == "certify" or build in LIARS[:2],
        [*LIARS[:3], ChoosesBesides],
        [name for name in ANALYSES if name != "tournament"],
    ),
    ids=id_of,
)
def test_is_refused_where_answers_are_not_kept(build, analysis):
    told = "overrides choose beside policy" if build is ChoosesBesides else r"no fixed policy: in [XO.]{13} "
    with pytest.raises(PolicyError, match=told):
        ANALYSES[analysis](build(LINE))


@pytest.mark.parametrize("build", [Counting, BeatenAlone])
def test_the_error_names_the_position_and_both_answers(build):
    gave, gives = (rf"its {name} {{}} \[.*[1-9].*\]" for name in ("policies", "policy"))
    told = rf"no fixed policy: in [XO./]{{11}} {gave.format('gave')}, {gives.format('gives')}"
    for name in ("certify", "exploitability", "best_response", "match"):
        with pytest.raises(PolicyError, match=told):
            ANALYSES[name](build(TICTACTOE))


@pytest.mark.parametrize("build", [AnswersBesides, JudgedBesides], ids=id_of)
@pytest.mark.parametrize("disguise", ["alone", "epsilon", "recorded"])
def test_a_function_is_judged_by_its_answers_alone(build, disguise):
    agent = DISGUISES[disguise](build(TICTACTOE))
    for analysis in (ttt_env.certify, ttt_env.exploitability, partial(ttt_env.match, "random", exact=True)):
        with pytest.raises(PolicyError, match=r"beside answer, by which it is judged"):
            analysis(agent)


@pytest.mark.parametrize("build", [ChoosesBesides, BeatenAlone], ids=id_of)
def test_a_vector_environment_refuses_who_would_play_otherwise_than_in_a_single_one(build):
    with pytest.raises(PolicyError, match=r"beside policy|no fixed policy"):
        ttt_env.make_vec("tictactoe-v0", 2, opponent=build(TICTACTOE))


def test_what_an_agent_is_given_stays_as_it_is():
    """An agent that takes the values of a solution for its own."""
    for array in (ttt_env.solve(TICTACTOE).values.layers[1], reachable(TICTACTOE)[2].open):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_network_that_depends_on_its_batch_is_refused():
    with pytest.raises(PolicyError, match="no fixed policy: in"):
        ttt_env.certify(network_of_batches(TICTACTOE))


def methods_of(cell_in):
    """Each of the methods by which a class may say that it plays this cell."""

    def policy(agent, position):
        return np.eye(agent.game.n_cells)[cell_in(position)]

    return {
        "policy": policy,
        "policies": lambda agent, boards: np.array([policy(agent, position) for position in boards]),
        "choose": lambda agent, position, rng: cell_in(position),
    }


METHODS = methods_of(lambda position: int(perfect(position.game).policy(position).argmax()))
PARENTS = {
    **{f"has {name}": type("Weak", (Agent,), {name: method}) for name, method in methods_of(lowest).items()},
    **{name: type(ttt_env.make_agent(name)) for name in ("random", "mcts", "minimax")},
}


@pytest.mark.parametrize(
    ("parent", "method", "is_fixed"),
    slow_unless(
        lambda parent, method, is_fixed: parent not in ("mcts", "minimax") or is_fixed,
        PARENTS,
        METHODS,
        [True, False],
    ),
)
def test_the_method_of_a_class_decides_whatever_its_ancestors_define(parent, method, is_fixed):
    kind = type("Heir", (PARENTS[parent],), {method: METHODS[method], "is_fixed": is_fixed})
    agent = kind(SEVEN)
    assert ttt_env.certify(agent).unbeatable
    played = ttt_env.match(agent, "random", exact=False, games=40, rng=1)
    assert played.as_x.loss == played.as_o.loss == 0
    boards, _ = ttt_env.make_vec(SEVEN, 1, opponent=agent, play_as="O").reset(seed=0)
    assert boards[0, ..., 1].argmax() == perfect(SEVEN).policy(SEVEN.start).argmax()


@pytest.mark.parametrize(
    ("game", "exponent"),
    slow_unless(
        lambda game, exponent: exponent in {TICTACTOE: (1, 15, 29, 31), M433: (15, 31)}.get(game, ()),
        [TICTACTOE, MISERE, M433],
        [1, 8, 12, 15, 20, 29, 31, 300],
    ),
    ids=str,
)
def test_a_certificate_and_an_exploitability_never_contradict_each_other(game, exponent):
    """However improbable a slip is, both see it, or none."""
    spec = f"epsilon:minimax,epsilon=1e-{exponent}"
    certificate, exploited = ttt_env.certify(spec, game), ttt_env.exploitability(spec, game)
    assert certificate.unbeatable == (exponent > 30)
    assert (exploited.nash_conv == 0) == certificate.unbeatable
    assert exploited.nash_conv >= 0
    played = ttt_env.match(spec, "minimax", game)
    if ttt_env.solve(game).value == 0:
        assert (played.as_x.loss > 0) == (played.as_o.loss > 0) == (not certificate.unbeatable)


@pytest.mark.parametrize("exponent", [*map(slow, [9, 12, 15]), 18])
def test_the_gain_from_a_slip_is_in_proportion_to_its_probability(exponent):
    """To the first order, what a slip costs does not depend on how improbable it is."""
    rare = ttt_env.exploitability(f"epsilon:minimax,epsilon=1e-{exponent}", M433)
    rarer = ttt_env.exploitability("epsilon:minimax,epsilon=1e-25", M433)
    assert rare.nash_conv / rarer.nash_conv == pytest.approx(10.0 ** (25 - exponent), rel=1e-6)


def test_a_draw_that_hardly_comes_up_is_no_zero():
    careless, game = "epsilon:minimax,epsilon=1e-18", M433
    played = ttt_env.match(careless, careless, game)
    assert 0 < played.as_x.draw < 1e-17 and 0 < played.as_x.loss < 1e-17
    assert ttt_env.match("minimax", "minimax", game).as_x == (1.0, 0.0, 0.0)


def test_a_small_gain_is_not_printed_as_none():
    assert "e−16: the mean" in str(ttt_env.exploitability("epsilon:minimax,epsilon=1e-16"))
    table = ttt_env.tournament(["epsilon:minimax,epsilon=1e-16", "random"], "tictactoe-v0")
    assert "+1e−16" in str(table)
