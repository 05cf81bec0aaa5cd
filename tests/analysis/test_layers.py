"""All reachable positions by ply, and their numbering."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest

from tests import reference
from tests.support import naive
from tests.support.agents import asked
from tests.support.games import CONNECT_THREE, LOPSIDED, MISERE, TICTACTOE, TREE
from tests.support.marks import slow
from tests.support.naive import twin
from ttt_env import Game, Position, get_game
from ttt_env.analysis.grid import Grid, grid
from ttt_env.analysis.layers import reachable, reached_layers
from ttt_env.errors import GameTooLargeError
from ttt_env.rules.sizes import is_enumerable, n_placements

SHORT = Game("short", (2, 3), [(0,), (1, 2)])  # Some of its games end before the board is full.
GAMES = [TICTACTOE, *map(get_game, ("mnk-v0:m=4,n=2,k=3", "mnk-v0:m=2,n=1,k=1")), LOPSIDED, SHORT]
GRAVITY = [CONNECT_THREE, TREE, get_game("score-four-v0:k=2,h=2")]


def positions(game, boards):
    return {Position(game, *naive.masks(board)) for board in boards}


def slots_of(layer):
    return np.concatenate([layer.open_slots, layer.won_slots, layer.drawn_slots])


def full_board_game(n_cells):
    """A game that ends only when the board is full."""
    return Game("free", (n_cells,), [range(n_cells)])


class TestGrid:
    @pytest.mark.parametrize("game", [*map(full_board_game, (1, 2, 5, 8, 9, 11)), *GRAVITY], ids=repr)
    def test_grid_numbers_every_placement_once(self, game):
        for ply in range(game.n_cells + 1):
            places = Grid(game, ply)
            n_rows = sum(
                all(game.supports[cell] in (None, *cells) for cell in cells)
                for cells in combinations(range(game.n_cells), ply)
            )
            assert places.n_slots == n_rows * comb(ply, ply // 2) == n_placements(game, [ply])
            mine, theirs = places.masks(np.arange(places.n_slots))
            assert len(set(zip(mine.tolist(), theirs.tolist(), strict=True))) == places.n_slots
            assert not (mine & theirs).any() and (mine | theirs).max() <= game.full_mask
            assert (np.bitwise_count(mine) == ply // 2).all()
            assert (np.bitwise_count(theirs) == (ply + 1) // 2).all()

    @pytest.mark.parametrize("game", [*map(full_board_game, (1, 2, 5, 8, 9, 11, 16)), *GRAVITY], ids=repr)
    def test_slots_round_trip_through_masks(self, game):
        for ply in range(game.n_cells + 1):
            places = grid(game, ply)
            slots = np.arange(0, places.n_slots, 1 + places.n_slots // 20_000)
            assert (places.slots(*places.masks(slots)) == slots).all()

    @pytest.mark.parametrize("rules", [*map(full_board_game, (1, 3, 6, 9)), *GRAVITY], ids=repr)
    def test_successors_match_played_positions(self, rules):
        game = Game("to the end", rules.shape, [range(rules.n_cells)], supports=rules.supports)
        for ply in range(game.n_cells):
            places, after = grid(game, ply), grid(game, ply + 1)
            slots = np.arange(places.n_slots)
            found = [after.masks(row) for row in places.successors(slots)]
            for i, masks in enumerate(zip(*places.masks(slots), strict=True)):
                position = Position(game, *map(int, masks))
                n_moves = places.n_moves(slots)[i]
                cells = places.cells(slots)[:, i].tolist()
                assert cells[:n_moves] == position.legal_cells
                assert len(set(cells)) == len(cells)
                children = [Position(game, int(mine[i]), int(theirs[i])) for mine, theirs in found]
                due = [position.play(cell) for cell in position.legal_cells]
                assert children == due + due[:1] * (len(cells) - n_moves)

    def test_successors_match_moves_on_sixteen_cells(self):
        rng, game = np.random.default_rng(0), full_board_game(16)
        for ply in range(16):
            places, after = grid(game, ply), grid(game, ply + 1)
            slots = rng.integers(places.n_slots, size=50)
            mine, theirs = places.masks(slots)
            for cells, next_slots in zip(places.cells(slots), places.successors(slots), strict=True):
                stones = mine | np.uint64(1) << cells.astype(np.uint64)
                assert (after.slots(theirs, stones) == next_slots).all()


@pytest.mark.parametrize("game", [*GAMES, *GRAVITY, slow(MISERE)], ids=repr)
class TestReachable:
    def test_layers_match_naive_layers(self, game):
        layers, expected = reachable(game), twin(game).layers()
        assert [layer.ply for layer in layers] == list(range(len(expected)))
        for layer, boards in zip(layers, expected, strict=True):
            assert set(layer.boards(slots_of(layer))) == positions(game, boards)
            assert len(layer) == len(boards)
            assert not any(position.is_over for position in layer.boards(layer.open_slots))
            assert all(position.is_won for position in layer.boards(layer.won_slots))
            assert all(p.is_over and not p.is_won for p in layer.boards(layer.drawn_slots))
            assert (np.diff(layer.open_slots) > 0).all()
            for moves in layer.moves():
                for cells, position in zip(moves.cells, moves.boards, strict=True):
                    assert cells[: len(position.legal_cells)].tolist() == position.legal_cells
                legal = np.take_along_axis(moves.boards.legal, moves.cells, axis=1)
                assert (moves.legal == legal).all() and (legal.sum() == moves.boards.legal.sum())

    def test_layers_under_policies_match_naive_layers(self, game):
        other = twin(game)

        def first(board):
            return {other.moves(board)[0]: Fraction(1)}

        def first_of(boards):
            return np.cumsum(boards.legal, axis=1) * boards.legal == 1

        for x, o in [(True, False), (False, True), (True, True)]:
            layers = list(
                reached_layers(game, asked(first_of) if x else None, asked(first_of) if o else None)
            )
            expected = other.layers({"X": first if x else None, "O": first if o else None})
            found = [set(layer.boards(slots_of(layer))) for layer in layers]
            assert found == [positions(game, boards) for boards in expected]


class TestTicTacToe:
    layers = reachable(GAMES[0])

    def test_position_counts_match_published_ones(self):
        assert [len(layer) for layer in self.layers] == reference.POSITIONS_BY_PLY
        won, to_move = Counter(), Counter()
        for layer in self.layers:
            won["XO"[(layer.ply + 1) % 2]] += len(layer.won_slots)
            won[None] += len(layer.drawn_slots)
            to_move["XO"[layer.ply % 2]] += len(layer.open_slots)
        assert won == reference.FINISHED_BY_WINNER
        assert to_move == reference.TO_BE_PLAYED_BY_SEAT

    def test_perft_matches_published_counts(self):
        games = [np.ones(1, np.int64)]
        for layer, after in zip(self.layers[:-1], self.layers[1:], strict=True):
            games.append(np.zeros(after.numbering.n_slots, np.int64))
            for moves in layer.moves():
                for row in moves.successors:
                    np.add.at(games[-1], row, games[-2][moves.slots])
        assert [int(ply.sum()) for ply in games] == reference.PERFT
        plies = zip(games, self.layers, strict=True)
        assert (
            sum(ply[layer.won_slots].sum() + ply[layer.drawn_slots].sum() for ply, layer in plies)
            == reference.GAMES
        )


def test_games_of_more_than_18_cells_are_refused():
    for game in map(get_game, ("mnk-v0", "qubic-v0", "mnk-v0:m=19,n=1,k=3")):
        assert not is_enumerable(game)
        with pytest.raises(GameTooLargeError, match=rf"{game.name}.* has \d+ cells.*18 cells are the limit"):
            reachable(game)
    assert all(is_enumerable(get_game(game)) for game in ("tictactoe-v0", "square-v0", "mnk-v0:m=6,n=3,k=3"))
