// The exported page for playing. Its state is in the address, behind #, by the same names as on the page of the server.

import { answered, bestValues, policyOf } from "./policies.js";
import { byId, draw, goByArrows, legalStart, mark, seatOf, stateOf } from "./export_board.js";
import { enumerate } from "./solver.js";
import { signed } from "./words.js";

const PERSON = "person", DELAY = 250; // milliseconds before an agent moves
const NOTHING = 1e-9; // what rounding leaves of an exploitability of 0

/** What the address says; wrong parts are left out. */
function readTable(hash, { game, agents, first }) {
  const fields = new URLSearchParams(hash.slice(1));
  const isPlayer = (name) => name === PERSON || Object.hasOwn(agents, name) || hasSliders(name.split(":")[0], agents);
  const [x, o] = ["x", "o"].map((seat) => fields.get(seat) ?? "");
  const isFine = isPlayer(x) && isPlayer(o) && (x === PERSON) !== (o === PERSON);
  const cells = legalStart(fields.get("moves") ?? "", game);
  const at = fields.has("at") ? Number(fields.get("at")) : cells.length;
  return {
    x: isFine ? x : PERSON, o: isFine ? o : first, cells, sees: fields.get("see") === "1",
    at: Number.isInteger(at) && at >= 0 && at < cells.length ? at : cells.length,
  };
}

const addressOf = ({ x, o, cells, at, sees }) =>
  `#${stateOf({ x, o, moves: cells.join("."), at: at < cells.length ? at : "", see: sees ? "1" : "" })}`;

const hasSliders = (name, agents) => Object.hasOwn(agents, name) && agents[name].temperature !== undefined;

/** The agent's own name, with the parameters that the sliders have given it. */
function parametersOf(player, agents) {
  if (Object.hasOwn(agents, player)) return { name: player, ...agents[player] };
  const [name, items] = player.split(":");
  const given = Object.fromEntries((items ?? "").split(",").map((item) => item.split("=")));
  const temperature = Number(given.temperature ?? agents[name].temperature);
  const ascribed = Number(given.opponent_temperature ?? temperature);
  const isFine = [temperature, ascribed].every((number) => number >= 0 && number <= 3);
  return { name, ...agents[name], ...(isFine ? { temperature, opponent_temperature: ascribed } : {}) };
}

