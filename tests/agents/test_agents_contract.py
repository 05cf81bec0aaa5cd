"""The contract of every registered agent, on every kind of game."""

import pickle
from functools import cache

import numpy as np
import pytest

import ttt_env
from tests.support.agents import learner, network
from tests.support.documents import ROOT
from tests.support.games import open_boards, random_positions
from ttt_env.agent import agent_class, parameters_of
from ttt_env.agent.learner import Budget
from ttt_env.agents.learned.value_network import ValueNetworkLearner
from ttt_env.errors import GameTooLargeError, PolicyFileError
from ttt_env.rules.symmetry import symmetries, transform_boards

GAMES = {
    "3×3": ttt_env.get_game("tictactoe-v0"),
    "misère": ttt_env.get_game("tictactoe-v0:misere=true"),
    "4,3,3": ttt_env.get_game("mnk-v0:m=4,n=3,k=3"),
    "lopsided": ttt_env.Game("lopsided", (2, 5), [(0, 1), (2, 5, 8), (1, 3, 6, 9), (3, 4, 7), (0, 7, 8, 9)]),
    "square": ttt_env.get_game("square-v0"),
    "5,5,4": ttt_env.get_game("mnk-v0:m=5,n=5,k=4"),
    "qubic": ttt_env.get_game("qubic-v0"),
}
TO_BE_PLAYED = {"3×3": 4520, "misère": 4520}  # both games end with the first winning set
N_SAMPLED = 8

# Where an agent says that the game is too large for it.
ENUMERABLE = {"5,5,4", "qubic"}
UNTABLED = {"square", *ENUMERABLE}  # more than 12
EVERYWHERE: set[str] = set()
# Where an agent says that it does not come trained for the game.
UNTRAINED = set(GAMES) - {"3×3"}

# Every registered agent: spec strings, and on which games they say that they cannot play them.
SPECS = {
    "random": [("random", EVERYWHERE)],
    "block": [("block", EVERYWHERE)],
    "win-block": [("win-block", EVERYWHERE)],
    "rules": [("rules", EVERYWHERE), ("rules:side+fork+opposite-corner+block-fork", EVERYWHERE)],
    "newell-simon": [("newell-simon", EVERYWHERE)],
    "weights": [("weights", EVERYWHERE)],
    "minimax": [
        ("minimax", ENUMERABLE),
        ("minimax:prefer=fast", ENUMERABLE),
        ("minimax:depth=2", EVERYWHERE),
        ("minimax:depth=3", EVERYWHERE),
    ],
    "brute-force": [("brute-force", ENUMERABLE)],
    "softmax": [
        ("softmax", ENUMERABLE),
        ("softmax:temperature=0.2,opponent_temperature=1", ENUMERABLE),
        ("softmax:temperature=inf,opponent_temperature=0", ENUMERABLE),
    ],
    "strategy": [("strategy:{proof}", EVERYWHERE), ("strategy:{proof},fallback=random", EVERYWHERE)],
    "best-response": [("best-response:newell-simon", ENUMERABLE)],
    "safe-exploit": [("safe-exploit", ENUMERABLE), ("safe-exploit:newell-simon", ENUMERABLE)],
    "epsilon": [
        ("epsilon:random,epsilon=1", EVERYWHERE),
        ("epsilon:softmax:temperature=0.2,epsilon=0.1", ENUMERABLE),
    ],
    "mixture": [
        ("mixture:random+random", EVERYWHERE),
        ("mixture:minimax+(epsilon:block,epsilon=0.5),weights=0.7+0.3", ENUMERABLE),
    ],
    "symmetric": [("symmetric:random", EVERYWHERE), ("symmetric:softmax", ENUMERABLE)],
    "mcts": [
        ("mcts:simulations=20,seed=0", EVERYWHERE),
        ("mcts:simulations=20,playout=win-block,draw=0,c=1,solve=false,seed=1", EVERYWHERE),
        ("mcts:simulations=20,threats=true,seed=1", EVERYWHERE),
        ("mcts:simulations=10,evaluate=value-network,seed=2", UNTRAINED),
        ("mcts:simulations=10,evaluate=value-network:{network},seed=2", EVERYWHERE),
    ],
    "lookup": [("lookup", ENUMERABLE), ("lookup:{table}", ENUMERABLE)],
    "imitation": [("imitation:{games}", EVERYWHERE), ("imitation:{games},fallback=win-block", EVERYWHERE)],
    "sb3": [("sb3:{model}", EVERYWHERE), ("sb3:{model},deterministic=false", EVERYWHERE)],
    "onnx": [("onnx:{onnx}", EVERYWHERE), ("onnx:{onnx},temperature=0.5", EVERYWHERE)],
    "ppo": [("ppo", UNTRAINED)],
    "dqn": [("dqn", UNTRAINED)],
    "q-learning": [("q-learning", UNTRAINED - {"misère"}), ("q-learning:{q}", ENUMERABLE)],
    "value-network": [("value-network", UNTRAINED), ("value-network:{network}", EVERYWHERE)],
    "alphazero": [
        ("alphazero", UNTRAINED - {"square", "5,5,4", "qubic"}),
        ("alphazero:{alphazero},simulations=1", EVERYWHERE),
        ("alphazero:{alphazero},simulations=9,solve=false,seed=1", EVERYWHERE),
    ],
}
# Others' programs, whose play is their own, and tables, which answer only where they were asked: see
# tests/bots/test_players.py and tests/analysis/test_policy_table.py.
ELSEWHERE = {"process", "policy-table", "chat"}
# A network and a random search know nothing of symmetry, and a strategy has one move where several are
# symmetric. All others treat symmetric positions alike.
WITHOUT_SYMMETRY = {"mcts", "sb3", "onnx", "ppo", "dqn", "value-network", "alphazero", "strategy"}
# The fast tests play the first of an agent's specs that plays them on 3×3 and these games: a board without
# symmetry, and one of three axes and 64 cells.
FAST_GAMES = {"lopsided", "qubic"}
# On 3×3 also these, which play by other code than the first one.
OTHER_WAYS = ("minimax:depth=2", "mcts:simulations=10,evaluate=value-network,", "lookup:", "alphazero:")


