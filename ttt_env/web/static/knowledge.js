// What is known about a game: the values of its moves, and how its agents play. Games of up to nine cells are solved here, in
// some milliseconds; what is known of others, `ttt web` answers, and this keeps it.

import { AnswerError, ask, data } from "./answers.js";
import { textOf } from "./address.js";
import { bestValues, movesToEnd, policyOf, softmaxOf } from "./policies.js";
import { enumerate, numberAfter } from "./solver.js";

const SOLVED_CELLS = 9;

/**
 * What is known about a position: `value` for X, −1, 0 or 1, or null; `basis`, how it is known ("solved", "proved", "cited") or
 * "estimated", then in the range from `low` to `high`; and the same of each move, for the player who makes it, by cell. `plies`
 * are the moves from a move to the end of the game under best play.
 * @typedef {{value: number | null, basis: string, low?: number, high?: number, source?: string, moves: Map<number, {value: number | null, low?: number, high?: number, plies?: number}>}} Known
 */

export class Knowledge {
  constructor(game, { hasAnswers }) {
    this.game = game;
    this.hasAnswers = hasAnswers;
    this.kept = new Map();
    this.isSolved = game.cells <= SOLVED_CELLS;
    if (this.isSolved) {
      this.positions = enumerate(game);
      this.best = bestValues(this.positions);
      this.ends = movesToEnd(this.positions, this.best);
    }
  }

  /** The number of the position after these moves, in a game that is solved here. */
  numberAfter(moves) {
    return numberAfter(this.positions, moves);
  }

  /** The value for X of the position after these moves, in a game that is solved here. */
  valueAfter(moves) {
    const value = this.best[this.numberAfter(moves)];
    return moves.length % 2 ? 0 - value : value;
  }

  /** The value for X of the position after these moves, or null where it is not known. */
  async value(moves, signal) {
    if (this.isSolved) return this.valueAfter(moves);
    return this.keep(`brief ${textOf(moves)}`, async () => (await ask("evaluate", { game: this.game.id, moves, brief: true }, signal)).value, signal);
  }

  /** What is known about the position after these moves. @returns {Promise<Known>} */
  async evaluate(moves, signal) {
    if (this.isSolved) {
      const { moves: next } = this.positions[this.numberAfter(moves)];
      const known = next.map(([cell, after]) => [cell, { value: 0 - this.best[after], plies: this.ends[after] + 1 }]);
      return { value: this.valueAfter(moves), basis: "solved", moves: new Map(known) };
    }
    if (!this.hasAnswers) return { value: null, basis: "unknown", moves: new Map() };
    return this.keep(`value ${textOf(moves)}`, async () => {
      const answer = await ask("evaluate", { game: this.game.id, moves, brief: false }, signal);
      return { ...answer, moves: new Map(answer.moves.map(({ cell, ...known }) => [cell, known])) };
    }, signal);
  }

  /** The chances of an agent's moves after these, as [cell, chance] each: `moves`. `isSample` says that it has drawn one of them. */
  async policy(agent, moves, signal) {
    const table = await this.table(agent);
    if (table) {
      const number = this.numberAfter(moves);
      return { moves: this.positions[number].moves.map(([cell], at) => [cell, table[number][at]]), isSample: false };
    }
    if (!this.hasAnswers) throw new AnswerError(`${agent} plays where the program runs: pip install "ttt_env[cli,web]", then ttt web.`);
    return ask("policy", { game: this.game.id, moves, agent }, signal);
  }

  /** The policy of an agent in all positions, if it is a file here or computed here; else null. */
  async table(agent) {
    if (!this.isSolved) return null;
    const { policies } = this.game, softmax = softmaxOf(agent);
    if (!softmax && !Object.hasOwn(policies, agent)) return null;
    return this.keep(`table ${agent}`, async () => policyOf(this.positions, this.game, softmax ?? (await data(policies[agent]))));
  }

  /** The answer that is kept under this name; one that failed, or that nobody waited for, is asked for again. */
  keep(name, make, signal) {
    if (!this.kept.has(name)) {
      const answer = make(), forget = () => this.kept.get(name) === answer && this.kept.delete(name);
      this.kept.set(name, answer);
      signal?.addEventListener("abort", forget);
      answer.then(() => signal?.removeEventListener("abort", forget), forget);
    }
    return this.kept.get(name);
  }
}
