// A game is data: a number of cells, winning sets, whether whoever completes one wins or (misère) loses, and for each cell
// the one that it rests on, or null.

/** @typedef {{id: string, cells: number, sets: number[][], misere: boolean, supports: (number | null)[]}} Game  as `ttt_env.web.data` writes it */

export const SEATS = ["X", "O"];
export const seatOf = (ply) => SEATS[ply % 2];
export const otherSeat = (seat) => (seat === "X" ? "O" : "X");

/** Whether a cell may be played while the game goes on: it is free, and what it rests on is not. */
export const isPlayable = ({ supports }, isTaken, cell) => !isTaken(cell) && (supports[cell] === null || isTaken(supports[cell]));

/**
 * The position after these moves: the stone of each cell ("X", "O" or ""), whose turn it is, and how the game has ended, if it has.
 * @param {Game} game
 * @param {number[]} moves
 */
export function positionAfter(game, moves) {
  const stones = Array(game.cells).fill("");
  moves.forEach((cell, ply) => (stones[cell] = seatOf(ply)));
  const ply = moves.length, mover = seatOf(ply), last = moves.at(-1);
  const completed = ply ? game.sets.filter((set) => set.includes(last) && set.every((cell) => stones[cell] === stones[last])) : [];
  const winner = completed.length ? (game.misere ? mover : otherSeat(mover)) : null;
  const isOver = winner !== null || ply === game.cells;
  const legal = isOver ? [] : [...stones.keys()].filter((cell) => isPlayable(game, (each) => stones[each], cell));
  return { stones, ply, mover, last, completed, winner, isOver, legal };
}

/** The moves before the first that is not legal. */
export function legalStart(game, moves) {
  const start = [];
  for (const cell of moves) {
    if (!positionAfter(game, start).legal.includes(cell)) break;
    start.push(cell);
  }
  return start;
}

/** A cell drawn by these chances, [cell, chance] each. */
export function drawnCell(chances, random = Math.random) {
  let rest = random() * chances.reduce((sum, [, chance]) => sum + chance, 0);
  const drawn = chances.find(([, chance]) => (rest -= chance) < 0) ?? chances.findLast(([, chance]) => chance > 0);
  return drawn[0];
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32, T. Ettinger). */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
