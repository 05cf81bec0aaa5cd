// Compare: everyone against everyone, each agent's certificate with the game that beats it, and learners that train while one looks.

import { addressOf, textOf } from "./address.js";
import { AnswerError, ask, data, follow, isAborted } from "./answers.js";
import { picture } from "./board.js";
import { copyButton, fillWith, h, s, say, select } from "./dom.js";
import { SEATS, positionAfter, seatOf } from "./rules.js";
import { count, plural, signed } from "./words.js";

const PERSON = "person";

export class CompareView {
  constructor(root, app) {
    this.app = app;
    this.games = select({ "aria-label": "Game", change: ({ target }) => { location.hash = addressOf("compare", { game: target.value }); } },
      { "": app.games.filter(({ strength }) => strength || app.hasAnswers).map(({ id, title }) => [id, title]) });
    this.complaint = h("p", { class: "complaint", role: "alert", hidden: true });
    this.certificate = h("section", { class: "certificate", "aria-label": "Certificate", "aria-live": "polite" });
    this.ladder = h("section", { "aria-label": "The ladder" });
    this.training = h("section", { "aria-label": "Training" });
    fillWith(root, h("div", { class: "compare" }, this.complaint, this.certificate, this.ladder, this.training));
    if (app.hasAnswers) this.buildTraining();
  }

  async update(fields) {
    this.controller?.abort();
    const { signal } = (this.controller = new AbortController());
    this.complaint.hidden = true;
    this.game = this.app.games.find(({ id }) => id === fields.game) ?? this.app.games[0];
    this.games.value = this.game.id;
    fillWith(this.ladder, h("p", { class: "soft waits" }, "Computing every match; this takes some seconds, the first time only …"));
    try {
      const strength = this.game.strength ? await data(this.game.strength) : null;
      this.showLadder(strength);
      await this.showCertificate(fields.agent, strength, signal);
    } catch (error) {
      if (isAborted(error)) return;
      if (!(error instanceof AnswerError)) throw error;
      fillWith(this.certificate);
      say(this.complaint, error.message);
      this.complaint.hidden = false;
    }
  }

  close() {
    this.controller?.abort();
    this.trainer?.abort();
  }

  to(changes) {
    return addressOf("compare", { game: this.game.id, ...changes });
  }

  // ---- The ladder.

