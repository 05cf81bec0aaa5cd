// Look inside: the game tree of softmax minimax, with a slider for each player's temperature, and Monte Carlo tree search step by step.

import { addressOf, movesOf, numberOf, replaceAddress, textOf } from "./address.js";
import { Board } from "./board.js";
import { copyButton, fillWith, h, say, select, set, slider } from "./dom.js";
import { Search } from "./mcts.js";
import { leastImage } from "./policies.js";
import { legalStart, positionAfter } from "./rules.js";
import { softmax, sweep, valuesOfMoves } from "./solver.js";
import { drawTree } from "./tree.js";
import { percent, plural, signed } from "./words.js";

const VIEWS = { tree: "Game tree", mcts: "Monte Carlo" };
const MOST_BOARDS = 80, MOST_SIMULATIONS = 2000, MOST_NODES = 24;
const STEP_AFTER = 600; // milliseconds between two simulations

const endText = ({ winner }) => (winner ? `${winner} wins` : "a draw");
const valueText = (value) => signed(value, Number.isInteger(Math.round(value * 1e9) / 1e9) ? 0 : 3);

export class InsideView {
  constructor(root, app) {
    this.app = app;
    this.status = h("h1", { class: "status" });
    this.stage = h("div");
    this.note = h("p", { class: "soft" });
    this.tabs = h("div", { class: "tabs", role: "group", "aria-label": "View" });
    this.controls = h("div", { class: "controls" });
    this.below = h("section", { class: "below", "aria-label": "All figures" });
    this.games = select({ "aria-label": "Game", change: ({ target }) => this.go({ game: target.value, moves: "" }) }, { "": app.games.map(({ id, title }) => [id, title]) });
    this.back = h("a", { class: "button" }, "Undo");
    this.playLink = h("a", { class: "button" }, "Play from here");
    fillWith(root, h("div", { class: "inside" },
      h("section", { class: "stage", "aria-label": "The position" }, this.status, this.stage, h("div", { class: "bar" }, this.back, this.playLink, copyButton("Copy link"))),
      h("aside", { class: "side" }, this.tabs, this.games, this.controls, this.note), this.below));
  }

  update(fields) {
    clearTimeout(this.timer);
    const game = this.app.games.find(({ id }) => id === fields.game) ?? this.app.games[0];
    if (game !== this.game) {
      this.game = game;
      this.knowledge = this.app.knowledgeOf(game);
      this.board = new Board(game, { label: `Board of ${game.title}`, onPress: (cell) => this.go({ moves: textOf([...this.moves, cell]), done: "" }) });
      fillWith(this.stage, this.board.element);
      this.games.value = game.id;
      this.shownView = null;
    }
    this.moves = legalStart(game, movesOf(fields.moves));
    this.position = positionAfter(game, this.moves);
    const view = this.knowledge.isSolved && fields.view !== "mcts" ? "tree" : "mcts";
    this.fields = {
      game: game.id, view, moves: textOf(this.moves), tx: numberOf(fields.tx, 1, 0, 10), to: numberOf(fields.to, 1, 0, 10),
      plies: numberOf(fields.plies, 2, 1, 6), done: numberOf(fields.done, 20, 0, MOST_SIMULATIONS), seed: numberOf(fields.seed, 0, 0, 999_999), c: numberOf(fields.c, 1.41, 0, 10),
    };
    const { isOver, mover } = this.position;
    say(this.status, isOver ? endText(this.position) : `${mover} to move`);
    set(this.back, "href", this.moves.length ? this.to({ moves: textOf(this.moves.slice(0, -1)) }) : null);
    set(this.back, "aria-disabled", this.moves.length ? null : "true");
    set(this.back, "role", this.moves.length ? null : "link");
    set(this.playLink, "href", addressOf("play", { game: game.id, ...this.players(view), moves: textOf(this.moves), see: 1 }));
    fillWith(this.tabs, Object.entries(VIEWS).map(([name, title]) => h("a", {
      class: "button", href: name === "tree" && !this.knowledge.isSolved ? null : this.to({ view: name }), role: name === "tree" && !this.knowledge.isSolved ? "link" : null,
      "aria-disabled": name === "tree" && !this.knowledge.isSolved ? "true" : null, "aria-current": name === view ? "true" : null,
    }, title)));
    if (view !== this.shownView) this.build(view);
    if (view === "tree") this.showTree(); else this.showSearch();
  }

