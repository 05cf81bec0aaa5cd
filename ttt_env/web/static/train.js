// The page on which an agent learns: it plays against itself here, and after every few games its strength is computed
// over all positions, as `ttt_env.certify` does it.

import { byId, draw, mark, seatOf, showFigures } from "./export_board.js";
import { answered, drawnCell, leastImage } from "./policies.js";
import { TIE, enumerate, numberAfter, softmax } from "./solver.js";
import { percent, signed } from "./words.js";

const GAMES = 10; // of self-play, between two pictures
const MOST_GAMES = 12_000; // then it gives up
const PACE = 650; // milliseconds between the moves of a game that is shown
const CORNER = [0]; // the game whose last position shows what it has learned: only the centre saves O

/** Numbers from 0 to 1, the same for the same seed (mulberry32, T. Ettinger). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The class of symmetric positions that each position belongs to, by number. */
function classesOf(positions, { cells, symmetries }) {
  const numbers = new Map();
  return positions.map((position) => {
    const { mine, theirs } = leastImage(position, symmetries), key = (mine << cells) | theirs;
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key);
  });
}

/**
 * Q-learning against itself. What it learns is the value of each move to the player who makes it, kept by the position
 * after the move, and once for all symmetric ones. It begins with 0 everywhere.
 */
export class Learner {
  constructor(positions, game) {
    this.positions = positions;
    this.classes = classesOf(positions, game);
  }

  start(seed) {
    this.values = new Float64Array(this.positions.length);
    this.random = randomNumbers(seed);
    this.games = 0;
  }

  valuesOf(position) {
    return position.moves.map(([, after]) => this.values[this.classes[after]]);
  }

  learn(after, target, rate) {
    this.values[this.classes[after]] += rate * (target - this.values[this.classes[after]]);
  }

  playGame(exploration, rate) {
    let number = 0;
    while (this.positions[number].moves.length) {
      const { moves, ply } = this.positions[number];
      const values = this.valuesOf(this.positions[number]), highest = Math.max(...values);
      if (ply) this.learn(number, -highest, rate); // the last move was worth what it leaves to the other one
      const best = values.findIndex((value) => value >= highest - TIE);
      number = moves[this.random() < exploration ? Math.floor(this.random() * moves.length) : best][1];
    }
    this.learn(number, -this.positions[number].end, rate);
    this.games += 1;
  }

  /** The chances of the moves of each position: the agent plays any of those that it takes for the best. */
  policy() {
    return this.positions.map((position) => (position.moves.length ? softmax(this.valuesOf(position), 0) : []));
  }
}

/** A game in which the agent, as X or not, loses by its policy to the best answer. */
function lostGame(positions, policy, isX, { win, loss }) {
  const cells = [];
  let number = 0;
  while (positions[number].moves.length) {
    const { moves, ply } = positions[number], isMine = (ply % 2 === 0) === isX;
    const risk = ([, after]) => (isMine ? win[after] : loss[after]); // that the agent loses from there on
    const open = moves.filter((move, at) => !isMine || policy[number][at] > 0);
    const worst = isMine
      ? open.reduce((a, b) => (risk(b) > risk(a) + TIE ? b : a))
      : open.reduce((a, b) => (loss[b[1]] - win[b[1]] > loss[a[1]] - win[a[1]] + TIE ? b : a));
    cells.push(worst[0]);
    number = worst[1];
  }
  return cells;
}

