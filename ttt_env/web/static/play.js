// Play: X and O are each a person or an agent. The address holds the whole game.

import { addressOf, movesOf, numberOf, textOf } from "./address.js";
import { AnswerError, ask, isAborted } from "./answers.js";
import { Board } from "./board.js";
import { copyButton, fillWith, h, s, say, select, set } from "./dom.js";
import { SEATS, drawnCell, legalStart, otherSeat, positionAfter, seatOf } from "./rules.js";
import { VERBS, percent, signed } from "./words.js";

const PERSON = "person";
const REPLY_AFTER = 250, WATCH_AFTER = 700; // milliseconds before an agent moves, against a person and against an agent
const KINDS = { "1": "win", "0": "draw", "-1": "loss" };
const CERTAIN = { solved: "solved", proved: "proved", cited: "known" };

const wait = (milliseconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); reject(new DOMException("", "AbortError")); });
});

/** The value of a position or a move in words, an estimate as the range that it is. */
export function valueText({ value, basis, low, high }, seat = "X") {
  if (value !== null) return value ? `${value > 0 ? seat : otherSeat(seat)} wins` : "a draw";
  return basis === "estimated" ? `between ${signed(low)} and ${signed(high)} for ${seat}` : "not known";
}

export class PlayView {
  constructor(root, app) {
    this.app = app;
    this.played = []; // the moves of the game that is being played here, or null once it is no such game
    this.status = h("h1", { class: "status" });
    this.live = h("p", { class: "unseen", "aria-live": "polite" });
    this.complaint = h("p", { class: "complaint", role: "alert", hidden: true });
    this.stage = h("div");
    this.judgement = h("p", { class: "soft judgement" });
    this.moves = h("div", { class: "moves", hidden: true });
    this.links = Object.fromEntries(["undo", "redo", "again", "swap", "see", "pause", "inside"].map((id) => [id, h("a", { class: "button", id })]));
    for (const [id, text] of Object.entries({ undo: "Undo", redo: "Redo", again: "New game", swap: "Swap seats", see: "See the values", inside: "Look inside" })) say(this.links[id], text);
    this.seats = h("div", { class: "seats" });
    this.levels = h("div", { class: "levels", role: "group", "aria-label": "Level" });
    this.strength = h("p", { class: "soft" });
    this.games = select({ "aria-label": "Game", change: ({ target }) => this.go({ game: target.value, moves: "", at: "", x: "", o: "" }) },
      { "": app.games.map(({ id, title }) => [id, title]) });
    this.rule = h("p", { class: "soft" });
    fillWith(root, h("div", { class: "play" },
      h("section", { class: "stage", "aria-label": "The game" }, this.status, this.complaint, this.stage, this.judgement,
        h("div", { class: "bar" }, Object.values(this.links).slice(0, -1)), this.moves),
      h("aside", { class: "side" }, h("h2", {}, "Game"), this.games, this.rule, h("h2", {}, "Players"), this.seats, this.levels, this.strength,
        h("div", { class: "bar" }, this.links.inside, copyButton("Copy link"))), this.live));
  }

  async update(fields) {
    this.leave();
    const game = this.app.games.find(({ id }) => id === fields.game) ?? this.app.games[0];
    if (game !== this.game) {
      this.game = game;
      this.knowledge = this.app.knowledgeOf(game);
      this.board = new Board(game, { label: `Board of ${game.title}`, onPress: (cell) => this.put(cell) });
      fillWith(this.stage, this.board.element);
      this.games.value = game.id;
      say(this.rule, game.rule);
    }
    const usual = game.levels[1]?.agent ?? PERSON;
    this.moved = legalStart(game, movesOf(fields.moves));
    this.fields = {
      game: game.id, x: fields.x || PERSON, o: fields.o || (fields.x && fields.x !== PERSON ? PERSON : usual), moves: textOf(this.moved),
      at: fields.at === undefined ? "" : fields.at, see: fields.see, pause: fields.pause,
    };
    this.at = Math.trunc(numberOf(fields.at, this.moved.length, 0, this.moved.length));
    if (!this.moved.length) this.played = [];
    const { signal } = (this.controller = new AbortController());
    this.fault = "";
    this.show();
    try {
      await this.goOn(signal);
    } catch (error) {
      if (isAborted(error)) return;
      if (!(error instanceof AnswerError)) throw error;
      this.complain(error.message);
    }
  }

