// The exported page for playing. Its state is in the address, behind #, by the same names as on the page of the server.

import { answered, bestValues, drawnCell, movesToEnd, policyOf } from "./policies.js";
import { byId, draw, legalStart, mark, nameOf, seatOf, setLink, stateOf } from "./export_board.js";
import { keepScore, stoneOf } from "./life.js";
import { TIE, enumerate, numberAfter } from "./solver.js";
import { signed } from "./words.js";

const PERSON = "person", SOFTMAX = "softmax", DELAY = 250; // milliseconds before an agent moves

/** What the address says; wrong parts are left out. */
function readTable(hash, { game, agents, first }) {
  const fields = new URLSearchParams(hash.slice(1));
  const isPlayer = (name) => name === PERSON || Object.hasOwn(agents, name) || temperaturesOf(name, agents) !== null;
  const [x, o] = ["x", "o"].map((seat) => fields.get(seat) ?? "");
  const isFine = isPlayer(x) && isPlayer(o) && (x === PERSON) !== (o === PERSON);
  const cells = legalStart(fields.get("moves") ?? "", game);
  const at = fields.get("at") ? Number(fields.get("at")) : cells.length;
  return {
    x: isFine ? x : PERSON, o: isFine ? o : first, cells, sees: fields.get("see") === "1",
    at: Number.isInteger(at) && at >= 0 && at < cells.length ? at : cells.length,
  };
}

const addressOf = ({ x, o, cells, at, sees }) =>
  `#${stateOf({ x, o, moves: cells.join("."), at: at < cells.length ? at : "", see: sees ? "1" : "" })}`;

const hasSliders = (name, agents) => Object.hasOwn(agents, name) && agents[name].temperature !== undefined;

/** The temperatures in a spec such as softmax:temperature=0.5 or softmax:0.5, from 0 to 3; null in any other text. */
function temperaturesOf(player, agents) {
  const [key, items, ...more] = player.split(":");
  if (items === undefined || more.length || !hasSliders(key, agents)) return null;
  const given = {};
  for (const [number, item] of items.split(",").entries()) {
    const [name, value, ...rest] = number === 0 && !item.includes("=") ? ["temperature", item] : item.split("=");
    const isFine = /^(\d+\.?\d*|\.\d+)$/.test(value ?? "") && Number(value) <= 3 && !rest.length && !(name in given);
    if (!["temperature", "opponent_temperature"].includes(name) || !isFine) return null;
    given[name] = Number(value);
  }
  return given;
}

/** The facts about an agent under its `key`, with the temperatures that the sliders have given it. */
function factsOf(player, agents) {
  if (Object.hasOwn(agents, player)) return { key: player, ...agents[player] };
  const [key] = player.split(":");
  const { temperature = agents[key].temperature, opponent_temperature = temperature } = temperaturesOf(player, agents);
  return { key, ...agents[key], temperature, opponent_temperature };
}

/** The insights, those marked that are best: by value, and of equal ones by the result against the opponent. */
function marked(insights) {
  const value = Math.max(...insights.map((each) => each.value));
  const candidates = insights.filter((each) => each.value === value);
  const against = Math.max(...candidates.map((each) => each.against)); // null counts as 0
  return insights.map((each) => ({ ...each, isBest: candidates.includes(each) && against - each.against < TIE }));
}