export function startTraining() {
  const game = JSON.parse(byId("train").dataset.game);
  const positions = enumerate(game), learner = new Learner(positions, game);
  const form = document.querySelector("form.boards");
  let curve, policy, outcomes, frame = 0, timer = 0, shown = []; // the moves of the game on the board

  const setting = (id) => Number(byId(id).value);
  const chanceOf = { X: () => outcomes.asX.loss[0], O: () => outcomes.asO.win[0] }; // that it loses
  const isUnbeatable = () => chanceOf.X() + chanceOf.O() < TIE;

  function judge() {
    policy = learner.policy();
    outcomes = { asX: answered(positions, policy, true), asO: answered(positions, policy, false) };
    curve.push([learner.games, chanceOf.X(), chanceOf.O()]);
  }

  function reset() {
    stop();
    learner.start(setting("seed"));
    curve = [];
    shown = CORNER;
    judge();
    show();
  }

  function step() {
    for (let each = 0; each < GAMES; each++) learner.playGame(setting("exploration"), setting("rate"));
    judge();
    const isOver = isUnbeatable() || learner.games >= MOST_GAMES;
    frame = isOver ? 0 : requestAnimationFrame(step);
    show();
  }

  function train() {
    stop();
    if (isUnbeatable() || learner.games >= MOST_GAMES) {
      byId("seed").value = setting("seed") + 1;
      reset();
    }
    shown = CORNER;
    frame = requestAnimationFrame(step);
    show();
  }

  /** End the learning, the game that is shown, and the game of a person. */
  function stop() {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = 0;
    delete form.dataset.person;
  }

  function show() {
    showCurve();
    showBoard();
    const isLearning = frame !== 0, hasLearned = learner.games > 0;
    byId("go").textContent = isLearning ? "Stop" : isUnbeatable() ? "Train another one" : hasLearned ? "Go on" : "Train one now";
    mark(byId("again"), "disabled", (isLearning || !hasLearned) && "");
    byId("proved").hidden = !isUnbeatable();
    byId("lost").hidden = isLearning || !hasLearned || isUnbeatable();
    for (const each of document.querySelectorAll("[data-play]")) mark(each, "disabled", (isLearning || !hasLearned) && "");
    const games = `${learner.games.toLocaleString("en")} games`;
    const [asX, asO] = [chanceOf.X(), chanceOf.O()].map(percent);
    byId("state").textContent = !hasLearned ? "It has not played yet"
      : isUnbeatable() ? `Unbeatable after ${games}` : `After ${games}: still beatable`;
    byId("as-x").textContent = asX;
    byId("as-o").textContent = asO;
    if (!isLearning && hasLearned) byId("live").textContent = `${byId("state").textContent}: ${asX} as X, ${asO} as O.`;
  }

  /** The curves of the losing chances as X and as O over the games, up to now. */
  function showCurve() {
    const most = Math.max(1000, learner.games);
    for (const [at, id] of [[1, "curve-x"], [2, "curve-o"]]) {
      const points = curve.map((row) => `${((1000 * row[0]) / most).toFixed(1)} ${(400 * (1 - row[at])).toFixed(1)}`);
      byId(id).setAttribute("d", `M${points.join("L")}`);
    }
    byId("most").textContent = most.toLocaleString("en");
  }

  /** While it learns, the board says how the agent would answer a corner; later it shows a game. */
  function showBoard() {
    const number = numberAfter(positions, shown);
    const isMine = form.dataset.person === seatOf(shown.length) && frame === 0;
    const board = draw(form, shown, game, { isOpen: isMine });
    byId("result").textContent = shown.length && !positions[number].moves.length
      ? (board.winner ? `${board.winner} wins.` : "A draw.") : "";
    byId("about").hidden = shown !== CORNER;
    if (shown !== CORNER) return;
    const values = learner.valuesOf(positions[number]);
    positions[number].moves.forEach(([cell], at) => showFigures(cell, policy[number][at], signed(values[at], 2)));
  }

  /** Show a game move by move. */
  function replay(cells) {
    shown = cells.slice(0, shown.length + 1);
    showBoard();
    if (shown.length < cells.length) timer = setTimeout(() => replay(cells), PACE);
  }

  /** Play against the agent: a person has this seat. */
  function playAs(seat) {
    stop();
    form.dataset.person = seat;
    shown = [];
    answer();
    show();
  }

  function answer() {
    const number = numberAfter(positions, shown);
    showBoard();
    if (!positions[number].moves.length || seatOf(shown.length) === form.dataset.person) return;
    timer = setTimeout(() => {
      shown.push(drawnCell(positions[number], policy[number]));
      showBoard();
    }, PACE / 2);
  }

  byId("go").addEventListener("click", () => {
    if (frame) { stop(); show(); } else train();
  });
  byId("again").addEventListener("click", reset);
  byId("never").addEventListener("click", () => {
    byId("exploration").value = 0;
    showSettings();
    reset();
    train();
  });
  byId("how").addEventListener("click", () => {
    const isX = chanceOf.X() > chanceOf.O();
    stop();
    shown = [];
    replay(lostGame(positions, policy, isX, isX ? outcomes.asX : outcomes.asO));
  });
  for (const each of document.querySelectorAll("[data-play]")) each.addEventListener("click", () => playAs(each.dataset.play));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation();
    if (!event.submitter) return;
    shown.push(Number(event.submitter.value));
    answer();
  });
  function showSettings() {
    byId("exploration-shown").textContent = percent(setting("exploration"));
    byId("rate-shown").textContent = setting("rate");
  }
  for (const id of ["exploration", "rate"]) byId(id).addEventListener("input", showSettings);
  byId("seed").addEventListener("change", () => { if (!frame) reset(); });
  showSettings();
  reset();
}
