"""A residual network with a policy and a value head, compiled: one position after the other.

Every sum is made in one order, whatever else is in the batch, so that a position has the same priors and
value in every batch, and on every machine up to `exp` and `tanh`.
"""

from math import exp, tanh
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, stone
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.rules import Masks

Weights = NDArray[np.float32]
ZERO = np.float32(0.0)
_AT_ONCE = 4
N_PLANES = 3  # of a cell: stones of the player to move, stones of the opponent, empty cells


class ResidualWeights(NamedTuple):
    """The weights of a network of `C` channels on `T` places.

    Each place `sees` `[T, taps]` cells of the board, −1 for none; in the `2·B` layers of the residual blocks
    it has `neighbours` `[T, taps]` among the places. A convolution has a place for each cell; a dense network
    has one place, which sees all cells. `first` is `[taps, 3, C]`, `blocks` `[2·B, taps·C, C]`, the heads
    reduce each place to `F` numbers (`policy_filter` and `value_filter`, `[C, F]`) before their dense layers
    `policy` `[T·F, cells]`, `hidden` `[T·F, H]` and `value` `[H]`. Each layer has its biases.
    """

    sees: NDArray[np.int64]
    neighbours: NDArray[np.int64]
    first: Weights
    first_bias: Weights
    blocks: Weights
    block_biases: Weights
    policy_filter: Weights
    policy_filter_bias: Weights
    policy: Weights
    policy_bias: Weights
    value_filter: Weights
    value_filter_bias: Weights
    hidden: Weights
    hidden_bias: Weights
    value: Weights
    value_bias: Weights


class Memory(NamedTuple):
    """The outputs of the layers: the signals of all places, the inputs that are not 0, the heads' numbers."""

    signals: Weights
    inside: Weights
    added: Weights
    active: Weights
    rows: NDArray[np.uint32]
    policy: Weights
    value: Weights
    logits: Weights
    units: Weights


@compiled
def evaluate(net: ResidualWeights, boards: Masks, priors: Weights, values: Weights) -> None:
    """Write the move probabilities and the values for the player to move of open positions, `[B, 2]`."""
    n_places, n_channels = len(net.sees), len(net.first_bias)
    n_inputs = max(
        net.blocks.shape[1], n_places * max(len(net.policy_filter_bias), len(net.value_filter_bias))
    )
    memory = Memory(
        np.empty((n_places, n_channels), np.float32),
        np.empty((n_places, n_channels), np.float32),
        np.empty((n_places, n_channels), np.float32),
        np.empty(n_inputs + _AT_ONCE, np.float32),
        np.empty(n_inputs + _AT_ONCE, np.uint32),
        np.empty((n_places, len(net.policy_filter_bias)), np.float32),
        np.empty((n_places, len(net.value_filter_bias)), np.float32),
        np.empty(len(net.policy_bias), np.float32),
        np.empty(len(net.hidden_bias), np.float32),
    )
    for row in range(len(boards)):
        first_layer(net, boards[row, 0], boards[row, 1], memory.signals)
        for layer in range(0, len(net.blocks), 2):
            convolve(net, memory, memory.signals, layer, memory.inside)
            convolve(net, memory, memory.inside, layer + 1, memory.added)
            add(memory.signals, memory.added)
        judge(net, memory, boards[row, 0] | boards[row, 1], priors, row)
        values[row] = value_of(net, memory)


# The functions below take whole arrays and indices into them. A view of a part, made for each row of weights,
# would take most of the time: numba counts the references to it.


@inner
def first_layer(net: ResidualWeights, mine: np.uint64, theirs: np.uint64, signals: Weights) -> None:
    """Compute the signals after the first layer, whose inputs are three planes of zeros and ones."""
    n_channels = signals.shape[1]
    for place in range(len(signals)):
        for channel in range(n_channels):
            signals[place, channel] = net.first_bias[channel]
        for tap in range(net.sees.shape[1]):
            cell = net.sees[place, tap]
            if cell < 0:
                continue
            plane = 0 if mine & stone(cell) != NONE else 1 if theirs & stone(cell) != NONE else 2
            for channel in range(n_channels):
                signals[place, channel] += net.first[tap, plane, channel]
        for channel in range(n_channels):
            signals[place, channel] = max(signals[place, channel], ZERO)


