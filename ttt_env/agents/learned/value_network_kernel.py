"""The value network's games and learning, compiled: one game at a time, then all its positions."""

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import completes, completion_value, nth_cell, playable, size, stone
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.random_numbers import Random, draw_below
from ttt_env.compiled.sets import WinningSets


class NetworkLayers(NamedTuple):
    """A network of tanh units in flat arrays: with an array for each layer, learning took twice as long.

    `sizes` are the inputs and the units of each layer. `numbers` has every unit's weights and then its bias,
    layer after layer; `signals` the inputs and then each unit's output; `errors` the derivatives by them.
    """

    sizes: NDArray[np.int64]
    numbers: NDArray[np.float64]
    signals: NDArray[np.float64]
    errors: NDArray[np.float64]


class BoardView(NamedTuple):
    """The network's view of the board, with the arrays for one game.

    The input of an empty cell is `empty`. Stones and the output are seen from the side of the player who has
    just moved (`of_mover`) or of X; in a network with one input more than cells, that input says who has just
    moved. `sums` are the weighted sums of the first layer for a position; `masks` `[cells, 2]` are the stones
    after each ply of the last game, of the player who moved and of the other.
    """

    of_mover: bool
    empty: float
    sums: NDArray[np.float64]
    masks: NDArray[np.uint64]


@inner
def tanh(x: float) -> float:
    """The same as `math.tanh` up to rounding, in 60 % of its time."""
    return 1.0 - 2.0 / (exp(2.0 * x) + 1.0)


@compiled
def play_and_learn(
    net: NetworkLayers,
    board: BoardView,
    sets: WinningSets,
    random: Random,
    cycle: NDArray[np.bool_],
    rate: float,
    good: NDArray[np.bool_],
) -> int:
    """Play `len(good)` games and learn from each; `cycle` `[n, 2]`, repeated, says which seats it has.

    Sets in `good` which games went well: draws of the network with itself, wins over the random player.
    Returns the number of moves.
    """
    moves = 0
    for number in range(len(good)):
        is_net = cycle[number % len(cycle)]
        n_plies, value = play_game(net, board, sets, random, is_net)
        moves += n_plies
        learn_game(net, board, rate, n_plies, value)
        if is_net[0] and is_net[1]:
            good[number] = value == 0
        else:
            good[number] = value != 0 and is_net[(n_plies - 1) % 2] == (value > 0)
    return moves


@inner
def play_game(
    net: NetworkLayers, board: BoardView, sets: WinningSets, random: Random, is_net: NDArray[np.bool_]
) -> tuple[int, int]:
    """Play a game, each seat by the network or at random. Returns its plies and the last mover's result."""
    mine, theirs = np.uint64(0), np.uint64(0)
    for ply in range(len(board.masks)):
        free = playable(sets, mine | theirs)
        if is_net[ply % 2]:
            cell = best_cell(net, board, random, mine, theirs, free, ply)
        else:
            cell = int(np.int64(nth_cell(free, draw_below(random, size(free)))))  # not a uint64
        mine, theirs = theirs, mine | stone(cell)
        board.masks[ply, 0], board.masks[ply, 1] = theirs, mine
        if completes(sets, theirs, cell):
            return ply + 1, completion_value(sets)
    return len(board.masks), 0


@inner
def best_cell(
    net: NetworkLayers,
    board: BoardView,
    random: Random,
    mine: np.uint64,
    theirs: np.uint64,
    free: np.uint64,
    ply: int,
) -> int:
    """The cell of `free` after which the position has the largest value, uniformly among equals."""
    own = encode_position(net, board, mine, theirs, ply)
    add_up_first(net, board.sums)
    best, n_best, drawn_cell = -np.inf, 0, -1
    for cell in range(len(board.masks)):
        if not free & stone(cell):
            continue
        value = own * value_with(net, board.sums, cell, own - board.empty)
        if value > best:
            best, n_best = value, 0
        if value == best:
            n_best += 1
            if n_best == 1 or draw_below(random, n_best) == 0:
                drawn_cell = cell
    return drawn_cell


@inner
def encode_position(
    net: NetworkLayers, board: BoardView, mine: np.uint64, theirs: np.uint64, ply: int
) -> float:
    """Set the inputs for the stones of who moves at `ply` and of the other; return that of an own stone."""
    n_cells, inputs = len(board.masks), net.signals
    own = 1.0 if board.of_mover or ply % 2 == 0 else -1.0
    for cell in range(n_cells):
        is_own, is_other = mine & stone(cell), theirs & stone(cell)
        inputs[cell] = own if is_own else -own if is_other else board.empty
    if net.sizes[0] > n_cells:
        inputs[n_cells] = own
    return own


@inner
def add_up_first(net: NetworkLayers, sums: NDArray[np.float64]) -> None:
    """The weighted sums of the first layer."""
    n_inputs, numbers, signals = net.sizes[0], net.numbers, net.signals
    for unit in range(len(sums)):
        at = unit * (n_inputs + 1)
        total = numbers[at + n_inputs]
        for j in range(n_inputs):
            total += numbers[at + j] * signals[j]
        sums[unit] = total


@inner
def value_with(net: NetworkLayers, sums: NDArray[np.float64], cell: int, change: float) -> float:
    """The network's output if the input of `cell` differs by `change` from that in the first `sums`."""
    n_inputs, numbers, signals = net.sizes[0], net.numbers, net.signals
    for unit in range(len(sums)):
        signals[n_inputs + unit] = tanh(sums[unit] + change * numbers[unit * (n_inputs + 1) + cell])
    return forward(net, 1)


@inner
def forward(net: NetworkLayers, first: int) -> float:
    """The network's output, given the signals that go into layer `first`, 0 or 1."""
    sizes, numbers, signals = net.sizes, net.numbers, net.signals
    before, at = first * sizes[0], first * sizes[1] * (sizes[0] + 1)
    for layer in range(first, len(sizes) - 1):
        n_inputs = sizes[layer]
        after = before + n_inputs
        for unit in range(sizes[layer + 1]):
            total = numbers[at + n_inputs]
            for j in range(n_inputs):
                total += numbers[at + j] * signals[before + j]
            signals[after + unit] = tanh(total)
            at += n_inputs + 1
        before = after
    return float(signals[before])


@inner
def learn_game(net: NetworkLayers, board: BoardView, rate: float, n_plies: int, value: int) -> None:
    """Learn the positions of the last game, in order; `value` is the result for who moved last."""
    for ply in range(n_plies):
        own = encode_position(net, board, board.masks[ply, 0], board.masks[ply, 1], ply)
        output = forward(net, 0)
        descend(net, rate, output - own * (value if (n_plies - ply) % 2 else -value))


@inner
def descend(net: NetworkLayers, rate: float, error: float) -> None:
    """One step down the gradient of half the squared error of the output, backwards through the layers."""
    sizes, numbers, signals, errors = net.sizes, net.numbers, net.signals, net.errors
    after, at = len(signals) - 1, len(numbers)
    errors[after] = error
    for layer in range(len(sizes) - 2, -1, -1):
        n_inputs = sizes[layer]
        before = after - n_inputs
        for unit in range(before, after):
            errors[unit] = 0.0
        for unit in range(after + sizes[layer + 1] - 1, after - 1, -1):
            at -= n_inputs + 1
            slope = errors[unit] * (1.0 - signals[unit] * signals[unit])
            for j in range(n_inputs):
                errors[before + j] += slope * numbers[at + j]
                numbers[at + j] -= rate * slope * signals[before + j]
            numbers[at + n_inputs] -= rate * slope
        after = before
