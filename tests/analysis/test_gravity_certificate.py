"""Certificates of a Connect Four player that wins if it can, else blocks, else prefers the middle."""

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.marks import slow
from ttt_env import Agent, certify
from ttt_env.rules import playable, set_masks


class CentreColumn(Agent):
    is_stationary = True

    def __init__(self, game):
        super().__init__(game)
        n_columns = self.game.shape[1]
        columns = sorted(range(n_columns), key=lambda column: abs(2 * column + 1 - n_columns))
        self.preferred = [cell for c in columns for cell in range(c, self.game.n_cells, n_columns)]

    def policies(self, boards):
        free = playable(self.game, boards.occupied_masks)
        cells = free
        for own, other in ((boards.theirs, boards.mine), (boards.mine, boards.theirs)):
            completing = free & self.completing(own[:, None], other[:, None])
            cells = np.where(completing, completing, cells)
        chosen = np.take(self.preferred, boards.cells(cells)[:, self.preferred].argmax(axis=1))
        return np.eye(self.game.n_cells)[chosen]

    def completing(self, own, other):
        lacking = set_masks(self.game) & ~own
        is_open = set_masks(self.game) & other == 0
        lacks_one = is_open & (np.bitwise_count(lacking) == 1)
        return np.bitwise_or.reduce(np.where(lacks_one, lacking, np.uint64(0)), axis=1)


def n_queries_of_plain_walk(game, seat):
    """The number of positions with `seat` to move in games of the agent, by the rules alone."""
    n_columns, n_asked, layer = game.shape[1], 0, {game.start}
    while layer:
        following = set()
        for position in layer:
            moves = sorted(position.legal_cells, key=lambda cell: cell % n_columns)
            moves.sort(key=lambda cell: abs(2 * (cell % n_columns) + 1 - n_columns))
            if position.to_move == seat:
                n_asked += 1
                wins = [c for c in moves if game.completes(position.mine | 1 << c, c)]
                blocks = [c for c in moves if game.completes(position.theirs | 1 << c, c)]
                moves = (wins or blocks or moves)[:1]
            following |= {position.play(cell) for cell in moves}
        layer = {position for position in following if not position.is_over}
    return n_asked


@pytest.mark.parametrize("game", ["connect-four-v0:m=4,n=4", slow("connect-four-v0:m=5,n=4")])
def test_certificate_queries_positions_of_plain_walk(game):
    game = ttt_env.get_game(game)
    found = certify(CentreColumn(game), game, complete=True)
    assert found.n_positions == {seat: n_queries_of_plain_walk(game, seat) for seat in "XO"}


@pytest.mark.parametrize("seat", [slow("X"), slow("O")])
def test_certificate_of_seven_by_six_has_known_queries(seat):
    game = ttt_env.get_game("connect-four-v0")
    found = certify(CentreColumn(game), game, seats=seat, complete=True)
    assert found.n_queries == reference.CONNECT_FOUR_QUESTIONS[seat]
    assert found.worst_case == {seat: -1}
