"""Monte Carlo tree search whose simulations end with what a value network says."""

import json
import pickle

import numpy as np
import pytest

import ttt_env
from tests.support.games import POSITIONS
from tests.support.marks import slow
from tests.support.naive_uct import NaiveSearch
from ttt_env.agents.learned.value_network import BoardNetwork, ValueNetwork
from ttt_env.agents.mcts.search import Search
from ttt_env.errors import ParameterError, PolicyFileError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Position, cells_of

SETTINGS = {
    "default": {},
    "unsolved": {"solve": False, "seed": 3},
    "draw 0": {"draw": 0.0},
    "draw 0.7, c 0.3": {"draw": 0.7, "c": 0.3, "seed": 1},
}


class NaiveEvaluated(NaiveSearch):
    """Asks the network about one position at a time; a result between −1 and 1 is interpolated."""

    def __init__(self, network, position, **settings):
        self.network = network
        super().__init__(position.game, cells_of(position.mine), cells_of(position.theirs), **settings)

    def play_out(self, mine, theirs):
        masks = (sum(1 << cell for cell in cells) for cells in (mine, theirs))
        return float(self.network.values(Boards.of([Position(self.network.game, *masks)]))[0])


def network(game, view="mover"):
    made = BoardNetwork.random(game, np.random.default_rng(0), start="symmetric", view=view)
    return made.with_numbers(3 * np.concatenate(made.layers, axis=None))


def assert_close(node, plain):
    """The numbers of every node; tanh in compiled code differs by rounding."""
    assert (node.cell, node.visits, node.value) == (plain.cell, plain.visits, plain.value)
    assert node.wins == pytest.approx(plain.wins, abs=1e-9)
    for child, other in zip(node.children, plain.children, strict=True):
        assert_close(child, other)


@pytest.mark.parametrize("view", ["mover", "xo", "xo+turn"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", ["late", "lopsided", *map(slow, ("empty", "misère", "5,5,4 later"))])
def test_is_the_tree_of_a_plain_search(name, settings, view):
    position = POSITIONS[name]
    net = network(position.game, view)
    search = Search(position, network=net, **settings)
    plain = NaiveEvaluated(net, position, **settings)
    for iterations in (1, 2, 60):
        search.run(iterations)
        plain.run(iterations)
        assert_close(search.tree(), plain.root)


def test_proofs_are_those_of_the_rules():
    position = POSITIONS["late"]
    search = Search(position, network=network(position.game))
    search.run(1000)
    assert search.value == ttt_env.solve(position.game).value_of(position)


def test_plays_by_the_network_of_a_file(tmp_path):
    game = ttt_env.get_game("mnk-v0:m=4,n=3,k=3")
    ValueNetwork.of(network(game)).save(tmp_path / "net.npz")
    spec = f"mcts:simulations=40,evaluate=value-network:{tmp_path / 'net.npz'},seed=0"
    agent = ttt_env.make_agent(spec, game)
    again = pickle.loads(pickle.dumps(agent))
    assert agent.policy(game.start).tolist() == again.policy(game.start).tolist()
    assert json.loads(agent.search.to_json())["playout"] is None


def test_refuses_what_it_cannot_evaluate_by():
    with pytest.raises(ParameterError, match="evaluate='minimax' of mcts: value-network"):
        ttt_env.make_agent("mcts:evaluate=minimax")
    with pytest.raises(ParameterError, match="playout='win-block' of mcts: with evaluate= there are no"):
        ttt_env.make_agent("mcts:evaluate=value-network,playout=win-block")
    with pytest.raises(PolicyFileError, match="value-network comes trained for tictactoe-v0"):
        ttt_env.make_agent("mcts:evaluate=value-network", "square-v0")
