"""Boards of more than 64 cells, whose masks have several words: rules, searches and envs on them."""

import numpy as np
import pytest

import ttt_env
from tests.support import naive
from tests.support.games import random_game
from tests.support.marks import slow
from tests.support.naive_uct import NaiveSearch
from tests.support.refusals import all_raise
from ttt_env import Boards, Game, Position
from ttt_env.agents.mcts import MCTS
from ttt_env.agents.mcts.search import Search
from ttt_env.compiled import sets
from ttt_env.rules.boards import as_masks, bit_counts, packed
from ttt_env.rules.game import cells_of

CUBE = Game("cube", (5, 5, 5), naive.lines((5, 5, 5), 4))
JUST_ABOVE = Game("just above", (5, 13), [(0, 64), (63, 64, 1), (12, 13)])
FIFTEEN = ttt_env.get_game("mnk-v0:m=15,n=15,k=5")
GAMES = {
    "65": JUST_ABOVE,
    "8x9": ttt_env.get_game("mnk-v0:m=8,n=9,k=4"),
    "10x10": ttt_env.get_game("mnk-v0:m=10,n=10,k=5"),
    "cube": CUBE,
    "15x15": FIFTEEN,
    "19x19": ttt_env.get_game("mnk-v0:m=19,n=19,k=5"),
    "20x20": ttt_env.get_game("mnk-v0:m=20,n=20,k=5"),
}
on_all = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


def a_game(game, seed):
    return random_game(game, np.random.default_rng(seed))


# --- The rules --------------------------------------------------------------------------------------------


@on_all
def test_batches_play_by_the_rules(game):
    twin = naive.twin(game)
    positions, board = a_game(game, 0), "." * game.n_cells
    boards = Boards.of(positions)
    for number, position in enumerate(positions):
        assert naive.masks(board) == (position.mine, position.theirs)
        assert boards[number] == position and boards.ply[number] == number
        assert np.flatnonzero(boards.legal[number]).tolist() == twin.moves(board) == position.legal_cells
        assert boards.is_won[number] == (twin.winner(board) is not None)
        assert boards.is_over[number] == (not twin.moves(board))
        if number + 1 < len(positions):
            (cell,) = cells_of(positions[number + 1].occupied_mask ^ position.occupied_mask)
            board = naive.play(board, cell)
            assert boards[number : number + 1].play(np.array([cell]))[0] == positions[number + 1]
    assert list(Boards.joined(game, [boards[:3], boards[3:]])) == positions == list(boards)
    assert list(Boards.start(game, 2)) == [game.start] * 2 and len(Boards.joined(game, [])) == 0
    assert boards.planes.sum(axis=(1, 2, *range(3, 2 + len(game.shape)))).ravel().sum() == boards.ply.sum()


@on_all
def test_masks_of_several_words(game):
    rng = np.random.default_rng(0)
    cells = rng.random((20, game.n_cells)) < 0.5
    masks = packed(game, cells)
    ints = [sum(1 << int(cell) for cell in np.flatnonzero(row)) for row in cells]
    np.testing.assert_array_equal(masks, as_masks(ints, game))
    assert bit_counts(game, masks).tolist() == [mask.bit_count() for mask in ints]
    np.testing.assert_array_equal(Boards(game, masks, masks).cells(masks), cells)


@on_all
def test_what_compiled_code_reads_is_the_game(game):
    arrays = sets.winning_sets(game)
    masks = [int.from_bytes(mask.tobytes(), "little") for mask in arrays.masks]
    through = [int.from_bytes(mask.tobytes(), "little") for mask in arrays.through]
    assert (
        masks == list(game.winning_masks)
        and int.from_bytes(arrays.full.tobytes(), "little") == game.full_mask
    )
    for cell, expected in enumerate(game.winning_masks_through):
        assert through[arrays.first[cell] : arrays.first[cell + 1]] == list(expected)