  /** Who plays on from here: a person who is to move, in the game tree against the other seat's softmax minimax. */
  players(view) {
    if (view !== "tree" || this.position.isOver) return { x: "person", o: "person" };
    const { tx, to } = this.fields, isX = this.position.mover === "X", [own, other] = isX ? [to, tx] : [tx, to];
    const agent = `softmax:temperature=${own},opponent_temperature=${other}`;
    return isX ? { x: "person", o: agent } : { x: agent, o: "person" };
  }

  close() {
    clearTimeout(this.timer);
  }

  to(changes) {
    return addressOf("inside", { ...this.fields, ...changes });
  }

  go(changes) {
    location.hash = this.to(changes);
  }

  /** A control has been moved: the address follows without a step in the history. */
  change(changes) {
    Object.assign(this.fields, changes);
    replaceAddress("inside", this.fields);
    this.update(Object.fromEntries(Object.entries(this.fields).map(([name, value]) => [name, String(value)])));
  }

  build(view) {
    this.shownView = view;
    if (view === "tree") {
      const make = (name, field, bounds) => slider(name, { ...bounds, input: ({ target }) => this.change({ [field]: Number(target.value) }) });
      this.sliders = {
        tx: make("Temperature of X", "tx", { min: 0, max: 2, step: 0.05 }), to: make("Temperature of O", "to", { min: 0, max: 2, step: 0.05 }),
        plies: make("Moves ahead", "plies", { min: 1, max: 6, step: 1 }),
      };
      this.ends = h("p", { class: "ends" });
      fillWith(this.controls, Object.values(this.sliders).map(({ label }) => label), this.ends);
      return;
    }
    const jump = (text, by) => h("button", { type: "button", click: () => this.change({ done: Math.min(Math.max(this.fields.done + by, 0), MOST_SIMULATIONS) }) }, text);
    this.running = false;
    this.run = h("button", { type: "button", class: "main", click: () => { this.running = !this.running; this.showSearch(); } });
    const number = (name, field, bounds) => h("label", { class: "number" }, name, h("input", { type: "number", "data-field": field, ...bounds, change: ({ target }) => this.change({ [field]: Number(target.value) }) }));
    fillWith(this.controls, h("div", { class: "bar" }, this.run, jump("− 1", -1), jump("+ 1", 1), jump("+ 10", 10), jump("+ 100", 100), jump("Start", -MOST_SIMULATIONS)),
      h("div", { class: "bar" }, number("Seed", "seed", { min: 0, max: 999999 }), number("c", "c", { min: 0, max: 10, step: 0.01 })));
  }

  // ---- The game tree.

  showTree() {
    const { tx, to, plies } = this.fields, { positions } = this.knowledge, { isOver, mover, legal } = this.position;
    for (const [name, { input, show }] of Object.entries(this.sliders)) { input.value = this.fields[name]; show(); }
    this.outcomes = sweep(positions, tx, to);
    const number = this.knowledge.numberAfter(this.moves), most = this.pliesThatFit(number, plies);
    const [win, loss] = [this.outcomes.win[number], this.outcomes.loss[number]], isX = this.moves.length % 2 === 0;
    say(this.ends, `From here: X wins ${percent(isX ? win : loss)}, draw ${percent(Math.max(0, 1 - win - loss))}, O wins ${percent(isX ? loss : win)}.`);
    const shares = this.sharesAt(number), values = valuesOfMoves(positions[number], this.outcomes);
    const marks = new Map(legal.map((cell, at) => [cell, { text: percent(shares[at]), words: `played with ${percent(shares[at])}, worth ${valueText(values[at])} to ${mover}` }]));
    this.board.show(this.position, { isOpen: !isOver, marks });
    say(this.note, "Each player plays a move with a probability proportional to e^(value ÷ temperature), and knows the other's temperature. At 0 that is minimax; at high temperatures moves are nearly random.");
    const cut = most < plies ? ` Only ${plural(most, "move")} deep: there is room for ${MOST_BOARDS} boards.` : "";
    fillWith(this.below, isOver ? [] : [h("h2", {}, "The tree"), h("p", { class: "soft" },
      `Above each board: the chance that it is played, and in how many symmetric ways. Below: what it is worth to X, from −1 to +1.${cut}`),
    drawTree(this.game, this.branch(number, most, this.moves, 1, 1, false), "Game tree")]);
  }

