"""The interface that all agents share, spec strings and the registry."""

import importlib
import pickle
import sys
from functools import cache

import numpy as np
import pytest

from tests import naive
from ttt_env import (
    BatchAgent,
    Boards,
    Game,
    GameTooLargeError,
    IllegalMoveError,
    ParameterError,
    Position,
    UnknownAgentError,
    UnknownGameError,
    agent_names,
    get_game,
    make_agent,
    play_game,
)
from ttt_env import agent as agent_module
from ttt_env.agent import FunctionAgent, agent_class, sample, sample_each
from ttt_env.agents.combining import Epsilon
from ttt_env.agents.mcts.agent import MCTS
from ttt_env.agents.planning.minimax import Minimax, Softmax
from ttt_env.rules.specs import split_spec

TICTACTOE = get_game("tictactoe-v0")
LOPSIDED = Game("lopsided", (2, 3), [(0, 1, 2), (0, 4), (2, 3, 5)])
GAMES = [TICTACTOE, LOPSIDED]


@cache
def to_be_played(game):
    other = naive.NaiveGame(game.n_cells, game.winning_sets, game.misere)
    return [Position(game, *naive.masks(board)) for board in other.boards() if other.moves(board)]


class Weighted(BatchAgent):
    """Plays cell c with a probability that grows with c; written for batches."""

    def policies(self, boards):
        weights = boards.legal * np.arange(1.0, self.game.n_cells + 1)
        return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("game", GAMES, ids=repr)
@pytest.mark.parametrize(
    "build", [*map(agent_class, ("random", "minimax")), Weighted], ids=lambda cls: cls.__name__
)
class TestContract:
    def test_a_policy_is_a_distribution_over_the_legal_cells(self, build, game):
        agent = build(game)
        for position in to_be_played(game):
            policy = agent.policy(position)
            assert policy.shape == (game.n_cells,)
            assert (policy >= 0).all()
            assert policy.sum() == pytest.approx(1)
            assert set(np.flatnonzero(policy)) <= set(position.legal_cells)

    def test_batches_are_the_same(self, build, game):
        agent, positions = build(game), to_be_played(game)
        found = agent.policies(Boards.of(positions))
        assert found == pytest.approx(np.array([agent.policy(position) for position in positions]))

    def test_choose_draws_from_the_policy_with_one_random_number(self, build, game):
        agent = build(game)
        for seed, position in enumerate(to_be_played(game)):
            rng, same = np.random.default_rng(seed), np.random.default_rng(seed)
            assert agent.choose(position, rng) == sample(agent.policy(position), same.random())
            assert rng.random() == same.random()

    def test_a_pickle_plays_the_same(self, build, game):
        agent, boards = build(game), Boards.of(to_be_played(game))
        copied = pickle.loads(pickle.dumps(agent))
        assert (copied.policies(boards) == agent.policies(boards)).all()

    def test_it_is_a_fixed_policy_of_its_game(self, build, game):
        assert build(game).is_fixed
        assert build(game).game == game


class TestRandom:
    def test_is_uniform(self):
        agent = make_agent("random")
        for position in to_be_played(TICTACTOE):
            policy = agent.policy(position)
            assert (policy[position.legal_cells] == 1 / len(position.legal_cells)).all()

    @pytest.mark.parametrize("game", ["qubic-v0", "mnk-v0:m=15,n=15,k=5"])
    def test_plays_boards_of_any_size(self, game):
        record = play_game("random", "random", game, rng=1)
        assert record.is_over


class TestMinimax:
    def test_of_a_game_too_large(self):
        with pytest.raises(GameTooLargeError, match="qubic-v0 has 64 cells"):
            make_agent("minimax", "qubic-v0")

    def test_changing_what_a_policy_returns_changes_nothing(self):
        agent = make_agent("minimax")
        agent.policy(TICTACTOE.start)[:] = 7
        assert agent.policy(TICTACTOE.start).sum() == pytest.approx(1)


