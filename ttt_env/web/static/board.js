// The one renderer of boards: any game, in rows, in layers or scattered. Where the cells lie is data, `layout`, which Python writes.

import { fillWith, s, say, set } from "./dom.js";

/**
 * What is shown in a cell besides its stone: a `kind` ("win", "draw" or "loss" for whoever is to move, or none), how strongly,
 * the `text` below it, and all of it in words.
 * @typedef {{kind?: string, isFaint?: boolean, text?: string, words: string}} Mark
 */

const STONES = { X: "M29 29L71 71M71 29L29 71", O: "M74 50A24 24 0 1 1 74 49.99Z" };
const MARKS = { win: "M64 50A14 14 0 1 1 64 49.99Z", draw: "M36 44H64M36 56H64", loss: "M50 34L66 50L50 66L34 50Z" };
const ACCENTS = { last: ", last move", blunder: ", a blunder", better: ", better" };
const SMALL_CELLS = 25; // of larger boards the writing is larger

const centre = ([x, y, width, height]) => [x + width / 2, y + height / 2];
const lies = ([px, py, width, height], [x, y]) => x > px && y > py && x < px + width && y < py + height;

/** A path through these places, in a straight line, or around if they lie on none. */
function pathThrough(places) {
  const [[x0, y0], [x1, y1]] = [places[0], places.at(-1)];
  const isStraight = places.every(([x, y]) => Math.abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) < 1);
  const [cx, cy] = [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
  const around = isStraight ? places : [...places].sort((a, b) => Math.atan2(a[1] - cy, a[0] - cx) - Math.atan2(b[1] - cy, b[0] - cx));
  return `M${around.map((place) => place.join(" ")).join("L")}${isStraight ? "" : "Z"}`;
}

/** The paths through a winning set, one in each layer where it has more than one cell. */
function strokesOf({ layout: { panels, tiles } }, cells) {
  return panels.map((panel) => cells.map((cell) => centre(tiles[cell])).filter((place) => lies(panel, place)))
    .filter((places) => places.length > 1).map(pathThrough);
}

/** The lines of a winning set on a board where nobody would see it: each has a colour of its own. */
function linesOf(game, cells, number) {
  return strokesOf(game, cells).map((d) => s("path", { class: "line", d, stroke: `hsl(${Math.round((360 * number) / game.sets.length)} 65% 50%)` }));
}

/** A board; with `onPress`, a function of a cell, one to play on, by pointer and keyboard: arrows go from cell to cell. */
export class Board {
  constructor(game, { label, onPress = null }) {
    const { view, panels, tiles, round, lines } = game.layout;
    this.game = game;
    this.onPress = onPress;
    const radius = (tile) => (round ? tile[2] / 2 : 0.11 * tile[2]);
    const rect = (name, [x, y, w, h], rx) => s("rect", { class: name, x, y, width: w, height: h, rx });
    this.cells = tiles.map((tile, cell) => this.cell(cell, tile, rect("tile", tile, radius(tile))));
    this.strokes = s("g", { class: "strokes" });
    this.element = s("svg", {
      class: `board${game.cells > SMALL_CELLS ? " large" : ""}`, viewBox: view.join(" "), preserveAspectRatio: onPress ? "xMinYMin" : null,
      role: onPress ? "group" : "img", "aria-label": label,
    },
      panels.map((panel) => rect("panel", panel, 16)),
      panels.length > 1 ? panels.map(([x, y], layer) => s("text", { class: "layer", x: x + 4, y: y - 8, "aria-hidden": true }, `Layer ${layer + 1}`)) : [],
      lines ? game.sets.flatMap((cells, number) => linesOf(game, cells, number)) : [],
      this.cells.map(({ group }) => group), this.strokes);
    if (onPress) this.listen();
  }

  cell(cell, [x, y, width], tile) {
    const place = { transform: `translate(${x} ${y}) scale(${width / 100})` };
    const stone = s("path", { class: "stone" }), mark = s("path", { class: "mark" });
    const text = s("text", { class: "figure", x: 50, y: 91 }), number = s("text", { class: "number", ...(this.game.layout.round ? { x: 50, y: 22, "text-anchor": "middle" } : { x: 8, y: 21 }) }, String(cell));
    const group = s("g", { class: "cell", "data-cell": cell }, tile, s("g", { ...place, "aria-hidden": true }, number, mark, text, stone));
    return { group, tile, stone, mark, text };
  }

