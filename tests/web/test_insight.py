"""The page's facts about moves and agents, against the analysis that computes them in another way."""

from fractions import Fraction

import numpy as np
import pytest

from tests import reference
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.web.reading import SMALL
from ttt_env import Position, exploitability, get_game, make_agent, match, prove, random_position, solve
from ttt_env.agents.advice import advise, hint
from ttt_env.analysis.known import known_value, known_values_of_moves
from ttt_env.web.insight import SEARCHES, judged_moves, strength
from ttt_env.web.roster import moved_over, presets
from ttt_env.web.table import PlayTable

QUBIC = get_game("qubic-v0")
OPPONENTS = ["weights", "softmax:temperature=0.3", slow("random"), slow("newell-simon"),
             slow("mcts:simulations=20,seed=1")]  # fmt: skip


@pytest.mark.parametrize("game", ["tictactoe-v0", "tictactoe-v0:misere=true", SMALL])
@pytest.mark.parametrize("x", ["minimax", "random", "softmax:temperature=0.3"])
def test_moves_weighted_by_their_chances_give_the_match(x, game, insight_solver):
    for o in ("random", "weights"):
        insight = insight_solver.insight(PlayTable(get_game(game), x, o))
        mean = [sum(move.probability * move.against[i] for move in insight.moves) for i in range(3)]
        assert mean == pytest.approx(match(x, o, game).as_x, abs=1e-12)


@pytest.mark.parametrize("agent", OPPONENTS)
def test_the_best_move_of_a_person_gets_what_the_best_response_does(agent, insight_solver):
    as_x = insight_solver.insight(PlayTable(TICTACTOE, "person", agent))
    found = max(move.against.value for move in as_x.moves)
    assert found == pytest.approx(exploitability(agent).as_o, abs=1e-12)
    replies = [insight_solver.insight(PlayTable(TICTACTOE, agent, "person", (cell,), 1)) for cell in range(9)]
    best = [max(move.against.value for move in reply.moves) for reply in replies]
    opening = make_agent(agent).policy(TICTACTOE.start)
    assert opening @ best == pytest.approx(exploitability(agent).as_x, abs=1e-12)


def test_the_best_response_to_random_is_the_published_one(insight_solver):
    insight = insight_solver.insight(PlayTable(TICTACTOE, "person", "random"))
    best = max(move.against.value for move in insight.moves)
    assert Fraction(best).limit_denominator(1000) == reference.BEST_RESPONSE_TO_RANDOM["X"]


def test_the_moves_of_gibsons_position_are_his(insight_solver):
    x = "softmax:temperature=0.2,opponent_temperature=1"
    table = PlayTable(TICTACTOE, x, "person", (0, 3, 1, 4, 7, 8), 6)
    insight = insight_solver.insight(table)
    assert str(table.position) == "XX./OO./.XO"
    assert sum(move.probability for move in insight.moves) == pytest.approx(1)
    his = Position.parse("XX./OO./XO.")
    chances = make_agent(x).policy(his)
    assert [round(100 * float(chances[cell]), 2) for cell in (2, 5, 8)] == [97.46, 2.52, 0.02]
    ours = insight_solver.insight(PlayTable(TICTACTOE, x, "person", (0, 3, 1, 4, 6, 7), 6))
    assert [round(100 * move.probability, 2) for move in ours.moves] == [97.46, 2.52, 0.02]


def test_in_a_large_game_values_and_hints_are_proved_or_unknown():
    """X and O have three in a row each, and X is to move."""
    near_win = PlayTable(QUBIC, cells=(0, 16, 1, 17, 2, 18), at=6).position
    assert known_value(near_win) == prove(QUBIC, near_win).value == 1
    assert known_value(near_win.play(3)) == -1
    assert known_value(QUBIC.start) is None and not advise(QUBIC.start).is_exact
    advice, worths = advise(near_win), known_values_of_moves(near_win)
    assert advice.is_exact and advice.value == 1
    assert 3 in advice.cells and all(worths[cell] == 1 for cell in advice.cells)