class TestSampling:
    @pytest.mark.parametrize(
        "draw, cell", [(0.0, 1), (0.249, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (0.9999999999999999, 4)]
    )
    def test_by_hand(self, draw, cell):
        policy = np.array([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
        assert sample(policy, draw) == cell
        assert sample_each(policy[None], np.array([draw])).tolist() == [cell]

    @pytest.mark.parametrize("short_by", [1e-16, 1e-9, 0.25])
    def test_where_the_sum_falls_short_the_last_possible_cell(self, short_by):
        policy = np.array([0.5, 0.5 - short_by, 0.0])
        assert sample(policy, 1 - 1e-16) == 1
        assert sample_each(policy[None], np.array([1 - 1e-16])).tolist() == [1]

    def test_batches_are_the_same(self):
        rng = np.random.default_rng(0)
        policies = rng.random((5000, 9)) * (rng.random((5000, 9)) < 0.4)
        policies[:, 4] += policies.sum(axis=1) == 0
        policies /= policies.sum(axis=1, keepdims=True)
        draws = rng.random(5000)
        expected = [sample(policy, draw) for policy, draw in zip(policies, draws, strict=True)]
        assert sample_each(policies, draws).tolist() == expected

    def test_no_cell_of_probability_zero_at_the_ends_of_the_range(self):
        policies = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
        for draw in (0.0, 0.5, np.nextafter(1, 0)):
            assert sample_each(policies, np.full(3, draw)).tolist() == [1, 2, 0]


class TestFunctionAgents:
    def test_plays_what_the_function_says(self):
        agent = make_agent(lambda position: position.legal_cells[-1], LOPSIDED)
        for position in to_be_played(LOPSIDED):
            due = position.legal_cells[-1]
            assert agent.policy(position).tolist() == [float(cell == due) for cell in range(6)]
            assert agent.choose(position, np.random.default_rng(0)) == due

    def test_is_fixed_if_it_always_answers_alike(self):
        assert make_agent(lambda position: position.legal_cells[0]).is_fixed

    def test_is_not_fixed_if_it_answers_differently(self):
        rng = np.random.default_rng(0)
        assert not make_agent(lambda position: rng.choice(position.legal_cells)).is_fixed

    def test_is_not_fixed_if_it_does_so_in_late_positions_only(self):
        rng = np.random.default_rng(0)
        assert not make_agent(lambda p: rng.choice(p.legal_cells) if p.ply > 5 else p.legal_cells[0]).is_fixed

    def test_a_numpy_integer_is_a_cell(self):
        agent = make_agent(lambda position: np.int8(position.legal_cells[0]))
        assert type(agent.choose(TICTACTOE.start, np.random.default_rng(0))) is int

    @pytest.mark.parametrize("answer", [4, 9, -1, 0.5, float("nan"), None, "0", True, [0]], ids=repr)
    @pytest.mark.parametrize("ask", ["policy", "choose"])
    def test_an_answer_that_is_no_legal_cell(self, ask, answer):
        agent, position = FunctionAgent(TICTACTOE, lambda position: answer), TICTACTOE.start.play(4)
        with pytest.raises(IllegalMoveError) as refused:
            agent.policy(position) if ask == "policy" else agent.choose(position, np.random.default_rng(0))
        assert repr(answer) in str(refused.value)

    def test_a_taken_cell_is_named_with_those_that_are_free(self):
        with pytest.raises(
            IllegalMoveError, match=r"plays 4 in \.\.\./\.X\./\.\.\.; legal are \[0, 1, 2, 3, 5, "
        ):
            make_agent(lambda position: 4).policy(TICTACTOE.start.play(4))


class TestMakeAgent:
    def test_an_agent_is_itself(self):
        agent = make_agent("random", LOPSIDED)
        assert make_agent(agent, LOPSIDED) is agent

    def test_by_default_plays_tic_tac_toe(self):
        assert make_agent("random").game == TICTACTOE

    def test_names(self):
        assert {"random", "minimax", "lookup", "sb3"} <= set(agent_names())
        assert agent_names() == sorted(agent_names())

    @pytest.mark.parametrize(
        "spec, said",
        [
            ("minmax", "unknown agent 'minmax': did you mean minimax"),
            ("Random", "'Random': did you mean random"),
            ("", "unknown agent ''"),
            (":", "unknown agent ''"),
            ("=", "unknown agent '='"),
            ("random minimax", "'random minimax'"),
            (None, "not None"),
            (3, "not 3"),
            (["random"], r"not \['random'\]"),
            (Weighted, "not <class .*Weighted"),
        ],
    )
    def test_what_names_no_agent(self, spec, said):
        with pytest.raises(UnknownAgentError, match=said):
            make_agent(spec)

    def test_the_names_that_there_are_stand_in_the_error(self):
        with pytest.raises(UnknownAgentError, match=f"Allowed: {', '.join(agent_names())}"):
            make_agent("nobody")

    @pytest.mark.parametrize("spec", ["random:3", "random:depth=3", "random:a=1,a=2", "random:=3"])
    def test_parameters_that_it_does_not_have(self, spec):
        with pytest.raises(ParameterError, match=r"unknown parameter of random |gives a twice"):
            make_agent(spec)

    def test_an_agent_of_another_game(self):
        with pytest.raises(UnknownAgentError, match="plays lopsided, not tictactoe-v0"):
            make_agent(Weighted(LOPSIDED))

    def test_an_unknown_game(self):
        with pytest.raises(UnknownGameError, match="did you mean tictactoe-v0"):
            make_agent("random", "tictactoe-v9")


SOMEBODYS_BOT = """
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
def somebodys_bot(tmp_path, monkeypatch):
    """Another package with agents, installed."""
    (tmp_path / "somebodys_bot.py").write_text(SOMEBODYS_BOT)
    info = tmp_path / "somebodys_bot-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-bot\nVersion: 1.0\n")
    points = "[ttt_env.agents]\npatient = somebodys_bot:Patient\nmixed = somebodys_bot:Mixed\n"
    points += "stored = somebodys_bot:Stored\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    agent_module._registry.cache_clear()
    yield
    agent_module._registry.cache_clear()
    sys.modules.pop("somebodys_bot", None)


@pytest.mark.usefixtures("somebodys_bot")
class TestAgentsOfOtherPackages:
    def test_are_found(self):
        assert {"patient", "mixed", "random"} <= set(agent_names())
        assert play_game("patient:1", "patient:1").cells == (8, 7, 6, 5, 4, 3, 2)

    @pytest.mark.parametrize(
        "spec, parameters",
        [
            ("patient:3", (3, 1.0, False, None)),
            ("patient:depth=3", (3, 1.0, False, None)),
            (" patient:3 ", (3, 1.0, False, None)),
            ("patient:3,heat=0.5", (3, 0.5, False, None)),
            ("patient:heat=1e-3,depth=-2", (-2, 0.001, False, None)),
            ("patient:3,sure=true,title=a=b c", (3, 1.0, True, "a=b c")),
            ("patient:3,sure=False,title=none", (3, 1.0, False, None)),
            ("patient:3,sure", (3, 1.0, True, None)),
            ("patient:sure,depth=3", (3, 1.0, True, None)),
            (" patient : 3 , heat = 0.5 , sure ", (3, 0.5, True, None)),
            ("patient :depth=3", (3, 1.0, False, None)),
            ("patient:3,title=(a,b=1)+(c:d)", (3, 1.0, False, "(a,b=1)+(c:d)")),
        ],
    )
    def test_parameters_come_in_their_types(self, spec, parameters):
        found = make_agent(spec).parameters
        assert found == parameters
        assert list(map(type, found)) == list(map(type, parameters))

    @pytest.mark.parametrize(
        "spec, said",
        [
            ("patient", "patient needs depth: patient:depth="),
            ("patient:", "patient needs depth"),
            ("patient:heat=2", "patient needs depth"),
            ("patient:deep", "depth='deep' of patient is not a value of type int"),
            ("patient:3.5", "depth='3.5' .* type int"),
            ("patient:nan", "depth='nan' .* type int"),
            ("patient:3,heat=warm", "heat='warm' .* type float"),
            ("patient:3,sure=perhaps", "sure='perhaps' .* type bool"),
            ("patient:3,4", "depth='3,4' .* type int"),
            ("patient:3,depth=4", "unknown parameter of patient '3'"),
            ("patient:depth=3,depth=4", "depth twice"),
            ("patient:3,haet=2", "'haet': did you mean heat.* Allowed: depth, heat, sure, title"),
            ("patient:3,game=2", "'game'"),
            ("patient:3,sure,sure=true", "sure twice"),
            ("patient:3,heat", "depth='3,heat' .* type int: integers are allowed"),
            ("patient:٣", "integers are allowed"),
            ("patient:3,sure=\ud800", "true and false are allowed"),
        ],
    )
    def test_parameters_that_do_not_fit(self, spec, said):
        with pytest.raises(ParameterError, match=said):
            make_agent(spec)

    @pytest.mark.parametrize(
        "spec, parameters",
        [
            ("mixed:minimax", ("minimax", 0.5)),
            ("mixed:minimax,epsilon=0.1", ("minimax", 0.1)),
            ("mixed:patient:3,epsilon=0.1", ("patient:3", 0.1)),
            ("mixed:patient:depth=3,heat=2,epsilon=0.1", ("patient:depth=3,heat=2", 0.1)),
            ("mixed:patient,heat=2,epsilon=0.1", ("patient:heat=2", 0.1)),
            ("mixed:patient,depth=3,epsilon=0.1,heat=2", ("patient:depth=3,heat=2", 0.1)),
            ("mixed:(patient:depth=3),heat=2", ("patient:depth=3,heat=2", 0.5)),
            ("mixed:(a:b)+(c:d),epsilon=0.1", ("(a:b)+(c:d)", 0.1)),
            ("mixed : patient:3 , sure , epsilon = 0.1", ("patient:3 , sure", 0.1)),
            ("mixed:epsilon=0.1,agent=patient:3", ("patient:3", 0.1)),
        ],
    )
    def test_an_agent_of_an_agent_shares_its_parameters(self, spec, parameters):
        assert make_agent(spec).parameters == parameters

    @pytest.mark.parametrize(
        "spec, parameters",
        [
            ("stored:lr=0.1.npz", ("lr=0.1.npz", False, 1)),
            ("stored:ckpt/a=1,b=2.npz", ("ckpt/a=1,b=2.npz", False, 1)),
            ("stored:a=1,b=2.npz,sure,layers=3", ("a=1,b=2.npz", True, 3)),
            ("stored: my models, new/x = 1.npz ", ("my models, new/x = 1.npz", False, 1)),
            ("stored:C:/models/a=1.npz", ("C:/models/a=1.npz", False, 1)),
            ("stored:path=sure=1.npz", ("sure=1.npz", False, 1)),
            ("stored:layers=3", (None, False, 3)),
            ("stored", (None, False, 1)),
        ],
    )
    def test_a_path_may_look_like_parameters(self, spec, parameters):
        assert make_agent(spec).parameters == parameters
        assert make_agent(f"mixed:({spec})").parameters == (spec.strip(), 0.5)

    @pytest.mark.parametrize(
        "spec, said",
        [
            ("stored:layer=3", "did you mean layers"),
            ("stored:a.npz,path=b.npz", "unknown parameter of stored"),
        ],
    )
    def test_a_misspelt_parameter_is_no_path(self, spec, said):
        with pytest.raises(ParameterError, match=said):
            make_agent(spec)


class TestSpecs:
    @pytest.mark.parametrize(
        "text", ["minimax", "minimax:depth=3", "a:b,c = 1", "mixture:(a:b,c)+(c:d)", "lookup: x, y=1.npz"]
    )
    def test_text_and_back(self, text):
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
    def test_agents_too_deep_in_each_other(self, spec):
        with pytest.raises(ParameterError, match=r"at most 10000 letters|more than 32 colons and brackets"):
            make_agent(spec)
        with pytest.raises(ParameterError, match="more than 32 colons and brackets"):
            make_agent(spec[:3000] + "random")

    def test_agents_in_each_other_up_to_there(self):
        assert make_agent("epsilon:" * 32 + "random").is_fixed
        assert make_agent("epsilon:(" * 16 + "random" + ")" * 16).is_fixed

    def test_many_agents_beside_each_other(self):
        assert len(make_agent("mixture:" + "+".join(["(epsilon:random)"] * 200)).agents) == 200

    @pytest.mark.parametrize("spec", [b"random", 10**5000, float("nan")], ids=["bytes", "huge int", "nan"])
    def test_what_is_no_spec(self, spec):
        with pytest.raises(
            UnknownAgentError, match="an agent is a spec string, an Agent, a function or a model, not"
        ):
            make_agent(spec)

    @pytest.mark.parametrize("number", [np.int64, np.uint8, np.int16])
    def test_integers_of_numpy(self, number):
        asked = Position.parse("X../.O./...")
        for build, plain in [
            (lambda: Minimax(TICTACTOE, depth=number(3)), "minimax:depth=3"),
            (lambda: MCTS(TICTACTOE, simulations=number(20), seed=number(3)), "mcts:simulations=20,seed=3"),
            (lambda: Epsilon(TICTACTOE, "minimax", number(1)), "epsilon:minimax,epsilon=1"),
            (lambda: Softmax(TICTACTOE, number(1)), "softmax:temperature=1"),
        ]:
            np.testing.assert_array_equal(build().policy(asked), make_agent(plain).policy(asked))

    @pytest.mark.parametrize("number", [np.float32, np.float64, np.float16])
    def test_floats_of_numpy(self, number):
        asked = Position.parse("X../.O./...")
        for build, plain in [
            (lambda: Softmax(TICTACTOE, number(0.5)), "softmax:temperature=0.5"),
            (lambda: Softmax(TICTACTOE, 1.0, number(0.5)), "softmax:temperature=1,opponent_temperature=0.5"),
            (lambda: Epsilon(TICTACTOE, "minimax", number(0.25)), "epsilon:minimax,epsilon=0.25"),
            (
                lambda: MCTS(TICTACTOE, 20, c=number(0.5), draw=number(0.25), seed=1),
                "mcts:20,c=0.5,draw=0.25,seed=1",
            ),
        ]:
            np.testing.assert_array_equal(build().policy(asked), make_agent(plain).policy(asked))
        assert not Minimax(TICTACTOE, seconds=number(0.5)).is_fixed


class TestPlayGame:
    def test_the_same_seed_gives_the_same_game(self):
        games = [play_game("random", "random", rng=rng) for rng in (3, 3, np.random.default_rng(3))]
        assert games[0] == games[1] == games[2]
        assert len({play_game("random", "random", rng=seed).cells for seed in range(20)}) == 20

    def test_x_moves_first(self):
        record = play_game(lambda p: p.legal_cells[0], lambda p: p.legal_cells[-1], rng=0)
        assert record.cells == (0, 8, 1, 7, 2)
        assert record.winner == "X"

    def test_an_illegal_move_ends_it_with_an_error(self):
        with pytest.raises(IllegalMoveError, match="plays 4 in"):
            play_game("random", lambda position: 4, rng=1)
