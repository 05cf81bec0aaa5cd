"""The value network: its input, play and training; test_policy_files.py tests its files."""

from math import tanh

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE, open_boards
from tests.support.marks import slow
from ttt_env.agent.learner import Budget
from ttt_env.agents.learned.value_network import (
    CYCLES,
    BoardNetwork,
    ValueNetwork,
    ValueNetworkLearner,
    layer_sizes,
)
from ttt_env.errors import ParameterError

GAMES = [TICTACTOE, ttt_env.get_game("tictactoe-v0:misere=true"), ttt_env.get_game("mnk-v0:m=4,n=3,k=3")]
VIEWS = ["mover", "xo", "xo+turn"]
RATE = 0.1


def network_input(position, view, empty):
    """The network's input for a position, as the source defines it."""
    mover_is_x = position.ply % 2 == 1
    own = 1.0 if view == "mover" or mover_is_x else -1.0
    moved, other = position.theirs, position.mine
    n_cells = position.game.n_cells
    cells = [own if moved >> c & 1 else -own if other >> c & 1 else empty for c in range(n_cells)]
    return [*cells, 1.0 if mover_is_x else -1.0] if view == "xo+turn" else cells


def side(position, view):
    """1 if a high output is good for the player who has just moved, otherwise −1."""
    return -1 if view != "mover" and position.ply % 2 == 0 else 1


def signals_of(layers, inputs):
    """The signals of all layers in plain Python."""
    signals = [list(inputs)]
    for layer in layers:
        sums = [sum(w * x for w, x in zip(row, [*signals[-1], 1.0], strict=True)) for row in layer.tolist()]
        signals.append([tanh(total) for total in sums])
    return signals


def network(game=TICTACTOE, view="mover", empty=0.01, seed=0, hidden=None):
    rng = np.random.default_rng(seed)
    made = BoardNetwork.random(game, rng, hidden=hidden, start="symmetric", view=view, empty=empty)
    # Larger weights than at the start of training, so that tanh is not almost linear.
    return made.with_numbers(3 * np.concatenate(made.layers, axis=None))


def learner(given, opponents="mixed", seed=1):
    made = ValueNetworkLearner(given.game, seed, opponents=opponents, learning_rate=RATE)
    made._learn_with(given)
    return made


def play(made, games):
    """Train for `games` games and return which of them were good."""
    made.advance(Budget(steps=games))
    return made.is_good


def positions_of(made, n_plies):
    """The positions after each of the first `n_plies` plies of the last game."""
    masks = made.board.masks
    return [ttt_env.Position(made.game, int(masks[p, 1]), int(masks[p, 0])) for p in range(n_plies)]


def last_game(made):
    """All positions of the last game."""
    plies = range(1, made.game.n_cells + 1)
    return next(found for found in (positions_of(made, n) for n in plies) if found[-1].is_over)


def test_layer_sizes_match_source():
    assert layer_sizes(TICTACTOE, "mover") == [9, 18, 9, 3, 1]
    assert layer_sizes(TICTACTOE, "xo") == [9, 18, 9, 3, 1]
    assert layer_sizes(TICTACTOE, "xo+turn") == [10, 18, 9, 3, 1]
    assert layer_sizes(TICTACTOE, "mover", [5, 4]) == [9, 5, 4, 1]


def test_initial_weights_follow_start_option():
    """The library of the source draws weights from [0, 1]; the symmetric start scales each layer."""
    rng = np.random.default_rng(0)
    ones = [BoardNetwork.random(TICTACTOE, rng) for _ in range(50)]
    others = [BoardNetwork.random(TICTACTOE, rng, start="symmetric") for _ in range(50)]
    for layer in range(4):
        drawn = np.stack([one.layers[layer] for one in ones])
        assert 0 <= drawn.min() < 0.05 and 0.95 < drawn.max() < 1
        drawn = np.stack([one.layers[layer] for one in others]) * np.sqrt(others[0].sizes[layer])
        assert -1 < drawn.min() < -0.95 and 0.95 < drawn.max() < 1


