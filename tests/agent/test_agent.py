"""The interface that all agents share, spec strings and the registry."""

import importlib
import pickle
import sys
from fractions import Fraction
from functools import wraps
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.support.games import LOPSIDED, TICTACTOE, open_boards
from ttt_env import (
    Agent,
    Boards,
    IllegalMoveError,
    Position,
    agent_names,
    certify,
    exploitability,
    make,
    make_agent,
    make_vec,
    match,
    play_game,
)
from ttt_env import agent as agent_module
from ttt_env.agent import (
    FunctionAgent,
    agent_class,
    checked_policies,
    checked_policy,
    name_of,
    sample,
    sample_each,
)
from ttt_env.agents.combining import Epsilon
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.agents.mcts.agent import MCTS
from ttt_env.agents.planning.planners import Minimax, Softmax
from ttt_env.errors import FileError, ParameterError, PolicyError, UnknownAgentError, UnknownGameError
from ttt_env.rules.specs import split_spec


class Weighted(Agent):
    """Plays cell c with a probability that grows with c; written for batches."""

    is_stationary = True

    def policies(self, boards):
        weights = boards.legal * np.arange(1.0, self.game.n_cells + 1)
        return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "build", [*map(agent_class, ("random", "minimax")), Weighted], ids=lambda cls: cls.__name__
)
def test_choose_samples_policy_with_one_random_number(build):
    agent = build(LOPSIDED)
    for seed, position in enumerate(open_boards(LOPSIDED)):
        rng, same = np.random.default_rng(seed), np.random.default_rng(seed)
        assert agent.choose(position, rng) == sample(agent.policy(position), same.random())
        assert rng.random() == same.random()


@pytest.mark.parametrize("kind", "random minimax softmax brute-force mcts alphazero".split())
def test_agent_accepts_game_id(kind):
    assert agent_class(kind)("tictactoe-v0").game == TICTACTOE
    with pytest.raises(UnknownGameError, match="did you mean tictactoe-v0"):
        agent_class(kind)("tictacto-v0")


def test_random_agent_is_uniform():
    agent = make_agent("random")
    for position in open_boards()[::7]:
        policy = agent.policy(position)
        assert (policy[position.legal_cells] == 1 / len(position.legal_cells)).all()
    last = SimpleNamespace(random=lambda: np.nextafter(1, 0))
    assert agent.choose(TICTACTOE.start.play(4), last) == 8


