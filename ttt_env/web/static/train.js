// Q-learning against itself, on the positions of a small game up to symmetry. After every few games its strength is computed
// over all of them, so that a training is a film: its frames say what is known about each position at that time.

import { isPlayable, randomNumbers, seatOf } from "./rules.js";

const MOST_GAMES = 12_000; // then it is still beatable
const SINGLE_GAMES = 30; // the first games make a frame each, the later ones five together
const SAME_GAMES = 60; // as often the same game in a row, and without exploration it is the same for ever
const TIE = 1e-9; // values closer than this are equal

/**
 * A class of symmetric positions: the stones as bit masks, the classes that follow it (`kids`) with the number of cells that
 * lead to each (`weights`), and those before it. `end` is "X", "O" or "draw" once the game is over, else "". `value` is what it
 * is worth to X under best play by both sides; `isLost` says that whoever is to move has lost already, whatever it plays.
 * @typedef {{x: number, o: number, ply: number, end: string, kids: number[], weights: number[], parents: number[], value: number, isLost: boolean}} Node
 */

/** The positions of a game of up to 12 cells up to symmetry, by ply, beginning with the empty board. */
export class Positions {
  constructor(game) {
    const { cells, sets, misere, symmetries } = game;
    Object.assign(this, { game, cells });
    this.lines = sets.map((set) => set.reduce((mask, cell) => mask | (1 << cell), 0));
    this.images = symmetries.map((to) => Uint16Array.from({ length: 1 << cells }, (_, mask) =>
      to.reduce((image, cell, from) => image | (((mask >> from) & 1) << cell), 0)));
    this.numbers = new Map();
    /** @type {Node[]} */
    this.nodes = [];
    this.find(0, 0, 0);
    for (let at = 0; at < this.nodes.length; at++) this.expand(at, misere);
    for (const node of this.nodes.toReversed()) {
      const values = node.kids.map((kid) => this.nodes[kid].value);
      node.value = node.end ? (node.end === "X") - (node.end === "O") : Math[node.ply % 2 ? "min" : "max"](...values);
      node.isLost = !node.end && node.value === (node.ply % 2 ? 1 : -1);
    }
  }

  /** The number of the class that these stones belong to. */
  find(x, o, ply) {
    const key = this.images.reduce((least, image) => Math.min(least, image[x] * (1 << this.cells) + image[o]), Infinity);
    if (!this.numbers.has(key)) {
      this.numbers.set(key, this.nodes.push({ x, o, ply, end: "", kids: [], weights: [], parents: [], value: 0, isLost: false }) - 1);
    }
    return this.numbers.get(key);
  }

  expand(at, misere) {
    const node = this.nodes[at], { x, o, ply } = node;
    const has = (mask) => this.lines.some((line) => (mask & line) === line);
    const completed = has(x) ? "X" : has(o) ? "O" : "";
    node.end = completed ? (misere ? seatOf("OX".indexOf(completed)) : completed) : ply === this.cells ? "draw" : "";
    for (const cell of this.legal(node)) {
      const kid = this.after(x, o, cell, ply), number = node.kids.indexOf(kid);
      if (number >= 0) node.weights[number] += 1;
      else {
        node.kids.push(kid);
        node.weights.push(1);
        this.nodes[kid].parents.push(at);
      }
    }
  }

  legal({ x, o, end }) {
    return end ? [] : [...Array(this.cells).keys()].filter((cell) => isPlayable(this.game, (each) => ((x | o) >> each) & 1, cell));
  }

  /** The class after a move on a board of these stones, which need not be that of the class itself. */
  after(x, o, cell, ply) {
    return ply % 2 ? this.find(x, o | (1 << cell), ply + 1) : this.find(x | (1 << cell), o, ply + 1);
  }

  /** The classes of the positions of a game, from the empty board on. */
  path(moves) {
    let x = 0, o = 0;
    return [0, ...moves.map((cell, ply) => {
      const next = this.after(x, o, cell, ply);
      if (ply % 2) o |= 1 << cell; else x |= 1 << cell;
      return next;
    })];
  }
}

const bestOf = (values, { kids }) => kids.reduce((best, kid) => Math.max(best, values[kid]), -Infinity);

