"""Compiled functions shared by several searches, against plain Python."""

import numpy as np
import pytest

import ttt_env
from tests.support.games import random_positions
from tests.support.marks import slow
from tests.support.naive_puct import completing, wins_by_threats
from tests.support.naive_uct import SplitMix64
from ttt_env.compiled import bits, threats
from ttt_env.compiled import canonical as questions
from ttt_env.compiled import random_numbers as splitmix
from ttt_env.compiled.compiler import compiled
from ttt_env.compiled.sets import winning_sets
from ttt_env.rules.game import cells_of
from ttt_env.rules.symmetry import canonical, motions, symmetries, transform

SMALL = ["mnk-v0:m=5,n=4,k=3", "mnk-v0:m=5,n=5,k=4", "tictactoe-v0:misere=true"]
LARGEST = "mnk-v0:m=8,n=8,k=5"
THREAT_CASES = pytest.mark.parametrize(
    ("name", "n"), [(SMALL[0], 300), slow(SMALL[1], 300), slow(LARGEST, 40)]
)
EVERY_GAME = pytest.mark.parametrize("name", [*SMALL, LARGEST])


def positions_of(name, n):
    return random_positions(ttt_env.get_game(name), n)


def pairs_of(positions):
    """The masks of both players, position by position, as compiled code takes them."""
    return np.array([mask for p in positions for mask in (p.mine, p.theirs)], np.uint64)


@compiled
def read_cells(pairs, sizes, lowest, cells):
    for number in range(len(pairs)):
        mask = pairs[number]
        sizes[number] = bits.size(mask)
        lowest[number] = bits.lowest(mask)
        for n in range(sizes[number]):
            cells[number, n] = bits.nth_cell(mask, n)


@EVERY_GAME
def test_mask_cells_match_plain_python(name):
    positions = positions_of(name, 50)
    pairs, n_cells = pairs_of(positions), positions[0].game.n_cells
    sizes, cells, lowest = np.zeros(len(pairs), int), np.full((len(pairs), n_cells), -1), np.zeros_like(pairs)
    read_cells(pairs, sizes, lowest, cells)
    for number, mask in enumerate(mask for p in positions for mask in (p.mine, p.theirs)):
        expected = cells_of(mask)
        assert sizes[number] == len(expected)
        assert cells[number, : sizes[number]].tolist() == expected
        assert int(lowest[number]) == mask & -mask