@pytest.mark.parametrize("hidden", [None, *map(slow, ([4], [3, 5, 2, 2])), []], ids=str)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("game", GAMES)
def test_values_match_plain_network(game, view, hidden):
    given, boards = network(game, view, hidden=hidden), open_boards(game)
    boards = boards[:: max(1, len(boards) // 60)]
    signals = [signals_of(given.layers, network_input(position, view, 0.01))[-1][0] for position in boards]
    plain = [side(position, view) * signal for position, signal in zip(boards, signals, strict=True)]
    np.testing.assert_allclose(given.values(boards), plain, atol=1e-12)
    assert given.values(boards[:0]).shape == (0,)


@pytest.mark.parametrize("hidden", [slow(None), [7, 4]], ids=str)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("empty", [slow(0.0), 0.01])
def test_game_is_learned_by_gradient_steps(view, empty, hidden):
    """Each position is one gradient step on the squared error, with numerical gradients."""
    made = learner(network(view=view, empty=empty, hidden=hidden), "random")
    before = made.agent().network.layers
    play(made, 1)
    game, step = last_game(made), 1e-6
    for position in game:
        target = {None: 0, "X": 1, "O": -1}[game[-1].winner]
        if view == "mover" and position.ply % 2 == 0:
            target = -target
        inputs, slopes = network_input(position, view, empty), [np.zeros_like(layer) for layer in before]
        for layer, slope in zip(before, slopes, strict=True):
            for at in np.ndindex(layer.shape):
                ends = []
                for change in (step, -step):
                    layer[at] += change
                    ends.append((signals_of(before, inputs)[-1][0] - target) ** 2 / 2)
                    layer[at] -= change
                slope[at] = (ends[0] - ends[1]) / (2 * step)
        for layer, slope in zip(before, slopes, strict=True):
            layer -= RATE * slope
    for learned, layer in zip(made.agent().network.layers, before, strict=True):
        np.testing.assert_allclose(learned, layer, atol=1e-8)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("game", GAMES)
def test_games_are_legal_and_network_plays_best_moves(game, view):
    made = learner(network(game, view))
    for is_x, is_o in 3 * CYCLES["mixed"]:
        made.cycle = np.array([[is_x, is_o]])
        agent = made.agent()
        good = play(made, 1)[0]
        position = game.start
        for after in last_game(made):
            stone = after.theirs & ~position.mine
            assert position.play(stone.bit_length() - 1) == after
            if (is_x, is_o)[position.ply % 2]:
                assert agent.policy(position)[stone.bit_length() - 1] > 0
            position = after
        winner = position.winner
        assert position.is_over
        assert good == (winner is None if is_x and is_o else winner == ("X" if is_x else "O"))


def test_random_player_opens_anywhere():
    made, first = learner(network(), "random"), set()
    for _ in range(100):
        play(made, 2)  # In the second game the network is O.
        first.add(last_game(made)[0].theirs)
    assert first == {1 << cell for cell in range(9)}


def test_mixed_cycle_is_balanced():
    mixed = CYCLES["mixed"]
    assert len(mixed) == 6
    assert [mixed.count(pair) for pair in ((True, True), (True, False), (False, True))] == [2, 2, 2]


def test_equal_moves_are_equally_likely():
    blind = network().with_numbers(np.zeros(9 * 18 + 18 + 18 * 9 + 9 + 9 * 3 + 3 + 3 + 1))
    policy = ValueNetwork.of(blind).policy(ttt_env.Position.parse("X../.O./..X"))
    np.testing.assert_array_equal(policy, np.where([0, 1, 1, 1, 0, 1, 1, 1, 0], 1 / 6, 0))


def test_learner_counts_games_in_snapshots():
    made, looks = ValueNetworkLearner(TICTACTOE, hidden=[4]), []
    for games in (6_000, 7_000):
        made.advance(Budget(steps=7_000 - made.games))
        assert made.games == games
        looks.append((made.is_good, made.agent()))
    assert [len(is_good) for is_good, _ in looks] == [6_000, 1_000]
    assert made.is_against_random[:7].tolist() == [False, True, True, False, True, True, False]
    boards = open_boards()
    assert (looks[0][1].network.values(boards) != looks[-1][1].network.values(boards)).any()


def test_cycle_continues_in_next_run():
    made, whole = ValueNetworkLearner(TICTACTOE), ValueNetworkLearner(TICTACTOE)
    against_random = [np.append(play(made, games)[:0], made.is_against_random) for games in (1, 2, 4)]
    play(whole, 7)
    assert np.concatenate(against_random).tolist() == whole.is_against_random.tolist()
    layers = zip(made.agent().network.layers, whole.agent().network.layers, strict=True)
    assert all(np.array_equal(one, two) for one, two in layers)
    other = ValueNetworkLearner(TICTACTOE, seed=1)
    play(other, 7)
    assert not np.array_equal(other.agent().network.layers[0], whole.agent().network.layers[0])


@pytest.mark.slow
def test_pure_self_play_scores_worst_against_random():
    """Its late games are all good, as its author saw; its exact score against random play is low."""
    made = {opponents: ValueNetworkLearner(TICTACTOE, opponents=opponents) for opponents in CYCLES}
    for _ in range(10):
        for one in made.values():
            one.advance()
    assert made["self"].is_good.reshape(-1, 100).sum(axis=1).min() >= 99
    assert not made["self"].is_against_random.any() and made["random"].is_against_random.all()
    scores = {opponents: ttt_env.match(one.agent(), "random").score for opponents, one in made.items()}
    assert scores["self"] < min(scores["random"], scores["mixed"])


@pytest.mark.parametrize(
    "bad_value",
    [
        {"learning_rate": -1},
        {"empty": 2},
        {"view": "own"},
        {"start": "small"},
        {"hidden": [18, 0]},
        {"hidden": [18, 1.5]},
        {"hidden": [3] * 10},
        {"hidden": "18"},
        {"hidden": 10**5000},
        {"opponents": "minimax"},
    ],
)
def test_invalid_parameters_are_refused(bad_value):
    with pytest.raises(ParameterError, match=next(iter(bad_value))):
        ttt_env.train(algo="value-network", **{"steps": 10, **bad_value})