# --- The searches -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ply", "settings"),
    [
        ("10x10", 0, {"c": 0.7}),
        ("cube", -6, {"solve": True}),
        ("8x9", 9, {"playout": "win-block", "draw": 0.4}),
        slow("15x15", 12, {}),
        slow("19x19", 12, {}),
    ],
)
def test_mcts_is_the_naive_search(name, ply, settings):
    game, position = GAMES[name], a_game(GAMES[name], 1)[ply]
    search = Search(position, seed=3, **settings)
    twin = NaiveSearch(game, cells_of(position.mine), cells_of(position.theirs), seed=3, **settings)
    search.run(120)
    twin.run(120)
    visits, wins = np.zeros(game.n_cells), np.zeros(game.n_cells)
    for child in twin.root.children:
        visits[child.cell], wins[child.cell] = child.visits, child.wins
    np.testing.assert_array_equal(search.visits, visits)
    np.testing.assert_array_equal(search.wins, wins)
    assert search.iterations == twin.root.visits and search.value == (
        None if twin.root.value is None else -twin.root.value
    )


def test_a_search_goes_on_after_a_move():
    search = Search(FIFTEEN.start, seed=0)
    search.run(600)
    cell, reply = search.best_cells()[0], 0
    child = next(node for node in search.tree(1).children if node.cell == cell)
    search.advance(cell)
    assert search.iterations == child.visits > 0 and search.position == FIFTEEN.start.play(cell)
    assert search.visits.sum() in (search.iterations, search.iterations - 1)  # less the one that made it
    search.advance(reply if reply != cell else 1)
    assert search.position.ply == 2


@pytest.mark.parametrize("depth", [1, slow(2)])
def test_minimax_is_naive_recursion(depth):
    position = a_game(GAMES["8x9"], 2)[12]

    def value(position, depth):
        if position.is_over:
            return -1.0 if position.is_won else 0.0
        if depth == 0:
            threats = [
                sum(
                    not mask & other and (mask & ~own).bit_count() == 1
                    for mask in position.game.winning_masks
                )
                for own, other in ((position.mine, position.theirs), (position.theirs, position.mine))
            ]
            return max(-0.99, min(0.99, 0.2 * (threats[0] - threats[1])))
        return max(-value(position.child(cell), depth - 1) for cell in position.legal_cells)

    values = {cell: -value(position.child(cell), depth - 1) for cell in position.legal_cells}
    best = [cell for cell, worth in values.items() if worth == pytest.approx(max(values.values()))]
    policy = ttt_env.make_agent(f"minimax:depth={depth}", position.game).policy(position)
    assert np.flatnonzero(policy).tolist() == best


# --- Threats first ----------------------------------------------------------------------------------------


def position_of(mine, theirs):
    masks = (sum(1 << cell for cell in cells) for cells in (mine, theirs))
    return Position(FIFTEEN, *masks).checked()


def at(row, column):
    return 15 * row + column


def test_threats_first_completes_and_blocks_at_once():
    four, three = [at(7, c) for c in range(3, 7)], [at(0, 0), at(2, 5), at(12, 1)]
    for simulations in (1, 300):
        agent = MCTS(FIFTEEN, simulations, seed=0, threats=True)
        own = agent.policy(position_of(four, [*three, at(14, 14)]))
        assert set(np.flatnonzero(own)) <= {at(7, 2), at(7, 7)}
        closed = position_of([at(7, 2), *three], four)
        assert agent.policy(closed)[at(7, 7)] == 1


def test_threats_first_finds_a_sequence_that_plain_search_does_not():
    """Two threats that cross: each alone is parried, together they leave two cells to complete."""
    x = [at(7, 3), at(7, 4), at(7, 5), at(3, 6), at(4, 6), at(5, 6)]
    o = [at(7, 2), at(2, 6), at(0, 14), at(14, 0), at(14, 14), at(0, 0)]
    position = position_of(x, o)
    found = Search(position, threats=True)
    found.run(10)
    assert found.value == 1 and found.best_cells() == [at(7, 6)]
    plain = Search(position)
    plain.run(10)
    assert plain.value is None