def _table(game, path):
    from ttt_env.agents.learned.lookup import Lookup

    Lookup.of("newell-simon", game).save(path)


def _model(game, path):
    pytest.importorskip("stable_baselines3")
    contrib = pytest.importorskip("sb3_contrib")
    env = ttt_env.make(game, opponent="random")
    contrib.MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, seed=0, device="cpu").save(path)


def _onnx(game, path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from tests.support.onnx_files import write_linear

    write_linear(path, game)


def _games(game, path):
    from ttt_env.storage.game_log import GameLog

    with GameLog(path) as log:
        for seed in range(20):
            log.add(ttt_env.play_game("random", "random", game, seed))


def _q_table(game, path):
    learner(game, games=100).save(path)


def _network(game, path):
    made = ValueNetworkLearner(game, seed=0)
    made.advance(Budget(steps=1))
    made.save(path)


def _alphazero(game, path):
    network(game, scale=0.1).save(path)


def _proof(game, path):
    if game.name == "qubic-v0":  # the search takes a quarter of an hour
        path.write_bytes((ROOT / "docs" / "proofs" / "qubic-v0.npz").read_bytes())
    else:
        ttt_env.prove(game).save(path)


FILES = {
    "{games}": (_games, "games.sqlite"),
    "{table}": (_table, "table.npz"),
    "{model}": (_model, "model.zip"),
    "{onnx}": (_onnx, "network.onnx"),
    "{q}": (_q_table, "q.npz"),
    "{network}": (_network, "network.npz"),
    "{alphazero}": (_alphazero, "alphazero.npz"),
    "{proof}": (_proof, "proof.npz"),
}


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """A function from (spec, name of a game) to the agent; the file that the spec names is made first."""

    @cache
    def filled_in(blank, name):
        write, file = FILES[blank]
        path = tmp_path_factory.mktemp("agents") / file
        write(GAMES[name], path)
        return str(path)

    @cache
    def made(spec, name):
        for blank in FILES:
            if blank in spec:
                spec = spec.replace(blank, filled_in(blank, name))
        return ttt_env.make_agent(spec, GAMES[name])

    return made


@cache
def some_boards(name):
    """Every position to be played of a 3×3 game, a sample of another's."""
    if name not in TO_BE_PLAYED:
        return ttt_env.Boards.of(random_positions(GAMES[name], N_SAMPLED))
    boards = open_boards(GAMES[name])
    assert len(boards) == TO_BE_PLAYED[name]
    return boards


@cache
def some_positions(name):
    boards = some_boards(name)
    return [boards[i] for i in range(0, len(boards), max(1, len(boards) // (2 * N_SAMPLED)))]


def marks_of(agent, spec, name):
    """Slow but for these cases; who has no fixed policy is asked position by position."""
    first = next(spec for spec, too_large in SPECS[agent] if name not in too_large)
    is_fast = spec == first and name in FAST_GAMES
    if name == "3×3":
        is_fast = spec == first or spec.startswith(OTHER_WAYS)
    return [] if is_fast else [pytest.mark.slow]


def cases(are_played):
    return [
        pytest.param(spec, name, id=f"{spec}-{name}", marks=marks_of(agent, spec, name) if are_played else [])
        for agent in SPECS
        for spec, too_large in SPECS[agent]
        for name in GAMES
        if (name not in too_large) == are_played
    ]


PLAYABLE, REFUSED = cases(True), cases(False)


def test_every_registered_agent_is_here_and_its_docstring_is_the_rule():
    assert set(ttt_env.agent_names()) == set(SPECS) | ELSEWHERE
    assert all(spec.startswith(name) for name in SPECS for spec, _ in SPECS[name])
    assert all(len((agent_class(agent).__doc__ or "").strip()) > 80 for agent in SPECS)


def policies_are_distributions_over_the_free_cells(policies, boards):
    assert policies.shape == (len(boards), boards.game.n_cells)
    assert policies.dtype == np.float64
    assert (policies >= 0).all()
    assert not policies[~boards.legal].any()
    assert np.abs(policies.sum(axis=1) - 1).max() < 1e-12


def the_policy_of_a_position_is_a_distribution_by_which_it_chooses(agent, name):
    for seed, position in enumerate(some_positions(name)):
        policy = agent.policy(position)
        assert policy.shape == (GAMES[name].n_cells,)
        assert (policy >= 0).all()
        assert set(np.flatnonzero(policy)) <= set(position.legal_cells)
        assert abs(policy.sum() - 1) < 1e-12
        cell = agent.choose(position, np.random.default_rng(seed))
        assert cell == agent.choose(position, np.random.default_rng(seed))
        assert type(cell) is int and policy[cell] > 0


def symmetric_positions_are_played_the_same_way(agent, policies, boards):
    for permutation in symmetries(agent.game)[-3::-13]:  # not the first, which leaves all as it is
        moved = agent.policies(transform_boards(boards, permutation))
        np.testing.assert_allclose(moved[:, permutation], policies, atol=1e-9)


def the_declaration_holds_in_any_order_alone_in_batches_and_in_copies(agent, name):
    positions = some_positions(name)
    rng = np.random.default_rng(2)
    first = {position: agent.policy(position).copy() for position in positions}
    for position in positions:
        policy = agent.policy(position)
        policy.setflags(write=True)  # what was handed out belongs to the caller
        policy[:] = 0.0
    copy = pickle.loads(pickle.dumps(agent))
    assert (copy.game, copy.is_stationary) == (agent.game, agent.is_stationary)
    for again in (agent, copy):
        for position in (positions[i] for i in rng.permutation(len(positions))[::3]):
            np.testing.assert_array_equal(again.policy(position), first[position])
        for half in np.array_split(rng.permutation(len(positions)), 2):
            batch = again.policies(ttt_env.Boards.of([positions[i] for i in half]))
            np.testing.assert_allclose(batch, [first[positions[i]] for i in half], atol=1e-6)


@pytest.mark.parametrize(("spec", "name"), PLAYABLE)
def test_contract(make, spec, name):
    agent, kind = make(spec, name), spec.partition(":")[0]
    assert agent.is_stationary
    the_policy_of_a_position_is_a_distribution_by_which_it_chooses(agent, name)
    the_declaration_holds_in_any_order_alone_in_batches_and_in_copies(agent, name)
    boards = some_boards(name)
    policies = agent.policies(boards)
    policies_are_distributions_over_the_free_cells(policies, boards)
    if kind not in WITHOUT_SYMMETRY:
        symmetric_positions_are_played_the_same_way(agent, policies, boards)


@pytest.mark.parametrize("spec", ["mcts:simulations=9", "minimax:seconds=0.01", "epsilon:mcts,epsilon=0.5"])
def test_agents_that_answer_differently_do_not_declare_it(spec):
    agent = ttt_env.make_agent(spec)
    assert agent.is_stationary is pickle.loads(pickle.dumps(agent)).is_stationary is False


@pytest.mark.parametrize(("spec", "name"), REFUSED)
def test_a_game_that_cannot_be_played_is_refused_by_name(make, spec, name):
    with pytest.raises((GameTooLargeError, PolicyFileError), match=GAMES[name].name):
        make(spec, name).policy(GAMES[name].start)  # a model is looked at only when it plays


@pytest.mark.parametrize("agent", SPECS)
def test_parameters_that_do_not_exist_are_refused(agent, make):
    if agent in ("sb3", "onnx"):
        pytest.importorskip({"sb3": "stable_baselines3", "onnx": "onnxruntime"}[agent])
    inner = "random," if agent in ("best-response", "epsilon", "mixture", "symmetric") else ""
    # Where the first parameter is a path, a file may be called so.
    takes_path = next(iter(parameters_of(agent_class(agent))), "") == "path"
    told = "there is no|cannot be read" if takes_path else "unknown parameter"
    with pytest.raises(ttt_env.TttEnvError, match=f"({told}).*no_such|no_such.*({told})"):
        ttt_env.make_agent(f"{agent}:{inner}no_such=1")
