// The front page: all positions of tic-tac-toe at once, and a program that learns them. Colour is what the agent can do, and nothing else.

import { addressOf, numberOf, replaceAddress } from "./address.js";
import { Board } from "./board.js";
import { copyButton, fillWith, h, s, say, select, set, slider } from "./dom.js";
import { drawnCell, positionAfter, seatOf } from "./rules.js";
import { COMES, GREEN, GREY, Positions, RED, greedyOf, judge, train } from "./train.js";
import { count, percent, plural } from "./words.js";

const DEFAULTS = { seed: 1, exploration: 0.8, rate: 0.5 };
const SECONDS = 30, STUCK_SECONDS = 8; // of a film at its usual pace
const PACES = [["0.4", "slow"], ["1", "30 s"], ["4", "fast"], ["999", "at once"]];
const MOVE_AFTER = 550, REPLY_AFTER = 300; // milliseconds
const SIZES = [17, 18, 15], DOT = 6; // half the width of what is drawn, by ply: boards first, then dots
const MOST_TRAILS = 12; // of games just played
const KEY = [["grey", "not met yet"], ["red", "it can lose from here"], ["green", "safe from here"], ["lost", "lost already"]];
const ENDS = { X: "M-3.4-3.4L3.4 3.4M3.4-3.4L-3.4 3.4", O: "M3.8 0A3.8 3.8 0 1 1 3.8-.01Z", draw: "M-4 0H4" };
const STONES = { X: "M-6-6L6 6M6-6L-6 6", O: "M6.5 0A6.5 6.5 0 1 1 6.5-.01Z" };

/** A film begins slowly, where single games are seen, and ends slowly, before the last red dot turns. From 0–1 to 0–1. */
const ease = (time) => time ** 3 * (6 * time ** 2 - 15 * time + 10);

/** The time at which a share of the games has been played: the inverse of `ease`. */
function timeOf(share) {
  let [low, high] = [0, 1];
  for (let each = 0; each < 30; each++) {
    const middle = (low + high) / 2;
    if (ease(middle) < share) low = middle; else high = middle;
  }
  return high;
}

/** The picture: a dot for each position on its ring, the red threads, and what the visitor looks at. */
class PositionMap {
  constructor(positions, spots) {
    const { nodes } = positions;
    this.nodes = nodes;
    this.spots = spots;
    this.shown = null;
    const rings = nodes.reduce((all, { ply }, at) => ((all[ply] ??= []).push(Math.hypot(...spots[at])), all), []);
    const ends = rings.map((radii) => [Math.min(...radii), Math.max(...radii)]);
    const bands = ends.flatMap(([inner, outer], ply) => { // the rings of O are a little darker
      if (ply % 2 === 0) return [];
      const from = (ends[ply - 1][1] + inner) / 2, to = ply === ends.length - 1 ? 400 : (outer + ends[ply + 1][0]) / 2;
      return [s("circle", { class: "band", r: (from + to) / 2, "stroke-width": to - from })];
    });
    this.dots = nodes.map((node, at) => this.dot(node, spots[at]));
    this.threads = s("path", { class: "threads" });
    this.links = s("g");
    this.trails = s("g");
    this.way = s("path", { class: "way" });
    this.mark = s("circle", { class: "here" });
    this.element = s("svg", {
      class: "map", viewBox: "-400 -400 800 800", tabindex: 0, role: "application", "aria-roledescription": "map of positions",
      "aria-label": `All ${nodes.length} positions: the empty board is in the middle, each ring is one move on. Arrow keys go from position to position, Enter shows the game that leads there.`,
    }, bands, this.threads, this.links, this.dots, nodes.filter(({ ply }) => ply < SIZES.length).map((node, at) => this.sign(node, spots[at])), this.trails, this.way, this.mark);
  }

  dot({ ply, end, isLost }, [x, y]) {
    const transform = `translate(${x} ${y})`, size = (SIZES[ply] ?? DOT) * (isLost ? 0.8 : 1);
    if (end) return s("path", { transform, d: ENDS[end] });
    return ply % 2 ? s("circle", { transform, r: size }) : s("rect", { transform, x: -0.9 * size, y: -0.9 * size, width: 1.8 * size, height: 1.8 * size, rx: 1.5 });
  }

