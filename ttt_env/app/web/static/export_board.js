// A board on an exported page: the buttons of the template, made to show a position.

import { percent, signed } from "./words.js";

export const seatOf = (ply) => (ply % 2 ? "O" : "X");
export const OUTCOMES = { "1": "win", "0": "draw", "-1": "loss" };
const ACCENTS = { last: ", last move", completed: ", completed" };

/** The masks of X and O, the completed sets, their cells, and the winner, after these moves. */
export function boardAfter(cells, { sets, misere }) {
  const masks = [0, 0];
  cells.forEach((cell, ply) => (masks[ply % 2] |= 1 << cell));
  const isOwned = (set, mask) => set.every((cell) => (mask >> cell) & 1);
  const lines = sets.filter((set) => masks.some((mask) => isOwned(set, mask)));
  const completed = new Set(lines.flat());
  const last = seatOf(cells.length + 1);
  const winner = completed.size ? (misere ? seatOf(cells.length) : last) : null;
  return { x: masks[0], o: masks[1], lines, completed, winner, last: cells.at(-1) };
}

export const byId = (id) => document.getElementById(id);
export const copyOf = (id) => byId(id).content.firstElementChild.cloneNode(true);

/** Give the element this attribute, or take it away where the value is false. */
export function mark(node, name, value) {
  if (value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** The cells that the text names, such as `4.0.8`, as far as they are legal moves. */
export function legalStart(text, game) {
  const cells = [];
  for (const each of text.split(".").filter(Boolean)) {
    const cell = Number(each), isFree = Number.isInteger(cell) && cell >= 0 && cell < game.cells && !cells.includes(cell);
    if (!isFree || boardAfter(cells, game).winner) break;
    cells.push(cell);
  }
  return cells;
}

/** The fields as they stand in an address, without the empty ones; temperatures and moves stay readable. */
export const stateOf = (fields) => Object.entries(fields).filter(([, value]) => value !== "")
  .map(([name, value]) => `${name}=${`${value}`.replace(/[^\w.:,=-]/g, encodeURIComponent)}`).join("&");

/**
 * Draw the position after these moves. `known` maps free cells to what is known about a move there; `isOpen` says
 * whether a visitor may move.
 */
export function draw(form, cells, game, { known = new Map(), isOpen = false } = {}) {
  const board = boardAfter(cells, game);
  for (const tile of form.querySelectorAll(".tile")) {
    const cell = Number(tile.value);
    const stone = (board.x >> cell) & 1 ? "X" : (board.o >> cell) & 1 ? "O" : "";
    const accent = board.completed.has(cell) ? "completed" : cell === board.last ? "last" : "";
    const isFree = !stone && !board.winner && cells.length < game.cells;
    tile.className = `tile ${accent} ${stone.toLowerCase() || "free"}`;
    tile.type = isOpen && isFree ? "submit" : "button";
    mark(tile, "aria-disabled", tile.type === "button" && "true");
    const insight = known.get(cell);
    const [, row, column] = tile.dataset.at.split(" ").map((number) => Number(number) + 1);
    const content = stone || (isFree ? "empty" : "not playable");
    const text = `Cell ${cell}, row ${row}, column ${column}: ${content}${ACCENTS[accent] ?? ""}${inWords(insight)}`;
    mark(tile, "aria-label", text);
    mark(tile, "title", text);
    if (stone) {
      if (!tile.querySelector(`.stone.${stone.toLowerCase()}`)) tile.replaceChildren(copyOf(`stone-${stone.toLowerCase()}`));
    } else {
      fill(tile, insight);
    }
  }
  strike(form, board.lines);
  return board;
}

/** Draw a stroke through the cells of each of these lines. */
function strike(form, lines) {
  const board = form.querySelector(".board"), columns = Number(form.style.getPropertyValue("--columns"));
  const middle = (cell) => `${(cell % columns) + 0.5} ${Math.floor(cell / columns) + 0.5}`;
  const paths = lines.map((line) => `<path d="M${middle(line[0])}L${middle(line.at(-1))}" pathLength="1"/>`).join("");
  const old = board.querySelector(".strokes");
  if (old?.innerHTML === paths) return;
  old?.remove();
  if (paths) board.insertAdjacentHTML("beforeend", `<svg class="strokes" viewBox="0 0 ${columns} ${columns}" aria-hidden="true">${paths}</svg>`);
}

function inWords(insight) {
  if (!insight) return "";
  const { chance, value, against } = insight;
  const phrases = [`played with ${percent(chance)}`, `worth a ${OUTCOMES[value]} under best play`];
  if (against !== undefined) phrases.push(`${signed(against, 3)} against this opponent`);
  return `; ${phrases.join(", ")}`;
}

function fill(tile, insight) {
  if (!insight) return tile.replaceChildren();
  if (!tile.querySelector(".known")) tile.replaceChildren(copyOf("known"));
  const { chance, value, against } = insight;
  const outcome = tile.querySelector("i");
  tile.querySelector("b").textContent = percent(chance);
  outcome.className = outcome.textContent = OUTCOMES[value];
  tile.querySelector("small").textContent = signed(against, 3);
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Arrows go from cell to cell. */
export function goByArrows(form) {
  form.addEventListener("keydown", (event) => {
    const by = ARROWS[event.key];
    const tile = event.target.closest(".tile");
    if (!by || !tile) return;
    event.preventDefault();
    const [layer, row, column] = tile.dataset.at.split(" ").map(Number);
    form.querySelector(`[data-at="${layer} ${row + by[0]} ${column + by[1]}"]`)?.focus();
  });
}
