"""The claims behind the figures in scripts/, computed exactly."""

import numpy as np
import pytest

from tests.support.games import TICTACTOE
from ttt_env import Boards, certify, match
from ttt_env.analysis.induction import Outcomes, backward_induction, softmax
from ttt_env.analysis.layers import reachable

TEMPERATURES = [round(0.1 * step, 1) for step in range(1, 11)]
CORNERS, CENTRE, EDGES = [0, 2, 6, 8], 4, [1, 3, 5, 7]


def softmax_outcomes(x: float, o: float) -> Outcomes:
    """The outcomes if X and O play by softmax and each knows the other's temperature."""
    return backward_induction(reachable(TICTACTOE), softmax(x), softmax(o))


def lead(x: float, o: float) -> float:
    x_wins, o_wins = softmax_outcomes(x, o).start
    return x_wins - o_wins


def best_opening(x: float, o: float) -> str:
    q = softmax_outcomes(x, o).values().q(Boards.start(TICTACTOE))[0]
    for cells in (CORNERS, EDGES):
        np.testing.assert_allclose(q[cells], q[cells[0]], atol=1e-12)
    return max(("corner", q[0]), ("centre", q[CENTRE]), ("edge", q[1]), key=lambda opening: opening[1])[0]


class TestSoftmax:
    """The four plots of Lachlan Gibson, "Making tic-tac-toe interesting with AI"."""

    def test_hot_x_wins_over_half_and_cold_players_draw(self) -> None:
        assert 0.58 < softmax_outcomes(1, 1).start[0] < 0.59
        assert 1 - sum(softmax_outcomes(0.1, 0.1).start) > 0.999

    def test_chances_are_equal_if_o_has_half_temperature(self) -> None:
        assert lead(1, 0.45) < 0 < lead(1, 0.5)
        leads = [lead(1, o) for o in TEMPERATURES]
        assert leads == sorted(leads)  # The leads increase, so they are zero only once.

    def test_o_almost_never_beats_cold_x(self) -> None:
        assert max(softmax_outcomes(0.1, o).start[1] for o in TEMPERATURES) < 0.001

    @pytest.mark.parametrize("o", TEMPERATURES)
    def test_best_opening_depends_on_temperatures(self, o: float) -> None:
        assert best_opening(1, o) == "centre"
        assert best_opening(0.1, o) == ("corner" if o <= 0.7 else "centre")

    @pytest.mark.parametrize(("x", "o"), [(1, 0.5), (0.1, 0.3), (1, 1)])
    def test_softmax_agents_match_sweep(self, x: float, o: float) -> None:
        played = match(
            f"softmax:temperature={x},opponent_temperature={o}",
            f"softmax:temperature={o},opponent_temperature={x}",
        )
        assert (played.as_x.win, played.as_x.loss) == pytest.approx(softmax_outcomes(x, o).start)


class TestShowdown:
    """The five agents of Pascal Thormeier, "Self-built Tic-tac-toe AIs vs Human"."""

    @pytest.mark.parametrize(
        ("bot", "as_x", "as_o"),
        [("random", 6, 5), ("block", 8, 7), ("win-block", 8, 7), ("brute-force", None, 5),
         ("minimax:depth=5", None, 5), ("minimax", None, None)],
    )  # fmt: skip
    def test_shortest_refutations_have_known_lengths(self, bot: str, as_x: int, as_o: int) -> None:
        found = certify(bot).refutations
        assert [record and len(record.cells) for record in found.values()] == [as_x, as_o]
        assert all(record.value(seat) == -1 for seat, record in found.items() if record)

    def test_each_bot_scores_no_worse_than_previous_one(self) -> None:
        scores = [match(bot, "minimax").score for bot in ("random", "block", "win-block", "brute-force")]
        assert scores[0] < scores[1] and scores[2] == scores[1] < scores[3]