  /** The first positions are drawn as boards. */
  sign({ x, o, ply }, [cx, cy]) {
    const step = SIZES[ply] * (ply % 2 ? 0.44 : 0.54), end = 1.4 * step, half = step / 2;
    const grid = [-half, half].map((line) => `M${line} ${-end}V${end}M${-end} ${line}H${end}`).join("");
    const stones = [...Array(9).keys()].flatMap((cell) => {
      const stone = (x >> cell) & 1 ? "X" : (o >> cell) & 1 ? "O" : "";
      const place = `translate(${((cell % 3) - 1) * step} ${(Math.floor(cell / 3) - 1) * step}) scale(${step / 20})`;
      return stone ? [s("path", { class: "sign", d: STONES[stone], transform: place })] : [];
    });
    return s("g", { class: "boardlet", transform: `translate(${cx} ${cy})` }, s("path", { class: "grid", d: grid }), stones);
  }

  line(path) {
    return path.length ? `M${path.map((at) => this.spots[at].join(" ")).join("L")}` : "";
  }

  /** Colour the dots of a frame, and join each red one to the red ones that may follow it. */
  paint({ look, values }) {
    const colours = { [GREY]: "grey", [RED]: "red", [GREEN]: "green" };
    this.nodes.forEach(({ end, isLost }, at) => {
      if (this.shown?.[at] === look[at]) return;
      const colour = colours[look[at] & 3], isMet = (look[at] & 3) !== GREY;
      const name = end ? `end${isMet ? " met" : ""}` : isLost ? `dot lost${isMet ? "" : " unmet"}` : `dot ${colour}`;
      set(this.dots[at], "class", look[at] & COMES ? name : `${name} away`);
    });
    this.shown = look;
    const isRed = (at) => !this.nodes[at].end && !this.nodes[at].isLost && look[at] === (RED | COMES);
    const threads = this.nodes.flatMap((node, at) => {
      if (!isRed(at)) return [];
      const next = new Set(greedyOf(values, node).flatMap((kid) => this.nodes[kid].kids));
      return [...next].filter(isRed).map((kid) => this.line([at, kid]));
    });
    set(this.threads, "d", threads.join(""));
    this.threads.style.opacity = Math.min(0.6, 0.14 + 10 / threads.length); // many are seen as a glow, few as threads
  }

  /** Ring a position, with the game that leads there or the positions before and after it. */
  point(at, path, hasLinks) {
    const [cx, cy] = this.spots[at], { kids, parents, ply } = this.nodes[at];
    for (const [name, value] of Object.entries({ cx, cy, r: 1.25 * (SIZES[ply] ?? DOT) + 4 })) set(this.mark, name, value);
    set(this.way, "d", this.line(path));
    fillWith(this.links, hasLinks && [...kids, ...parents].map((other) => s("path", { class: "link", d: this.line([at, other]) })));
  }

  trail(game) {
    if (this.trails.childElementCount >= MOST_TRAILS) this.trails.firstElementChild.remove();
    this.trails.append(s("path", { class: "trail", d: this.line(game) }));
  }

  celebrate() {
    fillWith(this.trails, s("circle", { class: "wave", r: 0 }));
  }

  nearest({ clientX, clientY, pointerType }) {
    const { left, top, width } = this.element.getBoundingClientRect();
    const [x, y] = [(clientX - left) / width, (clientY - top) / width].map((share) => 800 * share - 400);
    let best = -1, least = (pointerType === "touch" ? 40 : 16) ** 2;
    this.spots.forEach(([cx, cy], at) => {
      const far = (cx - x) ** 2 + (cy - y) ** 2;
      if (far < least) [least, best] = [far, at];
    });
    return best;
  }

  /** The position to which an arrow key leads from another. */
  beside(at, key) {
    const { ply, kids, parents } = this.nodes[at];
    const angle = (each) => Math.atan2(this.spots[each][1], this.spots[each][0]);
    const ring = this.nodes.flatMap((node, each) => (node.ply === ply ? [each] : [])).sort((a, b) => angle(a) - angle(b));
    const along = (step) => ring[(ring.indexOf(at) + step + ring.length) % ring.length];
    return { ArrowRight: () => along(1), ArrowLeft: () => along(-1), ArrowUp: () => parents[0] ?? at, ArrowDown: () => kids[0] ?? at, Home: () => 0 }[key]?.();
  }
}