  sharesAt(number) {
    const { positions } = this.knowledge, { ply } = positions[number];
    return softmax(valuesOfMoves(positions[number], this.outcomes), ply % 2 ? this.fields.to : this.fields.tx);
  }

  /** A move to each position that can come next, symmetric ones merged, with how many there are: [[place, next, alike], …]. */
  distinct(number) {
    const classes = new Map();
    this.knowledge.positions[number].moves.forEach(([, next], at) => {
      const { mine, theirs } = leastImage(this.knowledge.positions[next], this.game.symmetries), key = `${mine} ${theirs}`;
      if (classes.has(key)) classes.get(key)[2] += 1; else classes.set(key, [at, next, 1]);
    });
    return [...classes.values()];
  }

  pliesThatFit(number, plies) {
    let level = [number], boards = 1;
    for (let ply = 0; ply < plies; ply++) {
      level = level.flatMap((each) => this.distinct(each).map(([, next]) => next));
      boards += level.length;
      if (boards > MOST_BOARDS) return Math.max(ply, 1);
    }
    return plies;
  }

  branch(number, plies, moves, share, alike, isLit) {
    const { positions } = this.knowledge, { win, loss } = this.outcomes, isRoot = moves === this.moves;
    const shares = plies && positions[number].moves.length ? this.sharesAt(number) : [], most = Math.max(...shares);
    const children = (plies ? this.distinct(number) : []).map(([at, next, times]) =>
      this.branch(next, plies - 1, [...moves, positions[number].moves[at][0]], shares[at], times, most - shares[at] <= 1e-9));
    const value = (moves.length % 2 ? -1 : 1) * (win[number] - loss[number]);
    const below = positions[number].moves.length ? valueText(value) : endText(positionAfter(this.game, moves));
    return { moves, above: isRoot ? "now" : percent(share), below, share, alike, isLit, href: isRoot ? null : this.to({ moves: textOf(moves) }), children: children.sort((a, b) => b.share - a.share) };
  }

  // ---- Monte Carlo tree search.

  showSearch() {
    clearTimeout(this.timer);
    const { done, seed, c } = this.fields, { isOver, legal } = this.position;
    for (const input of this.controls.querySelectorAll("input[data-field]")) input.value = this.fields[input.dataset.field];
    const search = new Search(this.game, this.moves, { seed, c }).run(isOver ? 0 : done), { root, last } = search;
    const isFull = isOver || done >= MOST_SIMULATIONS;
    this.running = this.running && !isFull;
    say(this.run, this.running ? "Pause" : "Play");
    set(this.run, "disabled", isFull);
    const children = new Map(root.children.map((child) => [child.cell, child]));
    const marks = new Map(legal.map((cell) => {
      const child = children.get(cell), share = child ? child.visits / search.done : 0;
      return [cell, { text: child ? percent(share) : "", words: child ? `${percent(share)} of the simulations, ${child.wins} of ${child.visits} won` : "untried" }];
    }));
    this.board.show(this.position, { isOpen: !isOver, marks });
    say(this.note, isOver ? "The game is over: there is nothing to search." : `${plural(search.done, "simulation")}. In each cell: the share of those that began there. The search plays the most visited cell${search.best.length && search.best.length < 5 ? `, now ${search.best.join(" or ")}` : ""}.`);
    fillWith(this.below, isOver ? [] : [this.phases(last), this.scores(search), h("h2", {}, "The search tree"),
      h("p", { class: "soft" }, "Below each board: wins of simulations, for whoever moved there; a draw counts a half. Lit: the path of the last simulation."),
      drawTree(this.game, this.searchBranch(root, this.moves, root.visits, last?.path ?? [], this.drawnNodes(root)), "Search tree")]);
    if (this.running) this.timer = setTimeout(() => this.change({ done: done + 1 }), STEP_AFTER);
  }