  close() {
    this.leave();
  }

  /** Nobody waits any more for what is being computed. */
  leave() {
    this.controller?.abort();
  }

  go(changes, { replaces = false } = {}) {
    const address = addressOf("play", { ...this.fields, ...changes });
    if (!replaces) { location.hash = address; return; }
    history.replaceState(null, "", address);
    this.update({ ...this.fields, ...changes });
  }

  to(changes) {
    return addressOf("play", { ...this.fields, ...changes });
  }

  get shown() {
    return this.moved.slice(0, this.at);
  }

  get position() {
    return positionAfter(this.game, this.shown);
  }

  player(seat) {
    return this.fields[seat.toLowerCase()];
  }

  /** The name of a player: a person, a level where it is one, or the agent. */
  nameOf(seat) {
    const player = this.player(seat);
    if (player === PERSON) return this.player(otherSeat(seat)) === PERSON ? seat : "You";
    const level = this.game.levels.find(({ agent }) => agent === player);
    return `${level ? level.name : player.split(":")[0]} (${seat})`;
  }

  get isWatched() {
    return SEATS.every((seat) => this.player(seat) !== PERSON);
  }

  /** True if an agent is to move, and nothing keeps it from moving. */
  get isAgentsTurn() {
    const { mover, isOver } = this.position;
    return !isOver && this.at === this.moved.length && this.player(mover) !== PERSON && !this.fields.pause;
  }

  put(cell, { isReply = false } = {}) {
    const moves = [...this.shown, cell];
    this.played = String(this.played) === String(this.shown) ? moves : null;
    this.go({ moves: textOf(moves), at: "" }, { replaces: isReply });
  }

  // ---- What the program does after each step: it moves, judges, records.

  async goOn(signal) {
    if (this.isAgentsTurn) return this.reply(signal);
    if (this.fields.see && !this.position.isOver) await this.showValues(signal);
    const isFinished = positionAfter(this.game, this.moved).isOver;
    if (isFinished) await this.record(signal);
    if (isFinished) await this.judge(signal);
  }

  async reply(signal) {
    const begun = performance.now(), values = this.fields.see ? this.showValues(signal) : null;
    const { moves } = await this.knowledge.policy(this.player(this.position.mover), this.shown, signal);
    await values;
    await wait(Math.max(0, (this.isWatched ? WATCH_AFTER : REPLY_AFTER) - (performance.now() - begun)), signal);
    const { mover } = this.position, cell = drawnCell(moves);
    say(this.live, `${this.nameOf(mover)}: cell ${cell}.`);
    this.put(cell, { isReply: true });
  }

  /** What is known about each move, on the board: by solution or proof, else as an estimate. */
  async showValues(signal) {
    const { mover } = this.position, agent = this.player(mover);
    say(this.judgement, "Computing the values …");
    const known = await this.knowledge.evaluate(this.shown, signal);
    const policy = agent === PERSON ? null : await this.knowledge.policy(agent, this.shown, signal);
    const chances = new Map(policy && !policy.isSample ? policy.moves : []);
    const marks = new Map([...known.moves].map(([cell, move]) => {
      const isKnown = move.value !== null && move.value !== undefined, chance = chances.get(cell);
      const range = move.low === undefined ? "" : `${signed(move.low, 1)}…${signed(move.high, 1)}`;
      const ending = isKnown && move.value && move.plies ? ` in ${move.plies}` : "";
      return [cell, {
        kind: KINDS[move.value], isFaint: chance === 0,
        text: chance === undefined ? (isKnown ? (ending ? ending.trim() : "") : range) : percent(chance),
        words: `${isKnown ? `${VERBS[move.value]}${ending}` : range ? `between ${range.replace("…", " and ")}` : "not known"}${chance === undefined ? "" : `, played with ${percent(chance)}`}`,
      }];
    }));
    this.board.show(this.position, { isOpen: this.isOpen, marks });
    const basis = CERTAIN[known.basis] ?? (known.basis === "estimated" ? "estimated by search" : "");
    const legend = known.basis === "unknown" ? "" : " Circle: the move wins; bars: it draws; diamond: it loses.";
    say(this.judgement, `With best play: ${valueText(known)}${basis && `, ${basis}`}${known.source ? ` (${known.source})` : ""}.${legend}`);
  }