export function startPlay(ttt) {
  const { game, agents } = ttt;
  const positions = enumerate(game);
  const best = bestValues(positions);
  const form = document.querySelector("form.boards");
  const policies = new Map(); // of agents, with the outcomes against the best answer, by player
  let table, timer;

  const seat = () => (table.x === PERSON ? "X" : "O");
  const player = () => (table.x === PERSON ? table.o : table.x);
  const numberOf = (cells) => cells.reduce((at, cell) => positions[at].moves.find(([each]) => each === cell)[1], 0);

  function known() {
    const { name, ...facts } = parametersOf(player(), agents);
    const key = JSON.stringify([name, facts.temperature, facts.opponent_temperature]);
    if (!policies.has(key)) {
      if (policies.size > 50) policies.clear();
      const policy = policyOf(positions, game, { ...agents, [name]: facts }, name);
      policies.set(key, { name, policy, asX: answered(positions, policy, true), asO: answered(positions, policy, false) });
    }
    return policies.get(key);
  }

  function go(changes, { replaces = false } = {}) {
    table = { ...table, ...changes };
    history[replaces ? "replaceState" : "pushState"](null, "", addressOf(table));
    show();
  }

  /** A reply replaces the move before it, so that a step back in the browser leads to one's own turn. */
  function play(cell, isReply = false) {
    const cells = [...table.cells.slice(0, table.at), cell];
    go({ cells, at: cells.length }, { replaces: isReply });
  }

  /** The nearest number of moves, of these, after which the person is to move or the game is over. */
  const turnAt = (counts) => counts.find((at) => seatOf(at) === seat() || !positions[numberOf(table.cells.slice(0, at))].moves.length);
  const before = () => turnAt([...Array(table.at).keys()].reverse());
  const after = () => turnAt([...Array(table.cells.length).keys()].map((at) => at + 1).filter((at) => at > table.at));

  function insightsAt(number, { policy, asX, asO }) {
    const position = positions[number];
    const against = seat() === "X" ? asO : asX;
    return new Map(position.moves.map(([cell, next], at) => [cell, {
      chance: policy[number][at], value: -best[next], against: against.loss[next] - against.win[next],
    }]));
  }

  function show() {
    clearTimeout(timer);
    const cells = table.cells.slice(0, table.at), number = numberOf(cells), agent = known();
    const isOver = !positions[number].moves.length;
    const isMine = seatOf(table.at) === seat();
    const insights = table.sees && !isOver ? insightsAt(number, agent) : new Map();
    const board = draw(form, cells, game, { known: insights, isOpen: isMine });
    const goesOn = !isOver && !isMine && table.at === table.cells.length;
    tell(isOver, isMine, board.winner, agent.name);
    showMoves();
    showSettings(agent);
    byId("key").hidden = !insights.size;
    setLink("undo", before());
    setLink("redo", after());
    byId("see").setAttribute("aria-checked", `${table.sees}`);
    if (goesOn) timer = setTimeout(() => play(drawn(number, agent.policy[number]), true), DELAY);
  }

  function drawn(number, chances) {
    let rest = Math.random();
    const { moves } = positions[number];
    const at = chances.findIndex((chance) => (rest -= chance) < 0);
    return moves[at >= 0 ? at : chances.findLastIndex((chance) => chance > 0)][0]; // what rounding leaves
  }

  function tell(isOver, isMine, winner, name) {
    const ends = winner === null ? "A draw" : winner === seat() ? `You win as ${winner}` : `${name} (${winner}) wins`;
    const reviewed = table.at < table.cells.length ? `After move ${table.at} of ${table.cells.length}: ` : "";
    const turn = isMine ? `Your move, as ${seatOf(table.at)}` : `${name} is to move`;
    const text = reviewed + (isOver ? ends : turn);
    const status = document.querySelector("#status span");
    if (status.textContent !== text) status.textContent = byId("live").textContent = text;
    byId("status").classList.toggle("waits", !isOver && !isMine);
  }

  function setLink(id, at) {
    mark(byId(id), "href", at !== undefined && addressOf({ ...table, at }));
    mark(byId(id), "aria-disabled", at === undefined && "true");
  }

  function showMoves() {
    const list = document.querySelector(".moves ol");
    list.replaceChildren(...table.cells.map((cell, ply) => {
      const item = document.createElement("li"), link = document.createElement("a");
      item.className = `${seatOf(ply).toLowerCase()}${ply >= table.at ? " back" : ""}`;
      link.href = addressOf({ ...table, at: ply + 1 });
      link.textContent = cell;
      mark(link, "aria-current", ply + 1 === table.at && "step");
      item.append(link);
      return item;
    }));
    list.parentElement.hidden = !table.cells.length;
  }

  function showSettings({ name, asX, asO }) {
    byId("opponent").value = name;
    for (const each of ["X", "O"]) byId(`person-${each}`).checked = each === seat();
    const parameters = parametersOf(player(), agents), isSoft = hasSliders(name, agents);
    byId("temperatures").hidden = !isSoft;
    for (const key of isSoft ? ["temperature", "opponent_temperature"] : []) {
      const slider = byId(`agent-${key}`);
      if (Number(slider.value) !== parameters[key]) slider.value = parameters[key];
      slider.parentElement.querySelector("output").textContent = parameters[key];
    }
    for (const link of document.querySelectorAll(".presets a")) {
      mark(link, "aria-current", link.dataset.player === player() && "true");
    }
    // What a best answer gets more than the game is worth, by the agent's seat.
    const gained = { X: asX.loss[0] - asX.win[0] + best[0], O: asO.win[0] - asO.loss[0] - best[0] };
    byId("strength").textContent = gained.X + gained.O < NOTHING
      ? `${name} gives nothing away.`
      : `${name} gives away ${signed(gained.X, 3).replace("+", "")} as X, ${signed(gained.O, 3).replace("+", "")} as O.`;
    const certificate = byId("certificate");
    certificate.hidden = player() !== name; // other temperatures have none
    certificate.querySelector("a").href = agents[name].certificate;
  }

  const seated = (person, agent) => ({ x: person === "X" ? PERSON : agent, o: person === "X" ? agent : PERSON, cells: [], at: 0 });

  byId("opponent").addEventListener("change", (event) => go(seated(seat(), event.target.value)));
  for (const each of ["X", "O"]) byId(`person-${each}`).addEventListener("change", () => go(seated(each, player())));
  for (const link of document.querySelectorAll(".presets a")) {
    link.addEventListener("click", (event) => { event.preventDefault(); go(seated(seat(), link.dataset.player)); });
  }
  byId("temperatures").addEventListener("input", () => {
    const [own, ascribed] = ["temperature", "opponent_temperature"].map((key) => byId(`agent-${key}`).value);
    const agent = `${known().name}:temperature=${own},opponent_temperature=${ascribed}`;
    go(seat() === "X" ? { o: agent } : { x: agent }, { replaces: true });
  });
  byId("new").addEventListener("click", (event) => { event.preventDefault(); go({ cells: [], at: 0 }); });
  byId("swap").addEventListener("click", (event) => { event.preventDefault(); go(seated(seat() === "X" ? "O" : "X", player())); });
  byId("see").addEventListener("click", (event) => { event.preventDefault(); go({ sees: !table.sees }, { replaces: true }); });
  form.addEventListener("submit", (event) => { event.preventDefault(); if (event.submitter) play(Number(event.submitter.value)); });
  addEventListener("popstate", read);
  goByArrows(form);

  function read() {
    table = readTable(location.hash, ttt);
    if (location.hash) history.replaceState(null, "", addressOf(table)); // without what was wrong with it
    show();
  }

  read();
}