export class PositionsView {
  constructor(root, { games, spots }) {
    this.root = root;
    this.games = games.filter(({ sets }) => String(sets) === String(games[0].sets)); // tic-tac-toe, and misère: the same positions
    this.spots = spots;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.isRunning = false;
  }

  update(fields) {
    this.stop();
    const game = this.games.find(({ id }) => id === fields.game) ?? this.games[0];
    if (game !== this.game) this.build(game);
    this.inputs.exploration.input.value = numberOf(fields.exploration, DEFAULTS.exploration, 0, 1);
    this.inputs.rate.input.value = numberOf(fields.rate, DEFAULTS.rate, 0.05, 1);
    this.inputs.seed.value = Math.round(numberOf(fields.seed, DEFAULTS.seed, 0, 999_999));
    for (const each of [this.inputs.exploration, this.inputs.rate]) each.show();
    this.train();
    const at = fields.games === undefined ? undefined : this.frameAt(numberOf(fields.games, 0, 0, Infinity));
    this.paint(at ?? (this.calm ? this.run.frames.length - 1 : 0));
    if (at === undefined && !this.calm) this.go();
  }

  close() {
    this.stop();
    clearTimeout(this.timer);
  }

  // ---- The page.

  build(game) {
    this.game = game;
    this.positions = new Positions(game);
    this.map = new PositionMap(this.positions, this.spots);
    this.home = { kind: "look", moves: [0], isHome: true }; // X has taken a corner: only the centre saves O
    this.scene = this.home;
    this.listen();
    const retrain = () => { this.stop(); this.leaveScene(); this.train(); this.paint(Math.round(this.share * (this.run.frames.length - 1))); };
    this.inputs = {
      exploration: slider("Exploration", { min: 0, max: 1, step: 0.05, input: retrain }, percent),
      rate: slider("Learning rate", { min: 0.05, max: 1, step: 0.05, input: retrain }),
      seed: h("input", { type: "number", min: 0, max: 999999, change: () => this.again() }),
      time: h("input", { type: "range", min: 0, step: 1, "aria-label": "Games played", input: ({ target }) => this.scrub(Number(target.value)) }),
      pace: select({ "aria-label": "Speed" }, { "": PACES }),
      rules: select({ "aria-label": "Game", change: ({ target }) => { location.hash = addressOf("positions", this.fields({ game: target.value })); } },
        { "": this.games.map(({ id, title }) => [id, title]) }),
    };
    this.inputs.pace.value = "1";
    this.inputs.rules.value = game.id;
    this.headline = h("h1", { class: "headline" });
    this.counts = Object.fromEntries(KEY.map(([name]) => [name, h("b")]));
    this.chances = { X: h("b"), O: h("b") };
    this.curve = s("svg", { class: "curve", viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": true });
    this.most = h("span");
    this.playButton = h("button", { type: "button", click: () => this.toggle() });
    this.tryButton = h("button", { type: "button", click: () => this.playAs("X") }, "Play against it");
    this.withoutButton = h("button", { type: "button", click: () => this.toggleExploration() });
    this.board = new Board(game, { label: "Board", onPress: (cell) => this.press(cell) });
    this.words = h("p", { class: "words" });
    this.choices = h("div", { class: "bar" }, ["X", "O"].map((seat) => h("button", { type: "button", click: () => this.playAs(seat) }, `New game as ${seat}`)));
    this.marks = h("p", { class: "soft" }, "Circle: safe. Diamond: a move that loses. Bright: what it would play.");
    this.live = h("p", { class: "unseen", "aria-live": "polite" });
    const key = KEY.map(([name, words]) => h("span", {}, s("svg", { viewBox: "-7 -7 14 14", "aria-hidden": true }, s("rect", { class: `dot ${name}`, x: -6, y: -6, width: 12, height: 12, rx: 2 })), this.counts[name], ` ${words}`));
    fillWith(this.root, h("div", { class: "positions" }, this.map.element,
      h("div", { class: "side" },
        h("header", {},
          h("p", { class: "lead" }, h("b", {}, `All ${this.positions.nodes.length} positions of ${game.title.toLowerCase()}.`), " The empty board is in the middle, each ring is one move on. A program learns them by playing against itself."),
          this.headline),
        h("div", { class: "key" }, key,
          h("span", { class: "soft" }, "■ X to move  ● O to move  × ○ − game over"),
          h("span", { class: "soft" }, "pale: it never comes here now; threads: how it can lose")),
        h("section", { class: "chances", "aria-label": "Chances to lose" },
          h("p", { class: "soft" }, "Its largest chance to lose, to any opponent"),
          h("div", { class: "row" }, h("span", {}, this.chances.X, " as X —"), h("span", {}, this.chances.O, " as O ┄")),
          this.curve, this.inputs.time,
          h("div", { class: "row soft" }, h("span", {}, "0 games"), this.most)),
        h("div", { class: "bar" }, this.playButton, this.inputs.pace, this.tryButton),
        h("section", { class: "settings", "aria-label": "Settings" },
          h("div", { class: "knobs" }, this.inputs.exploration.label, this.inputs.rate.label),
          h("div", { class: "bar" }, h("label", { class: "soft" }, "Seed ", this.inputs.seed), this.withoutButton, this.inputs.rules, copyButton("Copy link"))),
        h("section", { class: "scene", "aria-label": "Board" }, this.board.element, h("div", {}, this.words, this.choices, this.marks))),
      this.live));
  }

  // ---- The training, and the film of it.

  get settings() {
    const [exploration, rate, seed] = [this.inputs.exploration.input, this.inputs.rate.input, this.inputs.seed].map(({ value }) => Number(value));
    return { seed, exploration, rate };
  }

  /** What the address says: the first game goes without saying. */
  fields(more = {}) {
    return { game: this.game === this.games[0] ? "" : this.game.id, ...this.settings, ...more };
  }

  train() {
    this.run = train(this.positions, this.settings);
    const { games, isUnbeatable, isStuck, frames } = this.run;
    this.inputs.time.max = games;
    say(this.most, isUnbeatable ? `unbeatable after ${count(games)}` : isStuck ? "the same game for ever" : `${count(games)}: still beatable`);
    say(this.withoutButton, this.settings.exploration ? "No exploration" : "With exploration");
    const path = (seat) => `M${frames.map((frame) => `${(1000 * frame.games / games).toFixed(1)} ${(100 - 100 * frame[seat]).toFixed(1)}`).join("L")}`;
    this.past = s("g", { class: "past" }, s("path", { d: path("X") }), s("path", { class: "o", d: path("O") }));
    this.now = s("line", { class: "now", y1: -6, y2: 106 });
    fillWith(this.curve, s("line", { x2: 1000, y1: 0, y2: 0 }), s("line", { x2: 1000, y1: 100, y2: 100 }),
      s("g", { class: "ghost" }, s("path", { d: path("X") }), s("path", { class: "o", d: path("O") })), this.past, this.now);
    replaceAddress("positions", this.fields());
  }

  get frame() {
    return this.run.frames[this.number];
  }

  get isLast() {
    return this.number === this.run.frames.length - 1;
  }

  get share() {
    return this.number / (this.run.frames.length - 1);
  }

  frameAt(games) {
    return this.run.frames.findLastIndex((frame) => frame.games <= games);
  }

  /** Show a frame. */
  paint(number) {
    this.number = number;
    this.verdict = null;
    const { frame, run: { isUnbeatable, isStuck, games } } = this;
    if (!this.isRunning) this.time = timeOf(frame.games / games);
    this.map.paint(frame);
    const numbers = { grey: 0, red: 0, green: 0, lost: 0 };
    this.positions.nodes.forEach(({ end, isLost }, at) => {
      if (!end) numbers[isLost ? "lost" : KEY[frame.look[at] & 3][0]] += 1;
    });
    for (const [name, each] of Object.entries(numbers)) say(this.counts[name], count(each));
    const played = plural(frame.games, "game");
    say(this.headline, !frame.games ? "It knows the rules, and nothing else"
      : !this.isLast ? `${played} played: it can be beaten`
      : isUnbeatable ? `Unbeatable after ${played}` : isStuck ? "It plays one game for ever" : `Still beatable after ${played}`);
    this.headline.classList.toggle("done", this.isLast && isUnbeatable);
    for (const seat of ["X", "O"]) say(this.chances[seat], percent(frame[seat]));
    this.inputs.time.value = frame.games;
    set(this.inputs.time, "aria-valuetext", played);
    const across = 1000 * frame.games / games;
    for (const end of ["x1", "x2"]) set(this.now, end, across);
    this.past.style.clipPath = `inset(-10px ${(1000 - across) / 10}% -10px 0)`;
    say(this.playButton, this.isRunning ? "Pause" : this.isLast ? "Again" : frame.games ? "Resume" : "Start");
    set(this.playButton, "class", this.isLast && isUnbeatable ? null : "main");
    set(this.tryButton, "class", this.isLast && isUnbeatable ? "main" : null);
    this.showScene();
  }

  get judged() {
    return (this.verdict ??= judge(this.positions, this.frame.values, this.frame.look.map((look) => look & 3)));
  }

  go() {
    this.leaveScene();
    this.isRunning = true;
    this.last = performance.now();
    this.request = requestAnimationFrame((time) => this.tick(time));
    this.paint(this.number);
  }

  stop() {
    this.isRunning = false;
    cancelAnimationFrame(this.request);
  }

  tick(time) {
    const { frames, games, isStuck } = this.run;
    this.time = Math.min(1, this.time + (Math.min(time - this.last, 100) / 1000 / (isStuck ? STUCK_SECONDS : SECONDS)) * Number(this.inputs.pace.value));
    this.last = time;
    const played = ease(this.time) * games + 1e-6;
    let number = this.number;
    while (number + 1 < frames.length && frames[number + 1].games <= played) number += 1;
    const isNew = number !== this.number;
    this.isRunning = number < frames.length - 1;
    if (isNew || !this.isRunning) this.paint(number);
    if (isNew && !this.calm) this.map.trail(this.frame.game);
    if (this.isRunning) this.request = requestAnimationFrame((next) => this.tick(next));
    else this.finish();
  }

  finish() {
    say(this.live, this.headline.textContent);
    if (this.run.isUnbeatable) this.map.celebrate();
  }

  pause() {
    this.stop();
    this.paint(this.number);
  }

  toggle() {
    if (this.isRunning) return this.pause();
    if (this.isLast) this.number = this.time = 0;
    return this.go();
  }

  scrub(games) {
    this.stop();
    this.leaveScene();
    fillWith(this.map.trails);
    this.paint(this.frameAt(games));
    replaceAddress("positions", this.fields({ games }));
  }

  again() {
    this.stop();
    this.train();
    this.paint(0);
    if (!this.calm) this.go();
    else this.paint(this.run.frames.length - 1);
  }

  toggleExploration() {
    const { input, show } = this.inputs.exploration, now = Number(input.value);
    if (now) this.kept = now;
    input.value = now ? 0 : this.kept ?? DEFAULTS.exploration;
    show();
    this.again();
  }

  // ---- The board beside it: a position that is looked at, a game that is replayed, or one against the visitor.

  /** Leave a game that is replayed or played. */
  leaveScene() {
    clearTimeout(this.timer);
    if (this.scene.kind !== "look") this.scene = this.home;
  }

  get at() {
    return this.path.at(-1);
  }

  get path() {
    return this.positions.path(this.scene.moves);
  }

  showScene() {
    const { kind, moves, seat, blunder } = this.scene, { path, at } = this;
    const position = positionAfter(this.game, moves), node = this.positions.nodes[at];
    const isMine = kind === "play" && !position.isOver && position.mover === seat;
    const accents = new Map(kind === "look" || !moves.length ? [] : [[moves.at(-1), "last"]]);
    if (blunder !== undefined && moves.length > blunder) accents.set(moves[blunder], "blunder");
    const marks = kind === "play" || node.isLost || (this.frame.look[at] & 3) === GREY ? new Map() : this.marksOf(position, at);
    this.board.show(position, { isOpen: kind === "look" || isMine, marks, accents });
    this.map.point(at, this.scene.path ?? (kind === "look" ? [] : path), kind === "look" && !this.scene.isHome);
    this.tell(kind === "play" ? this.wordsOfPlay(position, isMine) : kind === "replay" ? this.wordsOfReplay(position) : this.scene.isHome ? this.wordsOfHome() : this.wordsOf(at));
    this.choices.hidden = kind !== "play";
    this.marks.hidden = !marks.size;
  }

  /** Bold words, and what follows them. */
  tell([bold, rest]) {
    const text = `${bold} ${rest}`;
    if (this.words.textContent !== text) fillWith(this.words, h("b", {}, bold), ` ${rest}`);
  }

  isLosing(kid, seat) {
    return this.positions.nodes[kid].value === (seat === "X" ? -1 : 1);
  }

  marksOf(position, at) {
    const greedy = greedyOf(this.frame.values, this.positions.nodes[at]), path = this.path;
    return new Map(position.legal.map((cell) => {
      const kid = this.childOf(path, cell), isBad = this.isLosing(kid, position.mover), isPlayed = greedy.includes(kid);
      return [cell, { kind: isBad ? "loss" : "win", isFaint: !isPlayed, words: `${isBad ? "loses" : "safe"}${isPlayed ? ", the program would play it" : ""}` }];
    }));
  }

  childOf(path, cell) {
    return this.positions.path([...this.scene.moves, cell]).at(path.length);
  }

  wordsOf(at) {
    const { end, ply, isLost } = this.positions.nodes[at], mover = seatOf(ply), look = this.frame.look[at];
    const comes = look & COMES ? "" : "As it plays now, it never comes here.";
    if (end) return [end === "draw" ? "A draw." : `${end} has won.`, comes];
    if (isLost) return [`${mover} has lost already,`, `whatever it plays. ${comes}`];
    if ((look & 3) === GREY) return ["Not met yet", `in ${plural(this.frame.games, "game")}. ${mover} to move.`];
    if ((look & 3) === GREEN) return [`${mover} to move: safe.`, `Nobody beats it from here. ${comes}`];
    const isHere = greedyOf(this.frame.values, this.positions.nodes[at]).some((kid) => this.isLosing(kid, mover));
    return [`${mover} to move, and it can lose:`, `${percent(this.judged.risks[mover][at])} against the best opponent. ${isHere ? "The blunder is made here." : "The blunder comes later: press the dot."} ${comes}`];
  }

  wordsOfHome() {
    if (this.isLast && this.run.isStuck) {
      const grey = this.frame.look.filter((look) => !(look & 3)).length;
      return [`It repeats one game of ${plural(this.frame.game.length - 1, "move")}; ${count(grey)} of ${count(this.positions.nodes.length)} positions are never met.`, "It tries no other move, so it never learns that one is better. Whoever leaves that one game can beat it."];
    }
    if (this.game.misere) return this.wordsOf(this.at);
    const moves = greedyOf(this.frame.values, this.positions.nodes[this.at]), isSafe = !moves.some((kid) => this.isLosing(kid, "O"));
    return ["X took a corner, and only the centre saves O.", isSafe ? "The program plays it." : moves.length === 5 ? "To the program all answers look the same." : moves.length > 1 ? "The program does not know yet." : "The program plays another cell."];
  }

  wordsOfPlay({ isOver, winner }, isMine) {
    const { seat } = this.scene;
    if (!isOver) return isMine ? [`You are ${seat}.`, "Your move."] : ["It moves …", ""];
    if (winner === null) return ["A draw.", this.isLast && this.run.isUnbeatable ? "More is not possible against it." : ""];
    return winner === seat ? ["You win.", "It has more to learn."] : [`${winner} wins.`, ""];
  }

  wordsOfReplay({ isOver, winner }) {
    return [isOver ? (winner ? `${winner} wins.` : "A draw.") : "", this.scene.words];
  }

  /**
   * A game from the empty board to this class, by the agent's own moves on the seat that is to move if it can come here, and if
   * it can lose from here, on to the loss.
   */
  gameTo(at) {
    const { nodes } = this.positions, { values, look } = this.frame, seat = seatOf(nodes[at].ply), from = new Map([[0, -1]]);
    const isMine = (each) => seatOf(nodes[each].ply) === seat;
    for (const each of from.keys()) { // to which it adds
      for (const kid of isMine(each) && !nodes[each].end ? greedyOf(values, nodes[each]) : nodes[each].kids) if (!from.has(kid)) from.set(kid, each);
    }
    const comes = from.has(at), path = [at], risk = this.judged.risks[seat];
    while (path[0]) path.unshift(comes ? from.get(path[0]) : nodes[path[0]].parents[0]);
    const worse = (a, b) => (risk[b] > risk[a] ? b : a);
    if ((look[at] & 3) === RED) {
      for (let node = nodes[at]; !node.end; node = nodes[path.at(-1)]) path.push((seatOf(node.ply) === seat ? greedyOf(values, node) : node.kids).reduce(worse));
    }
    const blunder = path.findIndex((each, ply) => ply > nodes[at].ply && seatOf(ply - 1) === seat && this.isLosing(each, seat) && !this.isLosing(path[ply - 1], seat));
    const lead = comes ? `It plays ${seat}, and its opponent as it must to come here.` : "A game that leads here; it does not play so itself.";
    return { path, blunder: blunder < 0 ? undefined : blunder - 1, words: blunder < 0 ? lead : `${lead} Move ${blunder} is its blunder.` };
  }

  /** A cell that leads from these moves to this class. */
  cellTo(moves, next) {
    return positionAfter(this.game, moves).legal.find((cell) => this.positions.path([...moves, cell]).at(-1) === next);
  }

  replay(at) {
    const { path, blunder, words } = this.gameTo(at);
    clearTimeout(this.timer);
    this.scene = { kind: "replay", moves: [], blunder, words };
    const step = () => {
      const { moves } = this.scene, next = path[moves.length + 1];
      this.showScene();
      if (next === undefined) { say(this.live, this.words.textContent); return; }
      this.scene = { ...this.scene, moves: [...moves, this.cellTo(moves, next)] };
      this.timer = setTimeout(step, this.calm ? 900 : MOVE_AFTER);
    };
    step();
  }

  look(at, more = {}) {
    clearTimeout(this.timer);
    const { path } = this.gameTo(at), way = path.slice(0, this.positions.nodes[at].ply + 1), moves = [];
    for (const next of way.slice(1)) moves.push(this.cellTo(moves, next));
    this.scene = { kind: "look", moves, path: way, ...more };
    this.showScene();
  }

  playAs(seat) {
    this.pause();
    clearTimeout(this.timer);
    this.scene = { kind: "play", moves: [], seat };
    this.board.element.scrollIntoView({ block: "nearest" });
    this.answer();
  }

  answer() {
    this.showScene();
    const { moves, seat } = this.scene, position = positionAfter(this.game, moves);
    if (position.isOver || position.mover === seat) return say(this.live, this.words.textContent);
    this.timer = setTimeout(() => {
      const greedy = greedyOf(this.frame.values, this.positions.nodes[this.at]), path = this.path;
      const cells = position.legal.filter((cell) => greedy.includes(this.childOf(path, cell)));
      this.put(drawnCell(cells.map((cell) => [cell, 1])));
    }, REPLY_AFTER);
  }

  put(cell) {
    this.scene = { ...this.scene, moves: [...this.scene.moves, cell], path: undefined };
    this.answer();
  }

  press(cell) {
    if (this.scene.kind === "play") return this.put(cell);
    this.pause();
    this.scene = { kind: "look", moves: [...this.scene.moves, cell] };
    this.showScene();
  }

  listen() {
    const { map } = this;
    map.element.addEventListener("pointermove", (event) => {
      const at = event.pointerType === "touch" ? -1 : map.nearest(event);
      if (at >= 0 && this.scene.kind === "look" && this.at !== at) this.look(at);
    });
    map.element.addEventListener("pointerleave", ({ pointerType }) => {
      if (this.scene.kind !== "look" || pointerType === "touch") return;
      this.scene = this.home;
      this.showScene();
    });
    map.element.addEventListener("click", (event) => { // a finger sees the board first, and with a second touch the game
      const at = map.nearest(event), isSeen = event.pointerType !== "touch" || (this.scene.kind === "look" && this.at === at);
      if (at < 0) return;
      this.pause();
      if (isSeen) this.replay(at); else this.look(at);
    });
    map.element.addEventListener("keydown", (event) => {
      const next = map.beside(this.at, event.key);
      if (event.key !== "Enter" && next === undefined) return;
      event.preventDefault();
      this.pause();
      if (event.key === "Enter") this.replay(this.at);
      else {
        this.look(next);
        say(this.live, this.words.textContent);
      }
    });
  }
}
