// The exported game tree of softmax minimax: values and chances, computed here while the sliders move.

import { boardAfter, byId, copyOf, draw, legalStart, mark, seatOf, setLink, showFigures, stateOf } from "./export_board.js";
import { leastImage } from "./policies.js";
import { enumerate, numberAfter, softmax, sweep, valuesOfMoves } from "./solver.js";
import { percent, told } from "./words.js";

const MAX_BOARDS = 80, MAX_ABREAST = 12, MAX_ABREAST_DENSE = 19; // as on the page of the server

/**
 * A position in the tree: the cells that lead there, the value for X, the part of the chances of the position above it,
 * how many symmetric moves it stands for, and what follows it.
 * @typedef {{cells: number[], value: number, share: number, alike: number, isLit: boolean, children: Branch[]}} Branch
 */

function drawing(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [each, value] of Object.entries(attributes)) node.setAttribute(each, value);
  node.append(...children);
  return node;
}

export function startTree({ game, tiles }) {
  const positions = enumerate(game);
  const form = document.querySelector("form.boards"), tree = document.querySelector(".tree");
  const sliders = ["x-temperature", "o-temperature", "tree-plies"].map(byId);
  const classes = new Map(); // of symmetric positions, by number
  let cells;

  function classOf(number) {
    if (!classes.has(number)) {
      const { mine, theirs } = leastImage(positions[number], game.symmetries);
      classes.set(number, (mine << game.cells) | theirs);
    }
    return classes.get(number);
  }

  /** A move to each position that can come next, symmetric ones merged, and how many moves lead there. */
  function distinctMoves(number) {
    const found = new Map();
    positions[number].moves.forEach(([cell, next], at) => {
      const same = found.get(classOf(next));
      if (same) same.alike += 1;
      else found.set(classOf(next), { cell, next, at, alike: 1 });
    });
    return [...found.values()];
  }

  function pliesThatFit(number, plies) {
    let level = [number], boards = 1;
    for (let ply = 0; ply < plies; ply++) {
      level = level.flatMap((each) => distinctMoves(each).map(({ next }) => next));
      boards += level.length;
      if (boards > MAX_BOARDS) return Math.max(ply, 1);
    }
    return plies;
  }

  /** @returns {Branch} */
  function grown(number, plies, outcomes, temperatures, way) {
    const { ply } = positions[number], sign = ply % 2 ? -1 : 1;
    const value = sign * (outcomes.win[number] - outcomes.loss[number]);
    const shares = plies ? softmax(valuesOfMoves(positions[number], outcomes), temperatures[ply % 2]) : [];
    const most = Math.max(...shares);
    const children = (plies ? distinctMoves(number) : []).map(({ cell, next, at, alike }) => ({
      ...grown(next, plies - 1, outcomes, temperatures, [...way, cell]),
      share: shares[at], alike, isLit: most - shares[at] <= 1e-9 * most,
    })).sort((a, b) => b.share - a.share);
    return { number, cells: way, value, share: 1, alike: 1, isLit: false, children };
  }

  function show() {
    const [x, o, plies] = sliders.map((slider) => Number(slider.value));
    const temperatures = [x, o], outcomes = sweep(positions, x, o);
    const number = numberAfter(positions, cells);
    sliders.forEach((slider) => (slider.parentElement.querySelector("output").textContent = slider.value));
    const fits = pliesThatFit(number, plies);
    const root = grown(number, fits, outcomes, temperatures, []);
    const board = draw(form, cells, game, { isOpen: true });
    showMoves(number, outcomes, temperatures);
    const isOver = !positions[number].moves.length;
    const ends = board.winner ? `${board.winner} wins` : "Draw";
    const status = isOver ? ends : `${seatOf(cells.length)} to move`;
    if (byId("status").firstChild.data !== status) byId("live").textContent = byId("status").firstChild.data = status;
    byId("value").firstChild.data = told(root.value);
    byId("cut").hidden = fits === plies || isOver;
    byId("cut").textContent = `Only ${fits} of ${plies} moves deep: there is room for ${MAX_BOARDS} boards.`;
    byId("below").hidden = isOver;
    plant(root);
    for (const [id, way] of [["undo", cells.slice(0, -1)], ["new", []]]) {
      setLink(byId(id), cells.length ? addressOf(way) : undefined);
    }
    byId("play").href = `index.html#x=person&o=softmax:temperature=${o},opponent_temperature=${x}&moves=${cells.join(".")}&see=1`;
  }

  const addressOf = (way) => `#${stateOf({
    moves: way.join("."), "x.temperature": sliders[0].value, "o.temperature": sliders[1].value, "tree.plies": sliders[2].value,
  })}`;

  function showMoves(number, outcomes, temperatures) {
    const { moves, ply } = positions[number];
    const values = valuesOfMoves(positions[number], outcomes), shares = softmax(values, temperatures[ply % 2]);
    moves.forEach(([cell], at) => showFigures(cell, shares[at], told((ply % 2 ? -1 : 1) * values[at])));
  }

  /** Parents stand above the middle of their children if all leaves fit side by side. */
  function plant(root) {
    const count = (branch) => branch.children.reduce((sum, child) => sum + count(child), 0) || 1;
    const leaves = count(root), isAmid = leaves <= MAX_ABREAST_DENSE;
    const spots = [];
    const place = (branch, parent, depth, first) => {
      const spot = { branch, parent, depth, first, middle: isAmid ? first + (count(branch) - 1) / 2 : first };
      spots.push(spot);
      for (const child of branch.children) {
        place(child, spot, depth + 1, first);
        first += count(child);
      }
    };
    place(root, null, 0, 0);
    tree.classList.toggle("dense", leaves > MAX_ABREAST);
    tree.style.setProperty("--leaves", leaves);
    tree.style.setProperty("--plies", 1 + Math.max(...spots.map(({ depth }) => depth)));
    const plan = tree.querySelector(".plan"), focused = plan.contains(document.activeElement) && document.activeElement.dataset.key;
    plan.replaceChildren(...["middle", "first"].map((along) => edgesOf(spots, along)), ...spots.map(drawn));
    if (focused) plan.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  }

  function edgesOf(spots, along) {
    const paths = spots.filter(({ parent }) => parent).map(({ branch, parent, [along]: b }) => {
      const { [along]: a, depth: d } = parent;
      const path = `M${a} ${d}C${a} ${d + 0.6} ${b} ${d + 0.4} ${b} ${d + 1}`;
      return drawing("path", { class: branch.isLit ? "lit" : "", style: `--share: ${branch.share}`, d: path });
    });
    return drawing("svg", { class: `edges ${along}`, "aria-hidden": "true" }, drawing("g", {}, ...paths));
  }

  function drawn({ branch, depth, first, middle }) {
    const node = copyOf("branch");
    const way = [...cells, ...branch.cells], board = boardAfter(way, game);
    const end = board.winner ? `${board.winner} wins` : "draw";
    const above = branch.cells.length ? percent(branch.share) : "now";
    const below = positions[branch.number].moves.length ? told(branch.value) : end;
    node.classList.toggle("lit", branch.isLit);
    node.classList.toggle("root", !branch.cells.length);
    node.dataset.key = branch.cells.join(".") || "root";
    mark(node, "href", branch.cells.length > 0 && addressOf(way));
    mark(node, "role", !branch.cells.length && "img");
    const times = branch.alike > 1 ? ` ${branch.alike}×` : "";
    node.setAttribute("aria-label", `${branch.cells.length ? `after ${branch.cells.join(", ")}: ` : ""}${above}${times} ${below}`);
    for (const [name, value] of Object.entries({ depth, first, middle, tone: branch.value })) node.style.setProperty(`--${name}`, value);
    node.querySelector(".above").textContent = above;
    node.querySelector(".under").textContent = below;
    if (times) node.querySelector(".mini").before(Object.assign(document.createElement("span"), { className: "badge", textContent: times.trim() }));
    const marks = [
      ...branch.cells.slice(-1).map((cell) => ["last", cell]), ...[...board.completed].map((cell) => ["completed", cell]),
      ...way.map((cell, ply) => ["xo"[ply % 2], cell]),
    ];
    node.querySelector(".mini").append(...marks.map(([kind, cell]) => {
      const [x, y, width, height] = tiles[cell];
      return drawing("use", { class: kind, href: `#${kind}`, x, y, width, height });
    }));
    return node;
  }

  function read() {
    const fields = new URLSearchParams(location.hash.slice(1));
    cells = legalStart(fields.get("moves") ?? "", game);
    for (const [slider, name] of [[sliders[0], "x.temperature"], [sliders[1], "o.temperature"], [sliders[2], "tree.plies"]]) {
      slider.value = fields.get(name) ?? slider.defaultValue; // which a slider keeps within its bounds
    }
    show();
  }

  for (const slider of sliders) {
    slider.addEventListener("input", () => {
      history.replaceState(null, "", addressOf(cells));
      show();
    });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = addressOf([...cells, Number(event.submitter.value)]);
  });
  addEventListener("popstate", read);
  read();
}
