// How agents move, from facts small enough for a page: a table of their policy, with symmetric positions merged, or the
// temperatures of softmax minimax. `ttt_env.web.data` writes them.

import { induce, softmax, sweep, valuesOfMoves } from "./solver.js";

/**
 * @typedef {{mine: number, theirs: number, ply: number, moves: [number, number][], end: number}} Position
 * @typedef {{cells: number, sets: number[][], misere: boolean, symmetries: number[][]}} Game
 * @typedef {number[][]} Policy  the chances of the moves, in their order, by number of the position
 */

const BASE = 32; // of the numbers in a table

const moved = (mask, symmetry) => symmetry.reduce((image, to, cell) => image | (((mask >> cell) & 1) << to), 0);

/** The base-3 code of a board: X 1, O 0, empty 2, cell i with weight 3^i. @returns {number} */
function codeOf(mine, theirs, ply, cells) {
  const x = ply % 2 ? theirs : mine;
  let code = 0;
  for (let cell = cells - 1; cell >= 0; cell--) {
    code = 3 * code + (((mine | theirs) >> cell) & 1 ? (x >> cell) & 1 : 2);
  }
  return code;
}

/** The least masks of all images of a position under these symmetries, and the symmetry that leads there. */
export function leastImage({ mine, theirs }, symmetries) {
  let least = null;
  for (const symmetry of symmetries) {
    const image = [moved(mine, symmetry), moved(theirs, symmetry)];
    if (!least || image[0] < least.mine || (image[0] === least.mine && image[1] < least.theirs)) {
      least = { mine: image[0], theirs: image[1], symmetry };
    }
  }
  return least;
}

/** The code of the position in a table, and the symmetry that leads there. */
function entryOf(position, { cells, symmetries }, isMerged) {
  const open = isMerged ? symmetries : symmetries.slice(0, 1); // the first one moves nothing
  const { mine, theirs, symmetry } = leastImage(position, open);
  return { code: codeOf(mine, theirs, position.ply, cells), symmetry };
}

/** @param {Position[]} positions @param {Game} game @returns {Policy} of a table, whose rows ascend by code */
function policyOfTable(positions, game, { merged, shares, digits, rows }) {
  const entries = positions.map((position) => position.moves.length ? entryOf(position, game, merged) : null);
  const codes = [...new Set(entries.filter(Boolean).map(({ code }) => code))].sort((a, b) => a - b);
  const rowOf = new Map(codes.map((code, row) => [code, row]));
  const numberAt = (at) => parseInt(rows.slice(digits * at, digits * (at + 1)), BASE);
  // Most agents move at random among some cells: then a row is the mask of these, else the number of each cell's share.
  const weight = shares
    ? (row, cell) => shares[numberAt(row * game.cells + cell)]
    : (row, cell) => (numberAt(row) >> cell) & 1;
  return positions.map(({ moves }, number) => {
    if (!moves.length) return [];
    const { code, symmetry } = entries[number];
    const weights = moves.map(([cell]) => weight(rowOf.get(code), symmetry[cell]));
    const sum = weights.reduce((total, each) => total + each, 0);
    return weights.map((each) => each / sum);
  });
}

/** Softmax minimax moves by its own temperature, and ascribes the other one to whoever moves next. @returns {Policy} */
function policyOfSoftmax(positions, own, ascribed) {
  const [asX, asO] = [sweep(positions, own, ascribed), sweep(positions, ascribed, own)];
  return positions.map((position) => position.moves.length
    ? softmax(valuesOfMoves(position, position.ply % 2 ? asO : asX), own)
    : []);
}

/**
 * The policy of an agent by its facts: the temperatures of softmax minimax, or a table.
 * @param {Position[]} positions @param {Game} game @returns {Policy}
 */
export function policyOf(positions, game, facts) {
  if (facts.temperature !== undefined) return policyOfSoftmax(positions, facts.temperature, facts.opponent_temperature);
  return policyOfTable(positions, game, facts);
}

const SOFTMAX = /^softmax(:(opponent_)?temperature=[\d.]+(,(opponent_)?temperature=[\d.]+)?)?$/;

/** The parameters of softmax minimax that a spec such as "softmax:temperature=0.2,opponent_temperature=1" gives; null of others. */
export function softmaxOf(agent) {
  if (!SOFTMAX.test(agent)) return null;
  const given = Object.fromEntries(agent.split(/[:,]/).slice(1).map((each) => each.split("=")));
  const temperature = Number(given.temperature ?? 1), opponent_temperature = Number(given.opponent_temperature ?? temperature);
  return Number.isNaN(temperature + opponent_temperature) ? null : { temperature, opponent_temperature };
}

const best = (values) => softmax(values, 0);
/** The moves from each position to the end of the game under best play by both sides, whose `values` these are. */
export function movesToEnd(positions, values) {
  const ends = positions.map(() => 0);
  for (let number = positions.length - 1; number >= 0; number--) {
    const kept = positions[number].moves.map(([, after]) => after).filter((after) => -values[after] === values[number]);
    if (kept.length) ends[number] = 1 + Math[values[number] > 0 ? "min" : "max"](...kept.map((after) => ends[after]));
  }
  return ends;
}

/** The values of all positions under best play by both sides, to the player to move: 1, 0 or −1. @returns {number[]} */
export function bestValues(positions) {
  const { win, loss } = induce(positions, best, best);
  return Array.from(win, (share, number) => Math.round(share - loss[number])); // a mean of equal ones may be rounded
}
