"""Training games begin as declared, with probabilities computed by the naive rules."""

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import ttt_env
from tests.support import naive
from tests.support.agents import Nth
from tests.support.games import LOPSIDED, boards_of, positions_of
from ttt_env.rules import random_position

sb3 = pytest.importorskip("stable_baselines3")

from ttt_env.agent.learner import learner_class  # noqa: E402
from ttt_env.agents.learned.sb3 import SB3  # noqa: E402
from ttt_env.alphazero.training import AlphaZeroLearner  # noqa: E402
from ttt_env.envs.sb3 import make_vec_env  # noqa: E402
from ttt_env.training.evaluation import costly_blunders, evaluate  # noqa: E402
from ttt_env.training.pool import StartDistribution  # noqa: E402
from ttt_env.training.selfplay import SelfPlayCallback  # noqa: E402

# Games in which the winner may err twice: a move gives the win away, and a later one the draw.
X_WINS = ttt_env.Game("X wins", (2, 2), [(0, 1), (1, 2)])
O_WINS = ttt_env.Game("O wins", (1, 5), [(0, 1), (1, 2)], misere=True)
N_DRAWN = 4_000


def policy_of(agent):
    """The agent's policy by board, in the form of the naive rules."""
    positions = positions_of(agent.game)
    return cache(lambda board: dict(enumerate(agent.policy(positions[board]).tolist())))


def errors_of(agent, boards=None):
    """The boards where the agent may blunder, and those where this may cost its seat the value of the game.

    That value is the result of best play from the empty board. Of all boards, or of these.
    """
    twin, policy, errors, costly_errors = naive.twin(agent.game), policy_of(agent), [], []
    for board in filter(twin.moves, boards or twin.boards()):
        game_value = twin.value(twin.empty) * (1 if naive.mover(board) == "X" else -1)
        worst = min(-twin.value(naive.play(board, cell)) for cell, chance in policy(board).items() if chance)
        if worst < twin.value(board):
            errors.append(board)
        if worst < game_value <= twin.value(board):
            costly_errors.append(board)
    return errors, costly_errors


def reached_by(agent):
    """The boards that the agent can reach and has to move in, on either seat."""
    twin, policy = naive.twin(agent.game), policy_of(agent)
    return [
        board
        for seat in "XO"
        for layer in twin.layers({seat: policy})
        for board in layer
        if naive.mover(board) == seat
    ]


def uniform(boards):
    return dict.fromkeys(boards, Fraction(1, len(boards)))


def mixed(*parts):
    """The distribution that draws from one of these distributions by their weights."""
    chances = Counter()
    for weight, part in parts:
        for board, chance in part.items():
            chances[board] += Fraction(weight) * chance
    assert sum(chances.values()) == 1
    return chances


def random_boards(game):
    """The distribution of the boards after 0 to n − 1 random moves, all equally likely, on n cells.

    No move that would end the game is made, and none after it.
    """
    twin, chances = naive.twin(game), Counter()

    def walk(board, n_moves, chance):
        cells = twin.moves(board) if n_moves else []
        if not cells:
            chances[board] += chance
        for cell in cells:
            after = naive.play(board, cell)
            walk(*((after, n_moves - 1) if twin.moves(after) else (board, 0)), chance / len(cells))

    for n_moves in range(game.n_cells):
        walk(twin.empty, n_moves, Fraction(1, game.n_cells))
    return chances


def error_boards(errors, costly_errors):
    """Four in five starts at errors are at costly errors, if there are any."""
    if not costly_errors:
        return uniform(errors)
    return mixed(("4/5", uniform(costly_errors)), ("1/5", uniform(errors)))


def draw_boards(starts):
    rng = np.random.default_rng(0)
    return [naive.board_of(str(starts(rng))) for _ in range(N_DRAWN)]


def assert_distribution(boards, chances):
    """Check that each board was drawn with its probability, within five standard deviations."""
    counts = Counter(boards)
    assert set(counts) <= set(chances)
    for board, chance in chances.items():
        expected = len(boards) * chance
        assert abs(counts[board] - expected) <= 5 * float(expected * (1 - chance)) ** 0.5, board


def batch_of(game, boards):
    return boards_of(game)[np.array([board in boards for board in positions_of(game)])]


AGENT = Nth(X_WINS, 3)
EMPTY, RANDOM = uniform([naive.twin(X_WINS).empty]), random_boards(X_WINS)
ERRORS, COSTLY = errors_of(AGENT)


@pytest.mark.parametrize("game", [X_WINS, O_WINS], ids=lambda game: game.name)
def test_random_position_follows_random_number_of_moves(game):
    assert_distribution(draw_boards(lambda rng: random_position(game, rng)), random_boards(game))