def test_what_cannot_be_known_is_said_and_not_made_up(insight_solver):
    unseeded = insight_solver.insight(PlayTable(TICTACTOE, "mcts:simulations=20", "random"))
    assert all(move.against is None and move.value == 0 for move in unseeded.moves)
    assert "seed" in unseeded.notes[0]
    large = insight_solver.insight(PlayTable(QUBIC, "random", "win-block"), SEARCHES[1])
    assert all(move.against is None and move.probability == 1 / 64 for move in large.moves)
    assert "too many positions" in large.notes[0] and not large.is_exact
    assert all(move.value is None and move.estimate is not None for move in large.moves)


def test_blunders_are_marked_and_the_better_moves_shown():
    found = judged_moves(PlayTable(TICTACTOE, cells=(4, 1, 0, 8, 6, 2), at=6))
    assert [verdict.is_blunder for verdict in found] == [False, True, False, False, False, False]
    assert found[1].better == (0, 2, 6, 8) and (found[1].before, found[1].after) == (0, -1)
    (*_, last) = judged_moves(PlayTable(QUBIC, cells=(0, 16, 1, 17, 2, 18, 60), at=7))
    assert last.is_blunder and last.better == (3,)  # in a game too large to solve


@pytest.mark.parametrize("game", ["tictactoe-v0", "tictactoe-v0:misere=true", SMALL])
def test_presets_are_ordered_by_their_exact_strength(game, roster):
    made = get_game(game)
    levels = [exploitability(preset.player, made).exploitability for preset in presets(made)]
    assert levels == sorted(levels, reverse=True) and len(levels) == 4
    assert levels[-1] == pytest.approx(0) and "gives nothing away" in strength(roster, "minimax", made)


@pytest.mark.parametrize("game", ["tictactoe-v0", "qubic-v0", "mnk-v0:m=8,n=8,k=5", slow("square-v0")])
def test_presets_can_play_and_have_the_usual_form(game, roster):
    made = get_game(game)
    for preset in presets(made):
        assert roster.parse(preset.player) == preset.player
        assert roster.make(preset.player, made).policy(made.start).sum() == pytest.approx(1)


def test_a_preset_stays_on_its_level_when_the_game_changes():
    assert moved_over("minimax", TICTACTOE, get_game("square-v0")) == "minimax"
    assert moved_over("minimax", TICTACTOE, QUBIC) == presets(QUBIC)[-1].player
    assert moved_over("weights", TICTACTOE, QUBIC) == "weights"


def test_strength_says_where_it_is_exact(roster):
    assert strength(roster, "random", TICTACTOE) == "gives away 0.925 as X, 0.995 as O"
    assert "unknown" in strength(roster, "random", QUBIC)
    assert "unknown" in strength(roster, "mcts:simulations=20", TICTACTOE)
    seeded = "mcts:simulations=2,solve=false,seed=1"
    assert "gives away" in strength(roster, seeded, TICTACTOE)
    assert "up to 9 cells" in strength(roster, seeded, get_game("square-v0"))


def test_the_page_gives_the_hint_of_the_terminal(insight_solver):
    for moves, told in [
        ((), "X draws with best play: every move does."),
        ((4,), "O draws with best play: 0 (a1), 2 (c1), 6 (a3) or 8 (c3)."),
        ((0, 1), "X wins with best play: "),
        ((0, 3, 1, 4, 2), "The game is over."),
    ]:
        table = PlayTable(TICTACTOE, cells=moves, at=len(moves))
        assert insight_solver.insight(table).hint == hint(table.position)
        assert hint(table.position).startswith(told)


@pytest.mark.parametrize("game", ["tictactoe-v0", "tictactoe-v0:misere=true", SMALL])
def test_values_are_those_of_the_solution_and_fit_what_the_moves_are_worth_and_the_best_cells(game):
    rng, made = np.random.default_rng(1), get_game(game)
    for _ in range(40):
        position = random_position(made, rng)
        assert known_value(position) == solve(made).value_of(position)
        if position.is_over:
            continue
        worths, advice = known_values_of_moves(position), advise(position)
        assert max(worths.values()) == advice.value == known_value(position)
        assert advice.cells == [cell for cell, worth in worths.items() if worth == advice.value]