@inner
def convolve(net: ResidualWeights, memory: Memory, signals: Weights, layer: int, out: Weights) -> None:
    """Compute a layer of a block; the first one of the two is rectified.

    Inputs of 0, half of them, are omitted. Four of the others are added at a time, so that each sum is read
    and written once for all four.
    """
    active, rows, n_channels = memory.active, memory.rows, out.shape[1]
    for place in range(len(out)):
        n = 0
        for tap in range(net.neighbours.shape[1]):
            neighbour = net.neighbours[place, tap]
            if neighbour < 0:
                continue
            for channel in range(n_channels):
                signal = signals[neighbour, channel]
                active[n], rows[n] = signal, tap * n_channels + channel
                n += signal != ZERO
        for number in range(n_channels):
            out[place, number] = net.block_biases[layer, number]
        fill_up(active, rows, n)
        for i in range(0, n, _AT_ONCE):
            a, b, c, d = active[i], active[i + 1], active[i + 2], active[i + 3]
            r, s, t, u = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            for number in range(n_channels):
                out[place, number] += (
                    a * net.blocks[layer, r, number] + b * net.blocks[layer, s, number]
                ) + (c * net.blocks[layer, t, number] + d * net.blocks[layer, u, number])
        if layer % 2 == 0:
            for number in range(n_channels):
                out[place, number] = max(out[place, number], ZERO)


@inner
def fill_up(active: Weights, rows: NDArray[np.uint32], n: int) -> None:
    """Add inputs of 0 to `n` inputs, up to the next multiple of four."""
    for i in range(n, n + _AT_ONCE - 1):
        active[i], rows[i] = ZERO, 0


@inner
def add(signals: Weights, added: Weights) -> None:
    """Add the output of a block to its input, rectified."""
    for place in range(signals.shape[0]):
        for channel in range(signals.shape[1]):
            signals[place, channel] = max(signals[place, channel] + added[place, channel], ZERO)


@inner
def reduce_places(signals: Weights, weights: Weights, bias: Weights, out: Weights) -> None:
    """Reduce each place to a few numbers, rectified."""
    for place in range(out.shape[0]):
        for number in range(out.shape[1]):
            total = bias[number]
            for channel in range(signals.shape[1]):
                total += signals[place, channel] * weights[channel, number]
            out[place, number] = max(total, ZERO)


@inner
def dense(signals: Weights, weights: Weights, bias: Weights, out: Weights) -> None:
    """Compute the weighted sums of a dense layer, whose inputs are the numbers of all places."""
    for unit in range(len(out)):
        out[unit] = bias[unit]
    for place in range(signals.shape[0]):
        for number in range(signals.shape[1]):
            signal, row = signals[place, number], place * signals.shape[1] + number
            for unit in range(len(out)):
                out[unit] += signal * weights[row, unit]


@inner
def judge(net: ResidualWeights, memory: Memory, occupied: np.uint64, priors: Weights, row: int) -> None:
    """Write the move probabilities: the softmax over the free cells, 0 on the others."""
    reduce_places(memory.signals, net.policy_filter, net.policy_filter_bias, memory.policy)
    dense(memory.policy, net.policy, net.policy_bias, memory.logits)
    largest, total = -np.inf, 0.0
    for cell in range(len(memory.logits)):
        if occupied & stone(cell) == NONE:
            largest = max(largest, memory.logits[cell])
    for cell in range(len(memory.logits)):
        chance = exp(memory.logits[cell] - largest) if occupied & stone(cell) == NONE else 0.0
        priors[row, cell] = chance
        total += chance
    for cell in range(len(memory.logits)):
        priors[row, cell] /= total


@inner
def value_of(net: ResidualWeights, memory: Memory) -> float:
    """The value for the player to move, inside [−1, 1]."""
    reduce_places(memory.signals, net.value_filter, net.value_filter_bias, memory.value)
    dense(memory.value, net.hidden, net.hidden_bias, memory.units)
    total = float(net.value_bias[0])
    for unit in range(len(memory.units)):
        total += max(memory.units[unit], ZERO) * net.value[unit]
    return tanh(total)