@pytest.mark.parametrize(
    ("shares", "chances"),
    [
        ((0.0, 0.0), EMPTY),
        ((1.0, 0.0), RANDOM),
        ((0.25, 0.0), mixed(("1/4", RANDOM), ("3/4", EMPTY))),
        ((0.0, 1.0), error_boards(ERRORS, COSTLY)),
        ((0.2, 0.5), mixed(("1/5", RANDOM), ("1/2", error_boards(ERRORS, COSTLY)), ("3/10", EMPTY))),
    ],
    ids=["empty", "random", "some random", "errors", "all kinds"],
)
def test_each_kind_of_start_has_its_share(shares, chances):
    starts = StartDistribution(X_WINS, *shares)
    starts.set_blunders(batch_of(X_WINS, ERRORS), batch_of(X_WINS, COSTLY))
    assert_distribution(draw_boards(starts), chances)


def test_cheap_errors_are_drawn_uniformly_without_costly_ones():
    starts, cheap = StartDistribution(X_WINS, 0.2, 0.5), set(ERRORS) - set(COSTLY)
    starts.set_blunders(batch_of(X_WINS, cheap), batch_of(X_WINS, []))
    assert_distribution(draw_boards(starts), mixed(("1/5", RANDOM), ("1/2", uniform(cheap)), ("3/10", EMPTY)))


def test_share_of_errors_falls_to_empty_board_without_errors():
    starts = StartDistribution(X_WINS, 0.2, 0.5)
    assert_distribution(draw_boards(starts), mixed(("1/5", RANDOM), ("4/5", EMPTY)))


@pytest.mark.parametrize("game", [X_WINS, O_WINS, LOPSIDED], ids=lambda game: game.name)
def test_error_is_costly_if_it_loses_game_value(game):
    for agent in (Nth(game, 0), Nth(game, 1), ttt_env.make_agent("random", game)):
        errors, costly_errors = errors_of(agent)
        costly = costly_blunders(agent, batch_of(game, errors))
        assert sorted(naive.board_of(str(position)) for position in costly) == sorted(costly_errors)


@pytest.mark.parametrize("until", ["budget", "optimal"])
@pytest.mark.slow
def test_self_play_starts_at_errors_of_current_model(until):
    """Towards optimal play these are all errors of the game, otherwise those that the model can reach."""
    starts = StartDistribution(LOPSIDED, 0.0, 1.0)
    envs = make_vec_env(LOPSIDED, n_envs=4, seed=0, start=starts)
    model = sb3.A2C("MlpPolicy", envs, device="cpu", seed=0)
    model.learn(20, SelfPlayCallback(every=20, until=until, starts=starts, verbose=0))
    agent = SB3.from_model(LOPSIDED, model)
    errors, costly_errors = errors_of(agent, None if until == "optimal" else reached_by(agent))
    assert errors
    assert_distribution(draw_boards(starts), error_boards(errors, costly_errors))


def test_recipe_environments_start_by_shares():
    """The model is X and sees the start itself if X is to move."""
    options = {"random_starts": 0.0, "blunder_starts": 0.5, "envs.play_as": "X", "envs.n_envs": N_DRAWN}
    learner = learner_class("a2c")(X_WINS, **options)
    errors = [board for board in ERRORS if naive.mover(board) == "X"]
    learner.starts.set_blunders(batch_of(X_WINS, errors), batch_of(X_WINS, COSTLY))
    planes = learner.model.get_env().reset().reshape(N_DRAWN, -1, 2)
    boards = ["".join("X" if mine else "O" if theirs else "." for mine, theirs in each) for each in planes]
    assert_distribution(boards, mixed(("1/2", error_boards(errors, COSTLY)), ("1/2", EMPTY)))


def test_alphazero_games_start_by_shares():
    """A game without moves, after a move in all games, has just begun."""
    settings = {"games": 500, "simulations": 1, "channels": 2, "blocks": 1, "pause": 1}
    learner = AlphaZeroLearner(X_WINS, random_starts=0.25, blunder_starts=0.5, **settings)
    games, starts = learner.games, []
    learner.advance()
    learner.on_evaluation(evaluate(AGENT, {}, 0, 0.0, everywhere=False))
    while len(starts) < N_DRAWN:
        games.move(learner.search)
        for mine, theirs in games.masks[:, games.lengths == 0].T.tolist():
            starts.append(naive.board_of(str(ttt_env.Position(X_WINS, mine, theirs))))
    errors, _ = errors_of(AGENT, reached_by(AGENT))
    assert_distribution(starts, mixed(("1/4", RANDOM), ("1/2", uniform(errors)), ("1/4", EMPTY)))
