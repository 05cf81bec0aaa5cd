// A board on an exported page: the buttons of the template, made to show a position.

import { rove } from "./keys.js";
import { stoneOf } from "./life.js";
import { percent, signed } from "./words.js";

export const seatOf = (ply) => (ply % 2 ? "O" : "X");
const OUTCOMES = { "1": "win", "0": "draw", "-1": "loss" }, WORDS = { "1": "wins", "0": "draws", "-1": "loses" };
const ACCENTS = { last: ", last move", completed: ", completed" };

/** The masks of X and O, the completed sets, by number, with their cells, and the winner, after these moves. */
export function boardAfter(cells, { sets, misere }) {
  const masks = [0, 0];
  cells.forEach((cell, ply) => (masks[ply % 2] |= 1 << cell));
  const isOwned = (set, mask) => set.every((cell) => (mask >> cell) & 1);
  const made = [...sets.keys()].filter((number) => masks.some((mask) => isOwned(sets[number], mask)));
  const completed = new Set(made.flatMap((number) => sets[number]));
  const last = seatOf(cells.length + 1);
  const winner = completed.size ? (misere ? seatOf(cells.length) : last) : null;
  return { x: masks[0], o: masks[1], made, completed, winner, last: cells.at(-1) };
}

export const byId = (id) => document.getElementById(id);
export const copyOf = (id) => byId(id).content.firstElementChild.cloneNode(true);

/** Give the element this attribute, or take it away where the value is false. */
export function mark(node, name, value) {
  if (value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** Let the link lead to an address, or nowhere. */
export function setLink(link, address) {
  mark(link, "href", address ?? false);
  mark(link, "role", address === undefined && "link");
  mark(link, "aria-disabled", address === undefined && "true");
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

/** Where the cell is, in words. */
export function nameOf(tile) {
  const [, row, column] = tile.dataset.at.split(" ").map((number) => Number(number) + 1);
  return `Cell ${tile.value}, row ${row}, column ${column}`;
}

/** Let the tile hold this beside its name; nothing else stays. */
function fill(tile, ...content) {
  tile.replaceChildren(tile.firstElementChild, ...content);
}

/** Show the chance of a move in its cell, which it tints, and a value. */
export function showFigures(cell, share, value) {
  const figures = copyOf("figures");
  figures.style.setProperty("--share", share);
  figures.querySelector("b").textContent = percent(share);
  figures.querySelector("small").textContent = value;
  fill(byId(`cell-${cell}`), figures);
}

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
    const content = stone || (isFree ? "empty" : "not playable");
    tile.firstElementChild.textContent = `${nameOf(tile)}: ${content}${ACCENTS[accent] ?? ""} `;
    const insight = known.get(cell);
    mark(tile, "title", insight ? inWords(insight) : false);
    if (insight) tell(tile, insight);
    else if (!stone) fill(tile);
    // A stone that lies there already is not drawn anew.
    else if (!tile.querySelector(`.stone.${stone.toLowerCase()}`)) fill(tile, stoneOf(stone));
  }
  strike(form.querySelector(".board"), board.made);
  rove();
  return board;
}

/** Strokes through the winning sets of these numbers. */
function strike(board, made) {
  const strokes = copyOf("strokes"), old = board.querySelector(".strokes");
  [...strokes.children].forEach((path, number) => made.includes(number) || path.remove());
  if (strokes.innerHTML === (old?.innerHTML ?? "")) return;
  old?.remove();
  if (made.length) board.append(strokes);
}

function inWords({ chance, value, against, ending, isBest }) {
  const phrases = chance === null ? [] : [`played with ${percent(chance)}`];
  phrases.push(`${[WORDS[value], ...ending].join(" ")} with best play${isBest ? ", the best" : ""}`);
  if (against !== null) phrases.push(`${signed(against, 3)} against this opponent`);
  return phrases.join(", ");
}

function tell(tile, { chance, value, against, ending, isBest }) {
  if (!tile.querySelector(".known")) fill(tile, copyOf("known"));
  const known = tile.querySelector(".known"), outcome = known.querySelector("i");
  known.style.setProperty("--worth", value);
  known.classList.toggle("best", isBest);
  known.querySelector("b").textContent = chance === null ? "" : percent(chance);
  outcome.className = OUTCOMES[value];
  outcome.textContent = WORDS[value];
  known.querySelector("small").textContent = [...ending, ...(against === null ? [] : [signed(against, 3)])].join(" · ");
}