  showLadder(strength) {
    const { app, game } = this;
    const agents = strength ? [] : game.agents;
    const input = h("input", { type: "text", list: "agents", required: true, "aria-label": "Agent", placeholder: "minimax, mcts:simulations=50,seed=0, …" });
    const form = app.hasAnswers && h("form", { class: "bar", submit: (event) => { event.preventDefault(); location.hash = this.to({ agent: input.value }); } },
      input, h("datalist", { id: "agents" }, game.agents.map((each) => h("option", { value: each }))), h("button", { class: "main" }, "Certify"));
    const table = strength && h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Scores" }, h("table", { class: "ladder" },
      h("thead", {}, h("tr", {}, h("td", {}), strength.agents.map(({ agent }) => h("th", { scope: "col" }, h("span", {}, agent))), h("th", { scope: "col" }, "mean"))),
      h("tbody", {}, strength.agents.map(({ agent, unbeatable, scores, mean }) => h("tr", {},
        h("th", { scope: "row" }, h("a", { href: this.to({ agent }) }, agent), unbeatable ? h("small", {}, " unbeatable") : null),
        scores.map((score) => h("td", { class: score > 0.005 ? "win" : score < -0.005 ? "loss" : "draw" }, signed(score, 2))), h("td", {}, signed(mean, 2)))))));
    fillWith(this.ladder, [
      h("h1", {}, strength ? "Everyone against everyone" : "How strong is an agent?"),
      h("p", { class: "soft" }, strength ? "Each number is the score of the row's agent against the column's: wins − losses per game, over both seats. They are computed, not sampled: every possible game is counted, with its probability. Choose an agent to see its certificate."
        : "Every position that the agent can reach is asked for once, against every reply. Either nothing beats it, or you see a shortest game that does."),
      h("div", { class: "bar" }, this.games, copyButton("Copy link")), table, form, agents.length ? h("p", {}, agents.map((agent) => [h("a", { href: this.to({ agent }) }, agent), " "])) : null]);
  }

  // ---- A certificate.

  async showCertificate(agent, strength, signal) {
    if (!agent) return fillWith(this.certificate);
    let known = strength?.agents.find((each) => each.agent === agent);
    if (!known) {
      if (!this.app.hasAnswers) throw new AnswerError(`${agent} is not among the agents of this site.`);
      const stop = h("button", { type: "button", click: () => { location.hash = this.to({}); } }, "Stop");
      fillWith(this.certificate, h("h1", {}, agent), h("p", { class: "soft waits" }, "Asking it in every position that it can reach … "), stop);
      known = await ask("certify", { game: this.game.id, agent }, signal);
    }
    const seal = known.unbeatable === null ? "none" : known.unbeatable ? "proved" : "beatable";
    fillWith(this.certificate, h("h1", {}, known.agent), h("p", { class: `seal ${seal}` }, known.verdict), known.lines.map((line) => h("p", { class: "soft" }, line)),
      SEATS.map((seat) => known.refutations[seat] && this.refutation(known.agent, seat, known.refutations[seat])).filter(Boolean),
      h("p", { class: "bar" }, h("a", { class: "button", href: addressOf("play", { game: this.game.id, x: PERSON, o: known.agent }) }, "Play against it"), h("a", { class: "button", href: this.to({}) }, "Close")));
    return undefined;
  }

  /** A game that the agent loses, board by board, its blunders marked. */
  refutation(agent, seat, { moves, blunders }) {
    const boards = moves.map((cell, ply) => {
      const isBlunder = blunders.includes(ply + 1), name = ply % 2 === SEATS.indexOf(seat) ? "" : " (the opponent)";
      const words = `Move ${ply + 1}: ${seatOf(ply)} on ${cell}${name}${isBlunder ? ", a blunder" : ""}`;
      return h("li", {}, picture(this.game, positionAfter(this.game, moves.slice(0, ply + 1)), words, { accents: new Map([[cell, isBlunder ? "blunder" : "last"]]) }),
        h("span", {}, `${ply + 1}. ${seatOf(ply)} ${cell}`));
    });
    const players = seat === "X" ? { x: agent, o: PERSON } : { x: PERSON, o: agent };
    return h("div", { class: "refutation" }, h("h2", {}, `The game that beats it as ${seat}`), h("ol", { class: "strip" }, boards),
      h("a", { class: "button", href: addressOf("play", { game: this.game.id, ...players, moves: textOf(moves) }) }, "Review this game"));
  }

  // ---- A learner that trains.

  buildTraining() {
    const algorithms = select({ "aria-label": "Algorithm" }, { "": this.app.algorithms.map((name) => [name, name]) });
    const start = h("button", { type: "button", class: "main", click: () => this.train(algorithms.value) }, "Train");
    this.stopButton = h("button", { type: "button", hidden: true, click: () => this.trainer.abort() }, "Stop");
    this.run = h("div");
    fillWith(this.training, h("h2", {}, "Watch a learner"), h("p", { class: "soft" }, "It trains on tic-tac-toe until no opponent can beat it; its exploitability is computed again and again. Below 0.01 the line is at the bottom."),
      h("div", { class: "bar" }, algorithms, start, this.stopButton), this.run);
  }

  async train(algorithm) {
    this.trainer?.abort();
    const { signal } = (this.trainer = new AbortController());
    const line = s("path"), words = h("p", { role: "status" }, `${algorithm} begins …`), points = [];
    const chart = s("svg", { class: "curve run", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": `Exploitability of ${algorithm} over its training` }, s("line", { x2: 1000, y1: 100, y2: 100 }), line);
    fillWith(this.run, words, h("div", { class: "row soft" }, h("span", {}, "exploitability: 1 above, 0 below")), chart);
    this.stopButton.hidden = false;
    try {
      for await (const event of follow("train", { algorithm }, signal)) {
        if (event.error) throw new AnswerError(event.error);
        if (event.verdict) say(words, `${algorithm}: ${event.verdict}`);
        else {
          points.push([event.seconds, event.exploitability]);
          say(words, `${algorithm}: ${plural(event.steps, "step")}, ${count(Math.round(event.seconds))} s, exploitability ${event.exploitability.toFixed(3)}`);
        }
        const last = points.at(-1)?.[0] || 1;
        line.setAttribute("d", points.length ? `M${points.map(([at, value]) => `${(1000 * at / last).toFixed(1)} ${(100 - 100 * Math.min(value, 1)).toFixed(1)}`).join("L")}` : "");
      }
    } catch (error) {
      if (isAborted(error)) say(words, `${algorithm}: stopped`);
      else if (error instanceof AnswerError) say(words, `${algorithm}: ${error.message}`);
      else throw error;
    } finally {
      if (this.trainer.signal === signal) this.stopButton.hidden = true;
    }
  }
}