  /**
   * Show a position of `positionAfter`. `isOpen` lets the free cells be played, `marks` is a Map from cells to what is known of
   * them, and `accents` one from cells to "last", "blunder" or "better"; by default the last move stands out.
   */
  show(position, { isOpen = false, marks = new Map(), accents = null } = {}) {
    const { stones, last, completed } = position;
    const accentOf = accents ?? new Map(last === undefined ? [] : [[last, "last"]]);
    const done = new Set(completed.flat());
    this.cells.forEach(({ group, stone, mark, text }, cell) => {
      const colour = stones[cell], sign = colour ? undefined : marks.get(cell), accent = accentOf.get(cell);
      const isFree = isOpen && position.legal.includes(cell);
      set(group, "class", ["cell", colour.toLowerCase(), isFree && "open", done.has(cell) ? "completed" : accent].filter(Boolean).join(" "));
      set(stone, "d", STONES[colour] ?? null);
      set(mark, "d", MARKS[sign?.kind] ?? null);
      set(mark, "class", `mark ${sign?.kind ?? ""}${sign?.isFaint ? " faint" : ""}`);
      say(text, sign?.text ?? "");
      if (!this.onPress) return;
      set(group, "aria-disabled", isFree ? null : "true");
      const told = [done.has(cell) ? ", completed" : ACCENTS[accent] ?? "", sign?.words ? `; ${sign.words}` : ""].join("");
      set(group, "aria-label", `Cell ${cell}: ${colour || "free"}${told}`);
    });
    fillWith(this.strokes, completed.flatMap((cells) => strokesOf(this.game, cells)).map((d) => s("path", { d })));
    this.rove(this.cells.findIndex(({ group }) => group === document.activeElement));
    return this;
  }

  /** Make one cell the stop of the tab key: this one, or the first that is free. */
  rove(cell) {
    if (!this.onPress) return;
    const open = this.cells.findIndex(({ group }) => group.classList.contains("open"));
    const stop = cell >= 0 ? cell : Math.max(open, 0);
    this.cells.forEach(({ group }, each) => set(group, "tabindex", each === stop ? 0 : -1));
  }

  listen() {
    const press = ({ target }) => {
      const cell = this.landing(target.closest(".cell"));
      if (cell !== null) this.onPress(cell);
    };
    this.cells.forEach(({ group }) => set(group, "role", "button"));
    this.element.addEventListener("click", press);
    this.element.addEventListener("keydown", (event) => {
      const cell = this.cells.findIndex(({ group }) => group === event.target);
      if (cell < 0) return;
      if (event.key === "Enter" || event.key === " ") press(event);
      else if (event.key in DIRECTIONS) this.focus(this.nearest(cell, DIRECTIONS[event.key]));
      else return;
      event.preventDefault();
    });
  }

  /** The open cell on which what is let go at a cell comes to lie; null if there is none. */
  landing(group) {
    for (let cell = group ? Number(group.dataset.cell) : null; cell !== null; cell = this.game.supports[cell]) {
      if (this.cells[cell].group.classList.contains("open")) return cell;
    }
    return null;
  }

  focus(cell) {
    this.rove(cell);
    this.cells[cell].group.focus();
  }

  /** The cell that lies nearest in a direction; the same one where there is none. */
  nearest(cell, [right, down]) {
    const places = this.game.layout.tiles.map(centre), [x0, y0] = places[cell];
    let best = cell, least = Infinity;
    places.forEach(([x, y], each) => {
      const along = (x - x0) * right + (y - y0) * down, aside = Math.abs((x - x0) * down) + Math.abs((y - y0) * right);
      if (along > 1 && along + 3 * aside < least) [best, least] = [each, along + 3 * aside];
    });
    return best;
  }
}

const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/** A small board that is only looked at. */
export const picture = (game, position, label, options) => new Board(game, { label }).show(position, options).element;
