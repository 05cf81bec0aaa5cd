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
from ttt_env.errors import FileError, GameTooLargeError
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
N_OPEN_POSITIONS = {"3×3": 4520, "misère": 4520}  # Both games end with the first winning set.
N_SAMPLED = 8

# Games that an agent refuses as too large.
ENUMERABLE = {"5,5,4", "qubic"}
NOT_TABULATED = {"square", *ENUMERABLE}  # Boards of more than 12 cells.
EVERYWHERE: set[str] = set()
# Games for which no trained file is included.
UNTRAINED = set(GAMES) - {"3×3"}

# Every registered agent: its spec strings, each with the games that it refuses.
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
# External programs, and tables that answer only the positions they were queried for: see
# tests/bots/test_players.py and tests/analysis/test_policy_table.py.
TESTED_ELSEWHERE = {"process", "policy-table", "chat"}
# Networks and random searches ignore symmetry, and a strategy plays one of several symmetric moves. All
# others play symmetric positions in the same way.
WITHOUT_SYMMETRY = {"mcts", "sb3", "onnx", "ppo", "dqn", "value-network", "alphazero", "strategy"}
# The fast tests use each agent's first spec that can play the game, on 3×3 and on these games: a board
# without symmetry, and a board with three axes and 64 cells.
FAST_GAMES = {"lopsided", "qubic"}
# On 3×3 also these specs, which run other code than the first one.
OTHER_FAST_SPECS = ("minimax:depth=2", "mcts:simulations=10,evaluate=value-network,", "lookup:", "alphazero:")


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
    agent_of = ValueNetworkLearner(game, seed=0)
    agent_of.advance(Budget(steps=1))
    agent_of.save(path)


def _alphazero(game, path):
    network(game, scale=0.1).save(path)


def _proof(game, path):
    if game.name == "qubic-v0":  # The search takes a quarter of an hour.
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
    """A function from (spec, name of a game) to the agent; it writes the file that the spec names."""

    @cache
    def path_for(blank, name):
        write, file = FILES[blank]
        path = tmp_path_factory.mktemp("agents") / file
        write(GAMES[name], path)
        return str(path)

    @cache
    def agent_of(spec, name):
        for blank in FILES:
            if blank in spec:
                spec = spec.replace(blank, path_for(blank, name))
        return ttt_env.make_agent(spec, GAMES[name])

    return agent_of


@cache
def boards_of(name):
    """Every open position of a 3×3 game, a sample for other games."""
    if name not in N_OPEN_POSITIONS:
        return ttt_env.Boards.of(random_positions(GAMES[name], N_SAMPLED))
    boards = open_boards(GAMES[name])
    assert len(boards) == N_OPEN_POSITIONS[name]
    return boards


@cache
def positions_of(name):
    boards = boards_of(name)
    return [boards[i] for i in range(0, len(boards), max(1, len(boards) // (2 * N_SAMPLED)))]


def marks_of(agent, spec, name):
    """Mark a case as slow unless it belongs to the fast tests."""
    first = next(spec for spec, too_large in SPECS[agent] if name not in too_large)
    is_fast = spec == first and name in FAST_GAMES
    if name == "3×3":
        is_fast = spec == first or spec.startswith(OTHER_FAST_SPECS)
    return [] if is_fast else [pytest.mark.slow]


def cases(is_playable):
    return [
        pytest.param(
            spec, name, id=f"{spec}-{name}", marks=marks_of(agent, spec, name) if is_playable else []
        )
        for agent in SPECS
        for spec, too_large in SPECS[agent]
        for name in GAMES
        if (name not in too_large) == is_playable
    ]


PLAYABLE, REFUSED = cases(True), cases(False)


def test_every_registered_agent_is_tested_and_documented():
    assert set(ttt_env.agent_names()) == set(SPECS) | TESTED_ELSEWHERE
    assert all(spec.startswith(name) for name in SPECS for spec, _ in SPECS[name])
    assert all(len((agent_class(agent).__doc__ or "").strip()) > 80 for agent in SPECS)


def assert_policies_are_distributions(policies, boards):
    assert policies.shape == (len(boards), boards.game.n_cells)
    assert policies.dtype == np.float64
    assert (policies >= 0).all()
    assert not policies[~boards.legal].any()
    assert np.abs(policies.sum(axis=1) - 1).max() < 1e-12


def assert_choice_follows_policy(agent, name):
    for seed, position in enumerate(positions_of(name)):
        policy = agent.policy(position)
        assert policy.shape == (GAMES[name].n_cells,)
        assert (policy >= 0).all()
        assert set(np.flatnonzero(policy)) <= set(position.legal_cells)
        assert abs(policy.sum() - 1) < 1e-12
        cell = agent.choose(position, np.random.default_rng(seed))
        assert cell == agent.choose(position, np.random.default_rng(seed))
        assert type(cell) is int and policy[cell] > 0


def assert_policies_are_symmetric(agent, policies, boards):
    for permutation in symmetries(agent.game)[-3::-13]:  # The first symmetry is the identity.
        moved = agent.policies(transform_boards(boards, permutation))
        np.testing.assert_allclose(moved[:, permutation], policies, atol=1e-9)


def assert_policy_is_stationary(agent, name):
    positions = positions_of(name)
    rng = np.random.default_rng(2)
    first = {position: agent.policy(position).copy() for position in positions}
    for position in positions:
        policy = agent.policy(position)
        policy.setflags(write=True)  # A returned policy belongs to the caller.
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
def test_agent_meets_contract(make, spec, name):
    agent, kind = make(spec, name), spec.partition(":")[0]
    assert agent.is_stationary
    assert_choice_follows_policy(agent, name)
    assert_policy_is_stationary(agent, name)
    boards = boards_of(name)
    policies = agent.policies(boards)
    assert_policies_are_distributions(policies, boards)
    if kind not in WITHOUT_SYMMETRY:
        assert_policies_are_symmetric(agent, policies, boards)


@pytest.mark.parametrize("spec", ["mcts:simulations=9", "minimax:seconds=0.01", "epsilon:mcts,epsilon=0.5"])
def test_varying_agents_are_not_stationary(spec):
    agent = ttt_env.make_agent(spec)
    assert agent.is_stationary is pickle.loads(pickle.dumps(agent)).is_stationary is False


@pytest.mark.parametrize(("spec", "name"), REFUSED)
def test_unplayable_game_is_refused(make, spec, name):
    with pytest.raises((GameTooLargeError, FileError), match=GAMES[name].name):
        make(spec, name).policy(GAMES[name].start)  # A model is checked only when it plays.


@pytest.mark.parametrize("agent", SPECS)
def test_unknown_parameters_are_refused(agent, make):
    if agent in ("sb3", "onnx"):
        pytest.importorskip({"sb3": "stable_baselines3", "onnx": "onnxruntime"}[agent])
    inner = "random," if agent in ("best-response", "epsilon", "mixture", "symmetric") else ""
    # If the first parameter is a path, a file may have this name.
    takes_path = next(iter(parameters_of(agent_class(agent))), "") == "path"
    message = "there is no|cannot be read" if takes_path else "unknown parameter"
    with pytest.raises(ttt_env.TttEnvError, match=f"({message}).*no_such|no_such.*({message})"):
        ttt_env.make_agent(f"{agent}:{inner}no_such=1")
