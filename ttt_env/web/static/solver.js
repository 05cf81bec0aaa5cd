// Softmax minimax of games of up to nine cells, computed where the page is: all positions, and one sweep over them from
// the ends to the start, as `ttt_env.analysis.induction` does it. 3×3 has 5,478 positions; a sweep takes about 1 ms.

import { isPlayable } from "./rules.js";

export const TIE = 1e-9; // values closer than this count as equal: they may differ by rounding alone

/**
 * All positions of a game, each before those that follow it, so the empty board is the first. A position has its
 * `ply`, its `moves` as [cell, number of the position after it], and at the end of a game `end`: 1, 0 or −1 for the
 * player to move. `game` has the number of `cells`, its winning `sets` as lists of cells, `misere` and `supports`.
 */
export function enumerate(game) {
  const { cells, sets, misere } = game;
  const masks = sets.map((set) => set.reduce((mask, cell) => mask | (1 << cell), 0));
  const numbers = new Map([[0, 0]]);
  const positions = [{ mine: 0, theirs: 0, ply: 0, moves: [], end: 0 }];
  for (const position of positions) { // to which it adds
    const { mine, theirs, ply, moves } = position;
    const hasCompleted = masks.some((mask) => (theirs & mask) === mask);
    if (hasCompleted) position.end = misere ? 1 : -1;
    for (let cell = 0; cell < cells && !hasCompleted; cell++) {
      if (!isPlayable(game, (each) => (mine | theirs) & (1 << each), cell)) continue;
      const after = { mine: theirs, theirs: mine | (1 << cell), ply: ply + 1, moves: [], end: 0 };
      const key = (after.mine << cells) | after.theirs;
      if (!numbers.has(key)) numbers.set(key, positions.push(after) - 1);
      moves.push([cell, numbers.get(key)]);
    }
  }
  return positions;
}

/** The number of the position after these moves from the empty board. */
export const numberAfter = (positions, cells) =>
  cells.reduce((at, cell) => positions[at].moves.find(([each]) => each === cell)[1], 0);

/** Probabilities proportional to exp(value / temperature); 0 is uniform among the best. */
export function softmax(values, temperature) {
  const highest = Math.max(...values);
  const weight = temperature === 0
    ? (value) => Number(value >= highest - TIE)
    : (value) => Math.exp(Math.min(value - highest + TIE, 0) / temperature);
  const weights = values.map(weight);
  const sum = weights.reduce((total, each) => total + each, 0);
  return weights.map((each) => each / sum);
}

/**
 * The probabilities that the player to move wins and loses, by position. `x` and `o` say how the seats move: functions
 * of the values of the moves and the number of the position, which give the chances of the moves in their order.
 */
export function induce(positions, x, o) {
  const win = new Float64Array(positions.length), loss = new Float64Array(positions.length);
  const outcomes = { win, loss };
  for (let number = positions.length - 1; number >= 0; number--) {
    const { moves, end, ply } = positions[number];
    if (!moves.length) {
      win[number] = Number(end > 0);
      loss[number] = Number(end < 0);
      continue;
    }
    (ply % 2 ? o : x)(valuesOfMoves(positions[number], outcomes), number).forEach((share, at) => {
      const after = moves[at][1]; // where the other one is to move
      win[number] += share * loss[after];
      loss[number] += share * win[after];
    });
  }
  return outcomes;
}

/** `induce` if X and O move by softmax at these temperatures. */
export const sweep = (positions, x, o) =>
  induce(positions, (values) => softmax(values, x), (values) => softmax(values, o));

/** The value of each move to the player who makes it, in the order of `moves`. */
export const valuesOfMoves = ({ moves }, { win, loss }) => moves.map(([, after]) => loss[after] - win[after]);