class TestSampling:
    @pytest.mark.parametrize(
        "draw, cell", [(0.0, 1), (0.249, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (0.9999999999999999, 4)]
    )
    def test_draw_selects_cell_by_cumulative_probability(self, draw, cell):
        policy = np.array([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
        assert sample(policy, draw) == cell
        assert sample_each(policy[None], np.array([draw])).tolist() == [cell]
        fixed = SimpleNamespace(random=lambda: draw)
        assert GivenPolicy(LOPSIDED, lambda position: policy).choose(LOPSIDED.start, fixed) == cell

    @pytest.mark.parametrize("short_by", [1e-16, 1e-9, 0.25])
    def test_last_possible_cell_is_drawn_if_sum_is_short(self, short_by):
        policy = np.array([0.5, 0.5 - short_by, 0.0])
        assert sample(policy, 1 - 1e-16) == 1
        assert sample_each(policy[None], np.array([1 - 1e-16])).tolist() == [1]

    def test_batch_sampling_matches_single_sampling(self):
        rng = np.random.default_rng(0)
        policies = rng.random((5000, 9)) * (rng.random((5000, 9)) < 0.4)
        policies[:, 4] += policies.sum(axis=1) == 0
        policies /= policies.sum(axis=1, keepdims=True)
        draws = rng.random(5000)
        expected = [sample(policy, draw) for policy, draw in zip(policies, draws, strict=True)]
        assert sample_each(policies, draws).tolist() == expected


class TestFunctionAgents:
    def test_function_decides_each_move(self):
        calls = []
        agent = make_agent(
            lambda position: calls.append(position) or np.int8(position.legal_cells[-1]), LOPSIDED
        )
        assert not agent.is_stationary and not calls  # Creating the agent does not call the function.
        for position in open_boards(LOPSIDED):
            due = position.legal_cells[-1]
            assert agent.policy(position).tolist() == [float(cell == due) for cell in range(6)]
            cell = agent.choose(position, np.random.default_rng(0))
            assert cell == due and type(cell) is int

    def test_function_may_take_random_generator(self):
        agent = make_agent(lambda position, rng: rng.choice(position.legal_cells))
        in_games = [agent.choose(TICTACTOE.start, np.random.default_rng(seed)) for seed in range(50)]
        assert in_games == [np.random.default_rng(seed).choice(range(9)) for seed in range(50)]
        assert certify(agent) == certify(agent)  # An analysis seeds the generator by the position.

    def test_signature_of_wrapper_decides_arguments(self):
        @wraps(max)
        def of_position(position):
            return position.legal_cells[0]

        @wraps(lambda position, rng: rng)
        def of_both(*arguments):
            return int(arguments[1].choice(arguments[0].legal_cells))

        for function in (of_position, of_both, lambda position, rng=None: 0 if rng is None else 9):
            assert 0 <= make_agent(function).choose(TICTACTOE.start, np.random.default_rng(0)) < 9

    @pytest.mark.parametrize("function", [lambda: 0, lambda position, rng, more: 0, lambda *, seed: 0])
    def test_other_signatures_are_refused(self, function):
        with pytest.raises(ParameterError, match=r"expected \(position\) or \(position, rng\)"):
            make_agent(function)

    @pytest.mark.parametrize("answer", [4, 9, -1, 0.5, float("nan"), None, "0", True, [0]], ids=repr)
    @pytest.mark.parametrize("ask", ["policy", "choose"])
    def test_illegal_answer_raises(self, ask, answer):
        agent, position = FunctionAgent(TICTACTOE, lambda position: answer), TICTACTOE.start.play(4)
        with pytest.raises(IllegalMoveError) as refused:
            agent.policy(position) if ask == "policy" else agent.choose(position, np.random.default_rng(0))
        assert f"plays {answer!r} in .../.X./...; legal are [0, 1, 2, 3, 5, " in str(refused.value)

    @pytest.mark.parametrize("ask", [certify, exploitability, lambda agent: play_game(agent, agent)])
    @pytest.mark.parametrize(
        "answer", [np.full(9, 1 / 9), [0.5, 0.5], {0: 1.0, 1: 0.0}], ids=["array", "list", "dict"]
    )
    def test_returned_probabilities_raise_policy_error(self, ask, answer):
        def thoughtful(position):
            return answer

        message = r"thoughtful of tictactoe-v0> returns \d values, in a .*: a function returns one cell"
        with pytest.raises(PolicyError, match=message):
            ask(thoughtful)


class TestDeclarations:
    def test_class_or_instance_declares_stationary(self):
        class Last(Agent):
            def choose(self, position, rng):
                return position.legal_cells[-1]

        agent = Last(TICTACTOE)
        assert not agent.is_stationary and not match(agent, "random", games=2).exact
        agent.is_stationary = True
        assert match(agent, "random").exact
        assert [make_agent(spec).is_stationary for spec in STATIONARY] == list(STATIONARY.values())


STATIONARY = {
    "random": True, "minimax": True, "minimax:seconds=1": False, "mcts": False, "mcts:seed=0": True,
    "mcts:seed=0,seconds=0.01": False, "mixture:mcts+random": False, "mixture:(mcts:seed=1)+random": True,
    "epsilon:mcts": False, "epsilon:minimax": True, "symmetric:mcts": False, "symmetric:rules": True,
    "imitation:fallback=mcts": False, "imitation": True,
}  # fmt: skip


def one_hot(self, position):
    return np.eye(self.game.n_cells)[position.legal_cells[0]]


def one_hots(self, boards):
    return np.stack([one_hot(self, position) for position in boards])


def first(self, position, rng):
    return position.legal_cells[0]


METHODS = {"policy": one_hot, "policies": one_hots, "choose": first}


class TestPlayingMethods:
    @pytest.mark.parametrize("name", METHODS)
    def test_one_method_defines_the_others(self, name):
        agent = type("Lowest", (Agent,), {name: METHODS[name]})(TICTACTOE)
        boards, rng = Boards.of(open_boards()[::97]), np.random.default_rng(0)
        due = one_hots(agent, boards)
        assert agent.plays_by == name and np.array_equal(agent.policies(boards), due)
        for position, policy in zip(boards, due, strict=True):
            assert np.array_equal(agent.policy(position), policy)
            assert agent.choose(position, rng) == policy.argmax()

    @pytest.mark.parametrize("one", METHODS)
    @pytest.mark.parametrize("other", METHODS)
    def test_second_method_is_refused_at_class_definition(self, one, other):
        parent = type("Parent", (Agent,), {one: METHODS[one]})
        with pytest.raises(TypeError, match=f"Child has Child.{other} and Parent.{one}: .* Wrap the agent"):
            type("Child", (parent,), {other: METHODS[other]})
        mixin = type("Mixin", (), {other: METHODS[other]})
        with pytest.raises(TypeError, match=f"Mixed has Mixin.{other} and Parent.{one}"):
            type("Mixed", (mixin, parent), {})
        if one != other:
            with pytest.raises(TypeError, match=r"Both has Both.* and Both.*: an agent is one method"):
                type("Both", (Agent,), {one: METHODS[one], other: METHODS[other]})

    def test_subclass_may_override_other_methods(self):
        class Named(Minimax):
            def __repr__(self):
                return "me"

        assert certify(Named(TICTACTOE)) == certify("minimax") and Named.plays_by == "policies"

    def test_agent_without_playing_method_is_refused(self):
        with pytest.raises(PolicyError, match="Silent does not say how it plays"):
            type("Silent", (Agent,), {})(TICTACTOE)

    @pytest.mark.parametrize(
        "spec", ["mixture:mcts+random", "symmetric:mcts", "imitation:fallback=mcts", "mcts"]
    )
    def test_same_named_classes_pickle_correctly(self, spec):
        agent = make_agent(spec)
        again = pickle.loads(pickle.dumps(agent))
        assert type(again) is type(agent) and name_of(again) == spec.partition(":")[0]
        assert again.choose(TICTACTOE.start, np.random.default_rng(0)) in range(9)


class TestPoliciesOfChoices:
    def test_policy_of_random_choice_depends_only_on_position(self):
        class Roll(Agent):
            def choose(self, position, rng):
                return int(rng.choice(position.legal_cells))

        agent = Roll(TICTACTOE)
        for position in open_boards()[::679]:
            assert (agent.policy(position) == agent.policy(position)).all()
        cells = [int(agent.policy(position).argmax()) for position in open_boards()[::7]]
        assert set(cells) == set(range(9))


def uniform_as(kind):
    """A uniform policy as another type."""
    return lambda p: kind([float(c in p.legal_cells) / len(p.legal_cells) for c in range(6)])


def scaled_uniform(error):
    """A policy that is uniform times 1 + error."""
    return lambda p: np.array([(1 + error) * (c in p.legal_cells) / len(p.legal_cells) for c in range(6)])


def policy_on_taken_cell(p):
    policy = scaled_uniform(0)(p)
    return policy if p.ply == 0 else policy * 0.5 + 0.5 * (np.arange(6) == np.flatnonzero(policy == 0)[0])


class GivenPolicy(Agent):
    """Plays a given policy and declares itself stationary or not."""

    def __init__(self, game, policy, is_stationary=True):
        super().__init__(game)
        self.given, self.is_stationary = policy, is_stationary

    def __repr__(self):
        return "<given>"

    def policy(self, position):
        return self.given(position)


TAKEN = LOPSIDED.start.play(4)
WAYS = {
    "policy": lambda agent: checked_policy(agent, TAKEN),
    "policies": lambda agent: checked_policies(agent, Boards.of([TAKEN])),
    "choose": lambda agent: agent.choose(TAKEN, np.random.default_rng(0)),
    "game": lambda agent: play_game("random", agent, rng=0),
    "env": lambda agent: play_once(make(LOPSIDED, opponent=agent, play_as="X")),
    "vector env": lambda agent: play_once(make_vec(LOPSIDED, 2, opponent=agent, play_as="X")),
    "match": lambda agent: match(agent, "random", games=2),
    "certify": certify,
}


def play_once(env):
    env.reset(seed=0)
    env.step(np.array([4, 4]) if hasattr(env, "num_envs") else 4)


@pytest.mark.parametrize("is_stationary", [True, False], ids=["declared", "undeclared"])
@pytest.mark.parametrize("way", WAYS)
class TestPolicyChecks:
    @pytest.mark.parametrize(
        "policy",
        [
            uniform_as(list),
            uniform_as(tuple),
            uniform_as(lambda p: np.array(p, np.float32)),
            uniform_as(lambda p: np.array(p, np.longdouble)),
            uniform_as(lambda p: [Fraction(each) for each in p]),
            scaled_uniform(9e-6),
            scaled_uniform(-9e-6),
        ],
        ids=["list", "tuple", "float32", "longdouble", "fractions", "a little more", "a little less"],
    )
    def test_valid_policy_is_accepted(self, way, is_stationary, policy):
        WAYS[way](GivenPolicy(LOPSIDED, policy, is_stationary))

    @pytest.mark.parametrize(
        "policy, message",
        [
            (scaled_uniform(2e-5), "should sum to 1 over the free cells and be 0 elsewhere"),
            (scaled_uniform(-2e-5), "should sum to 1 over the free cells and be 0 elsewhere"),
            (policy_on_taken_cell, "should sum to 1 over the free cells and be 0 elsewhere"),
            (lambda p: None, "but None|its shape is"),
            (lambda p: "half", "but 'half'"),
            (lambda p: [[1.0]], r"its shape is \(1, 1\), not \(6,\)"),
            (lambda p: [1.0] + [0.0] * 6, r"its shape is \(7,\), not \(6,\)"),
            (lambda p: [float("nan")] * 6, "nan"),
            (lambda p: [2.0, -1.0] + [0.0] * 4, "should sum to 1"),
            (uniform_as(lambda p: [str(each) for each in p]), "but \\['"),
            (uniform_as(lambda p: np.array(p) + 1j), "but array"),
            (uniform_as(lambda p: np.ma.array(p, mask=[False] * 5 + [True])), "but masked_array"),
        ],
        ids=[
            *("too much", "too little", "taken", "None", "text", "nested", "long", "nan", "negative"),
            *("texts", "complex", "masked"),
        ],
    )
    def test_invalid_policy_is_refused(self, way, is_stationary, policy, message):
        with pytest.raises(PolicyError, match=rf"<given> has no policy in [XO./]{{7}}.*({message})"):
            WAYS[way](GivenPolicy(LOPSIDED, policy, is_stationary))


@pytest.mark.parametrize("way", sorted(set(WAYS) - {"policies", "choose", "certify"}))
def test_choice_of_taken_cell_is_refused(way):
    class Stubborn(Agent):
        def choose(self, position, rng):
            return 4

    with pytest.raises(IllegalMoveError, match=r"<Stubborn of lopsided> plays 4 in .*; legal are \["):
        agent = Stubborn(LOPSIDED)
        agent.policy(TAKEN) if way == "policy" else WAYS[way](agent)


@pytest.mark.parametrize("way", ["play", "policy"])
@pytest.mark.parametrize("plays_by, error", [("choose", IllegalMoveError), ("policy", PolicyError)])
def test_unprintable_answer_is_refused(way, plays_by, error):
    endless = type("Endless", (Agent,), {plays_by: lambda *_: 10**5000})(TICTACTOE)
    with pytest.raises(error, match="<an int without text>"):
        play_game(endless, "random") if way == "play" else checked_policy(endless, TICTACTOE.start)


def test_slightly_wrong_sums_are_normalised():
    agent = GivenPolicy(LOPSIDED, scaled_uniform(9e-6))
    single, batch = checked_policy(agent, TAKEN), checked_policies(agent, Boards.of([TAKEN]))[0]
    assert abs(single.sum() - 1) < 1e-15
    np.testing.assert_allclose(single, batch, rtol=1e-15)
    assert single == pytest.approx(make_agent("random", LOPSIDED).policy(TAKEN), abs=1e-15)


class TestMakeAgent:
    def test_agent_is_kept_and_default_game_is_tictactoe(self):
        agent = make_agent("random", LOPSIDED)
        assert make_agent(agent, LOPSIDED) is agent

        assert make_agent("random").game == TICTACTOE

    def test_agent_names_are_sorted(self):
        assert {"random", "minimax", "lookup", "sb3"} <= set(agent_names())
        assert agent_names() == sorted(agent_names())
        with pytest.raises(UnknownAgentError, match="`ttt agents` lists all"):
            make_agent("nobody")

    @pytest.mark.parametrize(
        "spec, message",
        [
            ("minmax", "unknown agent 'minmax': did you mean minimax"),
            ("Random", "'Random': did you mean random"),
            ("", "unknown agent ''"),
            ("=", "unknown agent '='"),
            ("random minimax", "'random minimax'"),
            (None, "not None"),
            (["random"], r"a spec string, an Agent, a function or a model, not \['random'\]"),
            (b"random", "not b'random'"),
            (10**5000, "an agent is a spec string, .* not"),
            (float("nan"), "not nan"),
            (Weighted, "Weighted.* is a class: give an instance"),
            ("mcts,simulations=5", "parameters follow a colon, as in mcts:simulations=5"),
            ("ben.py,timeout=6", "parameters follow a colon, as in ben.py:timeout=6"),
        ],
        ids=lambda value: str(value)[:20] if type(value) is not int else "huge",
    )
    def test_invalid_agent_spec_is_refused(self, spec, message):
        with pytest.raises(UnknownAgentError, match=message):
            make_agent(spec)

    def test_bare_file_path_loads_its_agent(self, tmp_path):
        Lookup.of("minimax").save(tmp_path / "table.npz")
        assert isinstance(make_agent(f"{tmp_path}/table.npz"), Lookup)
        assert certify(f"{tmp_path}/table.npz").unbeatable
        proof = Path(__file__).parents[2] / "docs" / "proofs" / "tictactoe-v0.npz"
        assert type(make_agent(str(proof))).__name__ == "ProvedStrategy"
        for name in ("none.zip", "none.npz"):
            with pytest.raises(FileError, match=name):
                make_agent(f"{tmp_path}/{name}")

    def test_mismatched_game_is_refused(self):
        with pytest.raises(UnknownAgentError, match="plays lopsided, not tictactoe-v0"):
            make_agent(Weighted(LOPSIDED))
        with pytest.raises(UnknownGameError, match="did you mean tictactoe-v0"):
            make_agent("random", "tictactoe-v9")


OTHER_PACKAGE = """
import numpy as np
from ttt_env import Agent

class Patient(Agent):
    def __init__(self, game, depth: int, heat: float = 1.0, sure: bool = False, title: str | None = None):
        super().__init__(game)
        self.parameters = depth, heat, sure, title

    def policy(self, position):
        return np.eye(self.game.n_cells)[position.legal_cells[-1]]

class Stored(Patient):
    def __init__(self, game, path: str | None = None, sure: bool = False, layers: int = 1):
        Agent.__init__(self, game)
        self.parameters = path, sure, layers

class Mixed(Patient):
    takes_agent = True

    def __init__(self, game, agent: str, epsilon: float = 0.5):
        Agent.__init__(self, game)
        self.parameters = agent, epsilon
"""


@pytest.fixture
def other_package(tmp_path, monkeypatch):
    """Another installed package that registers agents."""
    (tmp_path / "somebodys_bot.py").write_text(OTHER_PACKAGE)
    info = tmp_path / "somebodys_bot-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-bot\nVersion: 1.0\n")
    points = "[ttt_env.agents]\npatient = somebodys_bot:Patient\nmixed = somebodys_bot:Mixed\n"
    points += "stored = somebodys_bot:Stored\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    agent_module.installed.cache_clear()
    yield
    agent_module.installed.cache_clear()
    sys.modules.pop("somebodys_bot", None)


@pytest.mark.usefixtures("other_package")
class TestAgentsOfOtherPackages:
    def test_installed_agents_are_found(self):
        assert {"patient", "mixed", "random"} <= set(agent_names())
        assert play_game("patient:1", "patient:1").cells == (8, 7, 6, 5, 4, 3, 2)

    @pytest.mark.parametrize(
        "spec, parameters",
        [
            ("patient:3", (3, 1.0, False, None)),
            (" patient:3 ", (3, 1.0, False, None)),
            ("patient:heat=1e-3,depth=-2", (-2, 0.001, False, None)),
            ("patient:3,sure=true,title=a=b c", (3, 1.0, True, "a=b c")),
            ("patient:3,sure=False,title=none", (3, 1.0, False, None)),
            ("patient:sure,depth=3", (3, 1.0, True, None)),
            (" patient : 3 , heat = 0.5 , sure ", (3, 0.5, True, None)),
            ("patient:3,title=(a,b=1)+(c:d)", (3, 1.0, False, "(a,b=1)+(c:d)")),
            # The parameters are divided between a wrapper and its inner agent.
            ("mixed:minimax,epsilon=0.1", ("minimax", 0.1)),
            ("mixed:patient:3,epsilon=0.1", ("patient:3", 0.1)),
            ("mixed:patient:depth=3,heat=2,epsilon=0.1", ("patient:depth=3,heat=2", 0.1)),
            ("mixed:patient,depth=3,epsilon=0.1,heat=2", ("patient:depth=3,heat=2", 0.1)),
            ("mixed:(patient:depth=3),heat=2", ("patient:depth=3,heat=2", 0.5)),
            ("mixed:(a:b)+(c:d),epsilon=0.1", ("(a:b)+(c:d)", 0.1)),
            ("mixed : patient:3 , sure , epsilon = 0.1", ("patient:3 , sure", 0.1)),
            ("mixed:epsilon=0.1,agent=patient:3", ("patient:3", 0.1)),
            # A path may look like parameters.
            ("stored:lr=0.1.npz", ("lr=0.1.npz", False, 1)),
            ("stored:ckpt/a=1,b=2.npz", ("ckpt/a=1,b=2.npz", False, 1)),
            ("stored:a=1,b=2.npz,sure,layers=3", ("a=1,b=2.npz", True, 3)),
            ("stored: my models, new/x = 1.npz ", ("my models, new/x = 1.npz", False, 1)),
            ("stored:C:/models/a=1.npz", ("C:/models/a=1.npz", False, 1)),
            ("stored:path=sure=1.npz", ("sure=1.npz", False, 1)),
            ("stored", (None, False, 1)),
        ],
    )
    def test_parameters_are_converted_to_their_types(self, spec, parameters):
        found = make_agent(spec).parameters
        assert found == parameters
        assert list(map(type, found)) == list(map(type, parameters))
        if spec.startswith("stored"):
            assert make_agent(f"mixed:({spec})").parameters == (spec.strip(), 0.5)

    @pytest.mark.parametrize(
        "spec, message",
        [
            ("patient", "patient needs depth: write patient:depth="),
            ("patient:heat=2", "patient needs depth"),
            ("patient:deep", "depth='deep' of patient: expected an integer"),
            ("patient:3.5", "depth='3.5' of patient: expected an integer"),
            ("patient:3,heat=warm", "heat='warm' of patient: expected a number"),
            ("patient:3,sure=perhaps", "sure='perhaps' of patient: expected true or false"),
            ("patient:3,depth=4", "unknown parameter '3' of patient"),
            ("patient:depth=3,depth=4", "depth twice"),
            ("patient:3,haet=2", "'haet' of patient: did you mean heat.* Allowed: depth, heat, sure, title"),
            ("patient:3,sure,sure=true", "sure twice"),
            ("random:3", "unknown parameter '3' of random"),
            ("random:=3", "unknown parameter .* of random"),
            ("patient:3,heat", "depth='3,heat' of patient: expected an integer"),
            ("patient:٣", "expected an integer"),
            ("stored:layer=3", "did you mean layers"),
            ("stored:a.npz,path=b.npz", "unknown parameter .* of stored"),
            ("patient:3,sure=\ud800", "expected true or false"),
        ],
    )
    def test_invalid_parameters_are_refused(self, spec, message):
        with pytest.raises(ParameterError, match=message):
            make_agent(spec)


class TestSpecs:
    @pytest.mark.parametrize(
        "text", ["minimax", "minimax:depth=3", "a:b,c = 1", "mixture:(a:b,c)+(c:d)", "lookup: x, y=1.npz"]
    )
    def test_spec_round_trips_through_text(self, text):
        assert str(split_spec(text)) == text
        assert split_spec(str(split_spec(text))) == split_spec(text)

    @pytest.mark.parametrize(
        "spec",
        [
            "epsilon:" * 3000 + "random",
            "epsilon:(" * 3000 + "random" + ")" * 3000,
            "epsilon:agent=" * 700 + "random",
        ],
        ids=["colons", "brackets", "keywords"],
    )
    def test_too_deeply_nested_spec_is_refused(self, spec):
        with pytest.raises(
            ParameterError, match=r"at most 10000 letters|more than 32 nested colons and brackets"
        ):
            make_agent(spec)
        with pytest.raises(ParameterError, match="more than 32 nested colons and brackets"):
            make_agent(spec[:3000] + "random")

    @pytest.mark.parametrize("spec", ["epsilon:(minimax", "(minimax", "minimax)", "mixture:(random+minimax"])
    def test_unmatched_bracket_is_refused(self, spec):
        with pytest.raises(ParameterError, match="has an unmatched round bracket"):
            make_agent(spec)

    def test_nesting_up_to_the_limit_is_accepted(self):
        assert make_agent("epsilon:" * 32 + "random").is_stationary
        assert make_agent("epsilon:(" * 16 + "random" + ")" * 16).is_stationary
        assert len(make_agent("mixture:" + "+".join(["(epsilon:random)"] * 200)).agents) == 200

    def test_numpy_numbers_are_accepted(self):
        position = Position.parse("X../.O./...")
        for agent, spec in (
            (Minimax(TICTACTOE, depth=np.int64(3)), "minimax:depth=3"),
            (MCTS(TICTACTOE, np.uint8(20), seed=np.int16(3)), "mcts:20,seed=3"),
            (
                MCTS(TICTACTOE, 20, c=np.float16(0.5), draw=np.float64(0.2), seed=1),
                "mcts:20,c=0.5,draw=0.2,seed=1",
            ),
            (Epsilon(TICTACTOE, "minimax", np.float32(0.25)), "epsilon:minimax,epsilon=0.25"),
            (Epsilon(TICTACTOE, "minimax", np.int64(1)), "epsilon:minimax,epsilon=1"),
            (Softmax(TICTACTOE, np.uint8(1), np.float64(0.5)), "softmax:1,opponent_temperature=0.5"),
        ):
            np.testing.assert_array_equal(agent.policy(position), make_agent(spec).policy(position))
        assert not Minimax(TICTACTOE, seconds=np.float32(0.5)).is_stationary


class TestPlayGame:
    def test_same_seed_gives_same_game(self):
        games = [play_game("random", "random", rng=rng) for rng in (3, 3, np.random.default_rng(3))]
        assert games[0] == games[1] == games[2]
        assert len({play_game("random", "random", rng=seed).cells for seed in range(20)}) == 20

    def test_x_moves_first(self):
        record = play_game(lambda p: p.legal_cells[0], lambda p: p.legal_cells[-1], rng=0)
        assert record.cells == (0, 8, 1, 7, 2)
        assert record.winner == "X"