  async record(signal) {
    const isPlayed = this.played && String(this.played) === String(this.moved) && SEATS.some((seat) => this.player(seat) === PERSON);
    if (!this.app.records || !isPlayed) return;
    this.played = null; // once
    await ask("record", { game: this.game.id, x: this.player("X"), o: this.player("O"), moves: this.moved }, signal);
  }

  /** Which moves gave something away, and which of them decided the game. */
  async judge(signal) {
    if (!this.knowledge.isSolved && !this.app.hasAnswers) return;
    const values = [];
    for (let ply = 0; ply <= this.moved.length; ply++) values.push(await this.knowledge.value(this.moved.slice(0, ply), signal));
    const isWorse = (ply) => values[ply] !== null && values[ply - 1] !== null && (ply % 2 ? 1 : -1) * (values[ply] - values[ply - 1]) < 0;
    const blunders = values.flatMap((_, ply) => (ply && isWorse(ply) ? [ply] : []));
    const decisive = blunders.findLast((ply) => values[ply] === values.at(-1));
    this.showMoves(values, blunders, decisive);
    if (decisive === undefined) return;
    const name = this.nameOf(seatOf(decisive - 1)), { winner } = positionAfter(this.game, this.moved);
    this.fault = `${name === "You" ? "you" : name} ${winner ? "lost it" : "missed a win"} at move ${decisive}`;
    this.tell();
  }

  // ---- The page.

  get isOpen() {
    const { isOver, mover } = this.position;
    return !isOver && this.player(mover) === PERSON;
  }

  show() {
    this.complaint.hidden = true;
    this.board.show(this.position, { isOpen: this.isOpen });
    this.tell();
    say(this.judgement, "");
    const stepBack = () => {
      for (let at = this.at - 1; at >= 0; at--) if (this.isWatched || this.player(seatOf(at)) === PERSON) return at;
      return this.at ? 0 : undefined;
    };
    const links = {
      undo: stepBack() === undefined ? null : this.to({ at: stepBack() }),
      redo: this.at < this.moved.length ? this.to({ at: this.at + 1 === this.moved.length ? "" : this.at + 1 }) : null,
      again: this.moved.length ? this.to({ moves: "", at: "" }) : null,
      swap: this.to({ x: this.fields.o, o: this.fields.x, moves: "", at: "" }),
      see: this.to({ see: this.fields.see ? "" : 1 }),
      pause: this.to({ pause: this.fields.pause ? "" : 1, at: "" }),
      inside: addressOf("inside", { game: this.game.id, moves: textOf(this.shown) }),
    };
    for (const [id, address] of Object.entries(links)) {
      set(this.links[id], "href", address);
      set(this.links[id], "aria-disabled", address ? null : "true");
      set(this.links[id], "role", address ? null : "link");
    }
    set(this.links.again, "class", this.position.isOver ? "button main" : "button");
    set(this.links.see, "aria-current", this.fields.see ? "true" : null);
    say(this.links.pause, this.fields.pause ? "Go on" : "Pause");
    this.links.pause.hidden = !this.isWatched;
    this.showMoves([], [], undefined);
    this.showPlayers();
  }

  tell() {
    const { isOver, winner, mover } = this.position;
    const review = this.at < this.moved.length ? `After move ${this.at} of ${this.moved.length}: ` : "";
    const isAgent = this.player(mover) !== PERSON;
    const isBoth = this.nameOf(mover) === mover;
    const turn = isAgent ? `${this.nameOf(mover)} is ${this.isAgentsTurn && this.complaint.hidden ? "thinking …" : "to move"}` : isBoth ? `${mover} to move` : `Your turn: ${mover}`;
    const ended = winner === null ? "A draw" : this.nameOf(winner) === "You" ? `You win as ${winner}` : `${this.nameOf(winner)} wins`;
    const text = review + (isOver ? ended + (this.fault && `: ${this.fault}`) : turn);
    say(this.status, text);
    set(this.status, "class", `status ${(isOver ? winner ?? "" : mover).toLowerCase()}`);
    if (isOver || !isAgent) say(this.live, `${this.live.textContent.split(". ")[0]}. ${text}`);
  }