@compiled
def read_sets(pairs, sets, written, completes):
    for number in range(len(pairs) // 2):
        mine, theirs = pairs[2 * number], pairs[2 * number + 1]
        written[number] = bits.completing(mine, theirs, sets.masks)
        for cell in range(completes.shape[1]):
            completes[number, cell] = bits.completes(sets, mine | bits.stone(cell), cell)


@EVERY_GAME
def test_set_completions_match_plain_python(name):
    positions = positions_of(name, 100)
    game = positions[0].game
    written = np.zeros(len(positions), np.uint64)
    completes = np.zeros((len(positions), game.n_cells), np.bool_)
    read_sets(pairs_of(positions), winning_sets(game), written, completes)
    for position, mask, row in zip(positions, written.tolist(), completes, strict=True):
        assert cells_of(mask) == completing(position)
        for cell in range(game.n_cells):
            stones = position.mine | 1 << cell
            assert row[cell] == any(w & stones == w for w in game.winning_masks if w >> cell & 1)
    assert completes.any() and not completes.all()


@compiled
def three_draws(random):
    return splitmix.next_bits(random), splitmix.next_bits(random), splitmix.next_bits(random)


@compiled
def draw(random, n):
    return splitmix.next_bits(random), splitmix.draw_below(random, n), splitmix.draw_share(random)


def test_random_numbers_match_splitmix64():
    # The first outputs of the reference program for the seed 1234567.
    random = np.array([1234567], np.uint64)
    assert three_draws(random) == (6457827717110365317, 3203168211198807973, 9817491932198370423)
    for seed in (0, 1, 2**64 - 1):
        random, plain = np.array([seed], np.uint64), SplitMix64(seed)
        for n in (1, 2, 7, 64):
            expected = plain.bits(), plain.pick(range(n)), (plain.bits() >> 11) / 2**53
            assert draw(random, n) == expected


@compiled
def try_threats(pairs, sets, room, wins, n_nodes):
    for number in range(len(wins)):
        mine, theirs = pairs[2 * number], pairs[2 * number + 1]
        block = bits.completing(theirs, mine, sets.masks)
        if not bits.is_several(block):
            room.failed_keys[:] = 0
            wins[number] = threats.wins_by_threats(mine, theirs, block, sets, room, n_nodes)


@THREAT_CASES
def test_threat_wins_match_naive_search(name, n):
    positions = [position for position in positions_of(name, n) if not completing(position)]
    game, wins = positions[0].game, np.zeros(len(positions), np.bool_)
    arguments = pairs_of(positions), winning_sets(game), threats.new_threats(game), wins
    try_threats(*arguments, 100_000)
    assert wins.tolist() == [wins_by_threats(position) for position in positions]
    assert wins.any() and not wins.all()
    try_threats(*arguments, 0)  # No threat may be tried.
    assert not wins.any()


@compiled
def search_each(pairs, cells, sets, room, values, blocks):
    for number in range(len(cells)):
        mine, theirs = pairs[2 * number], pairs[2 * number + 1]
        room.failed_keys[:] = 0
        found = threats.search_threats(mine, theirs, cells[number], sets, room, 100_000)
        values[number] = found[0]
        blocks[number] = found[1]


@THREAT_CASES
def test_search_threats_values_match_naive_search(name, n):
    rng = np.random.default_rng(1)
    before = [position for position in positions_of(name, n) if not completing(position)]
    moves = [(position, int(rng.choice(position.legal_cells))) for position in before]
    moves = [(position.child(cell), cell) for position, cell in moves if not position.child(cell).is_over]
    positions, cells = zip(*moves, strict=True)
    game, values = positions[0].game, np.zeros(len(positions), int)
    blocks = np.zeros(len(positions), np.uint64)
    search_each(
        pairs_of(positions), np.array(cells), winning_sets(game), threats.new_threats(game), values, blocks
    )
    for position, value, block in zip(positions, values, blocks.tolist(), strict=True):
        expected = completing(position, theirs=True)
        assert cells_of(block) == expected
        if completing(position):
            assert value == threats.LOSS
        elif len(expected) > 1:
            assert value == threats.WIN
        else:
            assert value == (threats.LOSS if wins_by_threats(position) else threats.UNKNOWN)
    rare = set() if name == LARGEST else {threats.WIN}
    assert {threats.LOSS, threats.UNKNOWN} | rare == set(values)


def test_search_without_memory_depends_only_on_position():
    positions = [position for position in positions_of(SMALL[1], 300) if not completing(position)]
    game, wins, again = positions[0].game, *np.zeros((2, len(positions)), np.bool_)
    room = threats.new_threats(game, remembers=False)
    assert not len(room.failed_keys)
    try_threats(pairs_of(positions), winning_sets(game), room, wins, 100)
    try_threats(pairs_of(positions[::-1]), winning_sets(game), room, again, 100)
    assert wins.tolist() == again[::-1].tolist()
    assert wins.any() and not wins.all()


@pytest.mark.parametrize("name", ["tictactoe-v0", "mnk-v0:m=5,n=4,k=4", "qubic-v0"])
def test_least_image_is_canonical(name):
    positions = positions_of(name, 40)
    game = positions[0].game
    images, numbers = questions.merge(pairs_of(positions).reshape(-1, 2), motions(game).astype(np.uint8))
    for position, image, number in zip(positions, images.tolist(), numbers.tolist(), strict=True):
        least = canonical(position)
        assert image == [least.mine, least.theirs]
        leads = [transform(position, symmetry) == least for symmetry in symmetries(game)]
        assert leads.index(True) == number
    assert numbers.any()


@compiled
def weigh_each(pairs, sets, weights, totals, heaviest):
    for number in range(len(totals)):
        mine, theirs = pairs[2 * number], pairs[2 * number + 1]
        totals[number] = questions.weigh(mine, theirs, sets.masks, weights[number])
        free = sets.full ^ (mine | theirs)
        heaviest[number] = questions.heaviest(free, weights[number])


@EVERY_GAME
def test_move_weights_match_plain_python(name):
    positions = positions_of(name, 100)
    game = positions[0].game
    weights, totals = np.zeros((100, game.n_cells), np.int64), np.zeros(100, np.int64)
    heaviest = np.zeros(100, np.uint64)
    weigh_each(pairs_of(positions), winning_sets(game), weights, totals, heaviest)
    for number, position in enumerate(positions):
        expected, total = [0] * game.n_cells, 0
        for mask in game.winning_masks:
            rest = cells_of(mask & ~position.mine)
            if not mask & position.theirs:
                total += 2 ** (40 - len(rest))
                for cell in rest:
                    expected[cell] += 2 ** (40 - len(rest))
        assert weights[number].tolist() == expected and totals[number] == total
        best = max(position.legal_cells, key=lambda cell: expected[cell])  # The first of equal cells.
        assert int(heaviest[number]) == 1 << best