/** The classes that the agent plays to: all whose value is the best. */
export const greedyOf = (values, node) => {
  const best = bestOf(values, node);
  return node.kids.filter((kid) => values[kid] > best - TIE);
};

/** One game of self-play. `values` are what each position is worth to whoever moved there; only + − × and max, so that it is the same on every machine. */
function playGame({ nodes }, values, met, random, { exploration, rate }) {
  const game = [0];
  let at = 0;
  met[0] = 1;
  while (!nodes[at].end) {
    const node = nodes[at], best = bestOf(values, node);
    if (at) values[at] += rate * (-best - values[at]); // the last move was worth what it leaves to the other one
    let kid = node.kids.find((each) => values[each] > best - TIE);
    if (random() < exploration) {
      let cell = Math.floor(random() * node.weights.reduce((sum, weight) => sum + weight)); // any free one
      kid = node.kids.find((_, number) => (cell -= node.weights[number]) < 0);
    }
    at = kid;
    met[at] = 1;
    game.push(at);
  }
  const { end, ply } = nodes[at];
  values[at] += rate * ((end === "draw" ? 0 : end === seatOf(ply - 1) ? 1 : -1) - values[at]);
  return game;
}

export const GREY = 0; // not met yet
export const RED = 1; // it can lose from here
export const GREEN = 2; // it cannot
export const COMES = 4; // added where the agent, as it plays now, can come

/**
 * The largest chance with which any opponent beats the agent from each position, `risks` by the agent's seat, and what the
 * picture shows of it in `look`. The agent plays any of the cells that it takes for the best.
 */
export function judge({ nodes }, values, met) {
  const risks = { X: new Float64Array(nodes.length), O: new Float64Array(nodes.length) };
  for (let at = nodes.length - 1; at >= 0; at--) {
    const node = nodes[at], { end, ply, kids, weights } = node;
    if (end) {
      risks.X[at] = end === "O" ? 1 : 0;
      risks.O[at] = end === "X" ? 1 : 0;
      continue;
    }
    const [own, other] = ply % 2 ? [risks.O, risks.X] : [risks.X, risks.O], best = bestOf(values, node);
    let cells = 0;
    for (let number = 0; number < kids.length; number++) {
      other[at] = Math.max(other[at], other[kids[number]]);
      if (values[kids[number]] <= best - TIE) continue;
      cells += weights[number];
      own[at] += weights[number] * own[kids[number]];
    }
    own[at] /= cells;
  }
  const comes = new Uint8Array(nodes.length), look = new Uint8Array(nodes.length); // 1: as X, 2: as O
  comes[0] = 3;
  nodes.forEach((node, at) => {
    const { ply, end, kids } = node, mine = end ? 3 : ply % 2 ? 2 : 1;
    look[at] = (met[at] ? (risks[seatOf(ply)][at] > 0 ? RED : GREEN) : GREY) | (comes[at] & mine ? COMES : 0);
    if (end || !comes[at]) return;
    for (const kid of kids) comes[kid] |= comes[at] & ~mine;
    if (comes[at] & mine) for (const kid of greedyOf(values, node)) comes[kid] |= mine;
  });
  return { risks, look };
}

/**
 * A whole training, up to the first time that nobody can beat the agent. Each frame has the number of `games`, the chances
 * to lose as `X` and as `O`, the `look` of each position, the last `game` and the `values` that it has learned.
 */
export function train(positions, { seed, exploration, rate }) {
  const values = new Float64Array(positions.nodes.length), met = new Uint8Array(positions.nodes.length);
  const random = randomNumbers(seed), frames = [];
  let games = 0, game = [], same = 0;
  for (;;) {
    const { risks, look } = judge(positions, values, met);
    const frame = { games, X: risks.X[0], O: risks.O[0], look, game, values: values.slice() };
    frames.push(frame);
    const isUnbeatable = frame.X + frame.O === 0, isStuck = same >= SAME_GAMES;
    if (isUnbeatable || isStuck || games >= MOST_GAMES) return { frames, games, isUnbeatable, isStuck };
    for (let each = games < SINGLE_GAMES ? 1 : 5; each; each--) {
      const before = game.join();
      game = playGame(positions, values, met, random, { exploration, rate });
      games += 1;
      same = exploration === 0 && game.join() === before ? same + 1 : 0;
    }
  }
}
