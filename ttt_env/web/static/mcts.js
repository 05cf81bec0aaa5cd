// Monte Carlo tree search with UCB1 (UCT: Kocsis and Szepesvári, 2006), one simulation at a time, to be looked at.

import { otherSeat, positionAfter, randomNumbers, seatOf } from "./rules.js";

/**
 * A node counts for whoever moved there: `wins` (a draw is worth `draw`) of `visits`.
 * @typedef {{cell: number | null, wins: number, visits: number, children: Node[], untried: number[]}} Node
 */

export class Search {
  constructor(game, moves, { c = Math.SQRT2, draw = 0.5, seed = 0 } = {}) {
    Object.assign(this, { game, moves, c, draw, random: randomNumbers(seed), done: 0, last: null });
    this.through = [...Array(game.cells).keys()].map((cell) => game.sets.filter((each) => each.includes(cell)));
    this.above = this.through.map((_, cell) => [...this.through.keys()].filter((each) => game.supports[each] === cell));
    this.root = this.node(null, moves);
  }

  node(cell, moves) {
    return { cell, wins: 0, visits: 0, children: [], untried: positionAfter(this.game, moves).legal };
  }

  /** The score by which a child is selected, and its two terms. */
  score(node, child) {
    const mean = child.wins / child.visits, bonus = this.c * Math.sqrt(Math.log(node.visits) / child.visits);
    return { mean, bonus, score: mean + bonus };
  }

  selected(node) {
    return node.children.reduce((best, child) => (this.score(node, child).score > this.score(node, best).score ? child : best));
  }

  /** One simulation: select, expand, play out, back up. */
  step() {
    const path = [this.root], moves = [...this.moves];
    let node = this.root;
    const enter = (child) => { node = child; path.push(child); moves.push(child.cell); };
    while (!node.untried.length && node.children.length) enter(this.selected(node));
    const isExpanded = node.untried.length > 0;
    if (isExpanded) {
      const [cell] = node.untried.splice(Math.floor(this.random() * node.untried.length), 1), child = this.node(cell, [...moves, cell]);
      node.children.push(child);
      enter(child);
    }
    const winner = this.playout(moves), first = this.moves.length;
    path.forEach((each, depth) => {
      each.visits += 1;
      if (winner === null) each.wins += this.draw;
      else if (seatOf(first + depth + 1) === winner) each.wins += 1; // whoever moved there
    });
    this.done += 1;
    this.last = { path: path.slice(1).map(({ cell }) => cell), isExpanded, isEnded: !node.untried.length && !node.children.length, winner };
  }

  /** The winner of a game of random moves from there, or null. */
  playout(moves) {
    const { stones, legal, isOver, winner } = positionAfter(this.game, moves), free = [...legal];
    if (isOver) return winner;
    for (let ply = moves.length; free.length; ply++) {
      const [cell] = free.splice(Math.floor(this.random() * free.length), 1), seat = seatOf(ply);
      stones[cell] = seat;
      free.push(...this.above[cell]);
      if (this.through[cell].some((each) => each.every((other) => stones[other] === seat))) return this.game.misere ? otherSeat(seat) : seat;
    }
    return null;
  }

  /** The search after so many simulations. */
  run(simulations) {
    if (!this.root.untried.length && !this.root.children.length) return this;
    while (this.done < simulations) this.step();
    return this;
  }

  /** The most visited cells at the root. */
  get best() {
    const most = Math.max(0, ...this.root.children.map(({ visits }) => visits));
    return this.root.children.filter(({ visits }) => visits === most).map(({ cell }) => cell);
  }
}