  phases(last) {
    const known = last ? (last.isExpanded ? last.path.slice(0, -1) : last.path) : [];
    const items = last ? [
      ["Select", known.length ? `From the root down to the child of the largest w/n + c·√(ln N / n): ${known.join(" → ")}.` : "The root has untried cells: it is selected itself."],
      ["Expand", last.isExpanded ? `Cell ${last.path.at(-1)} was untried there: a new node.` : "Nothing: the game is over there."],
      ["Playout", `${last.isEnded ? "None, the game is over there" : "Random moves to the end"}: ${last.winner ? `${last.winner} wins` : "a draw"}.`],
      ["Back up", `n + 1 at all ${last.path.length + 1} nodes of the path; ${last.winner ? `w + 1 at those that a move of ${last.winner} led to` : "w + ½ at each, for the draw"}.`],
    ] : [["Select", "Go down to the child of the largest w/n + c·√(ln N / n) while all cells were tried."], ["Expand", "Add a node for a cell that was not."],
      ["Playout", "Play on at random to the end of the game."], ["Back up", "Count the result at every node of the path."]];
    return h("ol", { class: "phases", "aria-label": "The four phases of a simulation" }, items.map(([name, text]) => h("li", {}, h("b", {}, name), " ", text)));
  }

  scores(search) {
    const { root } = search;
    if (!root.children.length) return null;
    const rows = root.children.map((child) => ({ child, ...search.score(root, child) })).sort((a, b) => b.score - a.score).slice(0, 9);
    const note = root.untried.length ? `${plural(root.untried.length, "cell")} untried: one of them comes first.` : `Cell ${rows[0].child.cell} has the largest score: it is selected next.`;
    return h("div", {}, h("h2", {}, "The next selection at the root"), h("p", { class: "soft" }, note), h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Scores" },
      h("table", {}, h("thead", {}, h("tr", {}, ["cell", "w/n", "mean", "+ c·√(ln N / n)", "= score"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, rows.map(({ child, mean, bonus, score }) => h("tr", {}, h("th", { scope: "row" }, String(child.cell)),
          [`${child.wins}/${child.visits}`, ...[mean, bonus, score].map((each) => each.toFixed(3))].map((text) => h("td", {}, text))))))));
  }

  /** The nodes that are drawn: the most visited, each below its parent. */
  drawnNodes(root) {
    const drawn = new Set([root]);
    let open = [...root.children];
    while (open.length && drawn.size < MOST_NODES) {
      const next = open.reduce((a, b) => (b.visits > a.visits ? b : a));
      drawn.add(next);
      open = [...open.filter((each) => each !== next), ...next.children];
    }
    return drawn;
  }

  searchBranch(node, moves, visits, path, drawn) {
    const depth = moves.length - this.moves.length, isLit = String(moves.slice(this.moves.length)) === String(path.slice(0, depth));
    const position = positionAfter(this.game, moves);
    const children = node.children.filter((child) => drawn.has(child) || (isLit && child.cell === path[depth])).sort((a, b) => b.visits - a.visits || a.cell - b.cell);
    return {
      moves, above: position.isOver ? endText(position) : depth ? `cell ${moves.at(-1)}` : "root", below: `${node.wins}/${node.visits}`, share: node.visits / Math.max(visits, 1),
      alike: 1, isLit, href: depth ? this.to({ moves: textOf(moves) }) : null, children: children.map((child) => this.searchBranch(child, [...moves, child.cell], node.visits, path, drawn)),
    };
  }
}