def test_moves_that_do_not_stop_an_open_three_are_proved_lost():
    three, x = [at(7, 6), at(7, 7), at(7, 8)], [at(0, 0), at(14, 3), at(2, 12)]
    search = Search(position_of(x, three), threats=True, seed=1)
    search.run(1500)
    holds = {at(7, 5), at(7, 9)}
    assert set(search.best_cells()) <= holds
    assert set(np.flatnonzero(search.values == -1)) == set(search.position.legal_cells) - holds


def test_a_search_with_threats_depends_on_seed_and_position_alone():
    positions = a_game(FIFTEEN, 3)[4:16:3]
    agent, again = (MCTS(FIFTEEN, 200, seed=5, threats=True) for _ in range(2))
    policies = [agent.policy(position) for position in positions]
    for position, policy in zip(reversed(positions), reversed(policies), strict=True):
        np.testing.assert_array_equal(again.policy(position), policy)


def test_a_tree_that_is_kept_has_a_move_for_positions_that_threats_have_decided():
    x = [at(7, 3), at(7, 4), at(7, 5), at(3, 6), at(4, 6), at(5, 6)]
    o = [at(7, 2), at(2, 6), at(0, 14), at(14, 0), at(14, 14)]
    search = Search(position_of(o, x), threats=True)
    search.run(800)
    search.advance(at(12, 12))
    assert search.is_proved is False or search.best_cells()
    search.run(50)
    assert search.value == 1 and search.best_cells() == [at(7, 6)]


@pytest.mark.slow
def test_threats_on_small_boards_are_without_danger():
    """On 3×3 threats first is proved unbeatable by what it plays, as plain search of as many simulations."""
    assert ttt_env.certify("mcts:simulations=300,seed=0,threats=true").unbeatable
    misere = ttt_env.get_game("tictactoe-v0:misere=true")
    plain, threats = (
        ttt_env.make_agent(f"mcts:simulations=50,seed=0{more}", misere) for more in ("", ",threats=true")
    )
    np.testing.assert_array_equal(plain.policy(misere.start), threats.policy(misere.start))


def test_threats_are_yes_or_no():
    with pytest.raises(ttt_env.errors.ParameterError, match="threats=2 of mcts: True and False"):
        MCTS(FIFTEEN, threats=2)


# --- Envs and agents --------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["random", "rules:win+block+fork+block-fork", "weights", "newell-simon"])
def test_agents_play_large_boards(spec):
    agent, positions = ttt_env.make_agent(spec, FIFTEEN), a_game(FIFTEEN, 4)[0:60:24]
    policies = agent.policies(Boards.of(positions))
    for position, policy in zip(positions, policies, strict=True):
        assert policy.sum() == pytest.approx(1) and set(np.flatnonzero(policy)) <= set(position.legal_cells)
        np.testing.assert_array_equal(agent.policy(position), policy)


def test_a_match_on_a_large_board_is_sampled():
    match = ttt_env.match("win-block", "random", "mnk-v0:m=10,n=10,k=5", games=4, rng=0)
    assert not match.exact and match.games == 4 and match.score > 0


def test_what_is_exact_or_a_network_is_refused_by_name():
    asked = [
        lambda: ttt_env.solve(FIFTEEN),
        lambda: ttt_env.prove(FIFTEEN),
        lambda: ttt_env.certify("random", FIFTEEN),
        lambda: ttt_env.exploitability("random", FIFTEEN),
        lambda: ttt_env.make_agent("minimax", FIFTEEN),
        lambda: ttt_env.make_agent("softmax", FIFTEEN),
        lambda: ttt_env.make_agent("alphazero", FIFTEEN),
        lambda: ttt_env.make_agent("value-network", FIFTEEN),
        lambda: ttt_env.make_agent("mcts:evaluate=value-network", FIFTEEN),
        lambda: ttt_env.match("win-block", "random", FIFTEEN, exact=True),
    ]
    all_raise(ttt_env.errors.GameTooLargeError, "225 cells", lambda ask: ask(), asked)