  complain(message) {
    const retry = h("button", { type: "button", click: () => this.update(this.fields) }, "Try again");
    fillWith(this.complaint, message, " ", retry);
    this.complaint.hidden = false;
    this.tell();
  }

  /** The moves as links, the course of the game where it is known, and the move that decided it. */
  showMoves(values, blunders, decisive) {
    this.moves.hidden = !this.moved.length;
    const list = this.moved.map((cell, ply) => h("li", { class: [seatOf(ply).toLowerCase(), ply >= this.at && "back", blunders.includes(ply + 1) && "blunder"].filter(Boolean).join(" ") },
      h("a", { href: this.to({ at: ply + 1 === this.moved.length ? "" : ply + 1 }), "aria-current": ply + 1 === this.at ? "step" : null,
        "aria-label": `Move ${ply + 1}: ${seatOf(ply)} on ${cell}${blunders.includes(ply + 1) ? ", a blunder" : ""}` }, String(cell))));
    const isKnown = values.length > 1 && values.every((value) => value !== null);
    const line = isKnown && s("svg", { class: "course", viewBox: `0 -1.2 ${this.moved.length} 2.4`, preserveAspectRatio: "none", role: "img",
      "aria-label": `The value for X after each move: ${values.map((value) => signed(value, 0)).join(", ")}` },
    s("path", { class: "zero", d: `M0 0H${this.moved.length}` }), s("path", { d: `M${values.map((value, ply) => `${ply} ${-value}`).join("L")}` }));
    const show = decisive !== undefined && h("p", {}, h("a", { class: "button", href: this.to({ at: decisive - 1, see: 1 }) }, `See what was better at move ${decisive}`));
    fillWith(this.moves, h("h2", {}, "Moves"), line || "", h("ol", {}, list), show || "");
  }

  showPlayers() {
    const { game, app } = this;
    const levels = game.levels.map(({ name, agent }) => [agent, `${name}: ${agent}`]);
    const agents = game.agents.filter((agent) => !levels.some(([each]) => each === agent)).map((agent) => [agent, agent]);
    const known = [PERSON, ...levels.map(([agent]) => agent), ...game.agents];
    fillWith(this.seats, SEATS.map((seat) => {
      const player = this.player(seat), other = known.includes(player) ? [] : [[player, player]];
      const choice = select({ "aria-label": `Player of ${seat}`, change: ({ target }) => this.go({ [seat.toLowerCase()]: target.value, at: "" }) },
        { "": [[PERSON, "A person"], ...other], Levels: levels, Agents: agents });
      choice.value = player;
      return h("label", { class: seat.toLowerCase() }, h("b", {}, seat), seat === "X" ? " moves first" : " moves second", choice);
    }));
    const seat = SEATS.find((each) => this.player(each) !== PERSON) ?? "O";
    fillWith(this.levels, game.levels.map((level) => {
      const own = level.seat || seat, players = level.seat ? { x: level.agent, o: PERSON } : { [seat.toLowerCase()]: level.agent };
      return h("a", { class: "level", href: this.to({ ...players, moves: "", at: "" }), "aria-current": this.player(own) === level.agent ? "true" : null }, h("b", {}, level.name), h("span", {}, level.manner));
    }));
    const agent = SEATS.map((each) => this.player(each)).find((each) => each !== PERSON);
    const isJudged = app.hasAnswers || game.levels.some((level) => level.agent === agent); // a site of files has the certificates of the levels
    const certificate = agent && isJudged && h("a", { href: addressOf("compare", { game: game.id, agent }) }, `How strong is ${agent}?`);
    fillWith(this.strength, certificate);
  }
}