export function startPlay(ttt) {
  const { game, agents } = ttt;
  const positions = enumerate(game);
  const best = bestValues(positions), ends = movesToEnd(positions, best);
  const form = document.querySelector("form.boards");
  const policies = new Map(); // of agents, with the outcomes against the best answer, by player
  const choices = [...document.querySelectorAll(".levels [id^=level-]")] // as the page came, with a person as X
    .map((link) => ({ link, agent: readTable(link.hash, ttt).o }));
  // The table is what the address says and, in `number`, which game it is, if that was played here from its first move.
  let table, timer;

  const seat = () => (table.x === PERSON ? "X" : "O");
  const player = () => (table.x === PERSON ? table.o : table.x);
  const against = (agent) => (seat() === "X" ? { x: PERSON, o: agent } : { x: agent, o: PERSON });

  function known() {
    const facts = factsOf(player(), agents);
    const name = JSON.stringify([facts.key, facts.temperature, facts.opponent_temperature]);
    if (!policies.has(name)) {
      if (policies.size > 50) policies.clear();
      const policy = policyOf(positions, game, { ...agents, [facts.key]: facts }, facts.key);
      policies.set(name, { ...facts, policy, asX: answered(positions, policy, true), asO: answered(positions, policy, false) });
    }
    return policies.get(name);
  }

  function go(changes, { replaces = false } = {}) {
    const next = { ...table, ...changes };
    const isSame = next.x === table.x && next.o === table.o && next.cells.length;
    table = { ...next, number: isSame ? next.number : null };
    history[replaces ? "replaceState" : "pushState"](table.number, "", addressOf(table));
    show();
  }

  /** A reply replaces the move before it, so that a step back in the browser leads to one's own turn. */
  function play(cell, isReply = false) {
    const cells = [...table.cells.slice(0, table.at), cell];
    go({ cells, at: cells.length, number: table.at ? table.number : Date.now() }, { replaces: isReply });
  }

  /** The nearest number of moves, of these, after which the person is to move or the game is over. */
  const turnAt = (counts) => counts.find((at) => seatOf(at) === seat() || !positions[numberAfter(positions, table.cells.slice(0, at))].moves.length);
  const before = () => turnAt([...Array(table.at).keys()].reverse());
  const after = () => turnAt([...Array(table.cells.length).keys()].map((at) => at + 1).filter((at) => at > table.at));

  /** What is known about the moves, by cell. A person's moves are judged against the agent as well. */
  function insightsAt(number, isMine, { policy, asX, asO }) {
    const outcomes = seat() === "X" ? asO : asX;
    const moves = positions[number].moves.map(([cell, next], at) => ({
      cell, chance: isMine ? null : policy[number][at], value: -best[next],
      against: isMine ? outcomes.loss[next] - outcomes.win[next] : null, ending: best[next] ? [`in ${ends[next] + 1}`] : [],
    }));
    return new Map(marked(moves).map((insight) => [insight.cell, insight]));
  }

  function show() {
    clearTimeout(timer);
    const cells = table.cells.slice(0, table.at), number = numberAfter(positions, cells), agent = known();
    const isOver = !positions[number].moves.length;
    const isMine = seatOf(table.at) === seat();
    const isSeen = table.sees && !isOver;
    const insights = isSeen ? insightsAt(number, isMine, agent) : new Map();
    const { winner } = draw(form, cells, game, { known: insights, isOpen: isMine });
    const goesOn = !isOver && !isMine && table.at === table.cells.length;
    const fault = showMoves(isOver, winner, agent.called);
    tell(isOver, goesOn, isMine, winner, agent.called, fault);
    judge(isSeen, table.at % 2 ? -best[number] : best[number]);
    count(isOver, winner, agent.called);
    showLinks(isOver);
    showSettings(agent);
    if (goesOn) timer = setTimeout(() => play(drawnCell(positions[number], agent.policy[number]), true), DELAY);
  }

  function tell(isOver, goesOn, isMine, winner, called, fault) {
    const other = seat() === "X" ? "O" : "X", toMove = seatOf(table.at);
    const result = winner === null ? "A draw" : winner === seat() ? `You win as ${winner}` : fault || `${called} (${winner}) wins`;
    const reviewed = table.at < table.cells.length ? `After move ${table.at} of ${table.cells.length}: ` : "";
    const turn = isMine ? `Your turn: ${toMove}` : `${called} (${toMove}) is ${goesOn ? "thinking …" : "to move"}`;
    const status = document.createElement("span"), shown = isOver ? winner : toMove;
    status.textContent = reviewed + (isOver ? result : turn);
    byId("status").replaceChildren(...(shown ? [stoneOf(shown)] : []), status);
    byId("status").classList.toggle("waits", goesOn);
    const isReply = table.at && !reviewed && seatOf(table.at - 1) === other;
    const reply = isReply ? `${called} (${other}): ${nameOf(byId(`cell-${table.cells.at(-1)}`))}. ` : "";
    byId("live").textContent = reply + status.textContent;
  }

  /** How the position stands, from −1 to 1 for X. */
  function judge(isSeen, value) {
    byId("seen").classList.toggle("seen", isSeen);
    const bar = document.querySelector(".evaluation"), told = byId("evaluations").content.children[1 - value];
    bar.style.cssText = told.style.cssText;
    bar.lastElementChild.textContent = told.lastElementChild.textContent;
  }

  function count(isOver, winner, called) {
    const isCounted = isOver && table.at === table.cells.length && table.number;
    const result = winner === null ? "draw" : winner === seat() ? "win" : "loss";
    Object.assign(byId("life").dataset, {
      result: isCounted ? result : "", number: table.number ?? "", pair: player(), rival: called,
    });
    keepScore();
  }

  function showLinks(isOver) {
    const to = (changes) => addressOf({ ...table, ...changes });
    const anew = { cells: [], at: 0 };
    for (const [id, at] of [["undo", before()], ["redo", after()]]) setLink(byId(id), at === undefined ? at : to({ at }));
    byId("new").href = to(anew);
    setLink(byId("again"), isOver ? to(anew) : undefined);
    byId("swap").href = to({ x: table.o, o: table.x, ...anew });
    byId("see").href = to({ sees: !table.sees });
    byId("see").setAttribute("aria-checked", `${table.sees}`);
    byId("inside").href = `inside.html#moves=${table.cells.slice(0, table.at).join(".")}`;
    for (const { link, agent } of choices) {
      link.href = to(against(agent));
      mark(link, "aria-current", agent === player() && "true");
    }
  }

  /** Show the moves and the course of the game; returns the headline of the mistake that decided it. */
  function showMoves(isOver, winner, called) {
    const { cells, at } = table, list = document.querySelector(".moves ol");
    const values = [...cells, null].map((_, ply) => { // for X
      const value = best[numberAfter(positions, cells.slice(0, ply))];
      return ply % 2 ? 0 - value : value;
    });
    const slips = [...values.keys()].filter((ply) => ply && (ply % 2 ? 1 : -1) * (values[ply] - values[ply - 1]) < 0);
    const points = values.map((value, ply) => `${ply} ${-value}`);
    const paths = { line: `M${points.join("L")}`, slip: slips.map((ply) => `M${points[ply]}h0`).join(""), now: `M${at} -1.15V1.15`, zero: `M0 0H${cells.length}` };
    const curve = document.querySelector(".course"), told = document.querySelector(".decisive");
    mark(curve, "viewBox", `0 -1.15 ${Math.max(cells.length, 1)} 2.3`);
    mark(curve, "aria-label", `The course of the game: ${values.map((value) => signed(value, 0)).join(" ")} for X`);
    for (const [name, path] of Object.entries(paths)) mark(curve.querySelector(`.${name}`), "d", path);
    const decisive = isOver && at === cells.length ? slips.findLast((ply) => values[ply] === values.at(-1)) : undefined;
    told.hidden = decisive === undefined;
    const name = seatOf(decisive - 1) === seat() ? "You" : `${called} (${seatOf(decisive - 1)})`;
    const fault = told.hidden ? "" : `${name} ${winner ? "lost it" : "missed a win"} at move ${decisive}`;
    told.firstElementChild.textContent = fault;
    told.firstElementChild.hidden = name === "You" && winner !== null; // then it is the headline
    setLink(byId("mistake"), told.hidden ? undefined : addressOf({ ...table, at: decisive - 1, sees: true }));
    byId("share").dataset.copy = byId("mistake").hash;
    list.replaceChildren(...cells.map((cell, ply) => {
      const item = document.createElement("li"), href = addressOf({ ...table, at: ply + 1 });
      const link = Object.assign(document.createElement("a"), { href, textContent: cell });
      item.className = `${seatOf(ply).toLowerCase()}${ply >= at ? " back" : ""}${slips.includes(ply + 1) ? " blunder" : ""}`;
      mark(link, "aria-current", ply + 1 === at && "step");
      item.append(link);
      return item;
    }));
    list.parentElement.hidden = !cells.length;
    return told.firstElementChild.hidden ? fault : "";
  }

  function showSettings({ key, temperature, opponent_temperature, asX, asO }) {
    byId("opponent").value = key;
    const isSoft = hasSliders(key, agents);
    byId("nature").classList.toggle("is-set", isSoft);
    byId("ascribed").hidden = !isSoft;
    showSlider("agent-temperature", isSoft ? temperature : undefined);
    showSlider("agent-opponent_temperature", isSoft ? opponent_temperature : undefined);
    // What a best answer gets more than the game is worth, by the agent's seat.
    const gained = { X: asX.loss[0] - asX.win[0] + best[0], O: asO.win[0] - asO.loss[0] - best[0] };
    byId("strength").textContent = gained.X + gained.O < TIE
      ? `${key} gives nothing away.`
      : `${key} gives away ${signed(gained.X, 3).replace("+", "")} as X, ${signed(gained.O, 3).replace("+", "")} as O.`;
    const certificate = byId("certificate");
    certificate.hidden = player() !== key; // other temperatures have none
    certificate.querySelector("a").href = agents[key].certificate;
  }

  function showSlider(id, number) {
    const slider = byId(id);
    if (number !== undefined && Number(slider.value) !== number) slider.value = number;
    slider.parentElement.querySelector("output").textContent = number ?? "–";
  }

  byId("opponent").addEventListener("change", (event) => go(against(event.target.value)));
  for (const id of ["agent-temperature", "agent-opponent_temperature"]) {
    byId(id).addEventListener("input", () => {
      const [own, ascribed] = ["temperature", "opponent_temperature"].map((name) => byId(`agent-${name}`).value);
      go(against(`${SOFTMAX}:temperature=${own},opponent_temperature=${ascribed}`), { replaces: true });
    });
  }
  addEventListener("submit", (event) => { // of any form
    event.preventDefault();
    if (event.target === form && event.submitter) play(Number(event.submitter.value));
  });
  // Every other step is a link to the table that it leads to.
  addEventListener("click", (event) => {
    const link = event.target.closest("#page a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(readTable(link.hash, ttt), { replaces: link.id === "see" });
  });
  addEventListener("popstate", read);

  function read() {
    table = { ...readTable(location.hash, ttt), number: history.state };
    if (location.hash) history.replaceState(table.number, "", addressOf(table)); // without what was wrong with it
    show();
  }

  read();
}
