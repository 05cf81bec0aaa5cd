// Figures that follow a slider at once, whatever time an answer of the server takes. A [data-sweep] part says of which
// game, after which moves, and which sliders hold the temperatures of X and O; each [data-figure] in it, which figure.

import { enumerate, numberAfter, softmax, sweep, valuesOfMoves } from "./solver.js";
import { percent, signed, told } from "./words.js";

const games = new Map(); // their positions, by what the page says of them

function positionsOf(game) {
  const name = JSON.stringify(game);
  if (!games.has(name)) games.set(name, enumerate(game));
  return games.get(name);
}

const FIGURES = {
  chance: ({ chances }, cell) => percent(chances.get(cell)),
  after: ({ values, sign }, cell) => told(sign * values.get(cell)),
  worth: ({ values }, cell) => signed(values.get(cell), 3),
  value: ({ win, loss, sign }) => told(sign * (win - loss)),
  win: ({ win }) => percent(win),
  draw: ({ win, loss }) => percent(1 - win - loss),
  loss: ({ loss }) => percent(loss),
};

/** What is true of the position after these moves: chances and values of the moves by cell, for the one to move. */
function foreseen({ game, played, x, o }) {
  const positions = positionsOf(game);
  const [ofX, ofO] = [x, o].map((id) => Number(document.getElementById(id).value));
  const outcomes = sweep(positions, ofX, ofO);
  const number = numberAfter(positions, played);
  const position = positions[number];
  const values = valuesOfMoves(position, outcomes);
  const chances = softmax(values, position.ply % 2 ? ofO : ofX);
  const byCell = (figures) => new Map(position.moves.map(([cell], at) => [cell, figures[at]]));
  return {
    chances: byCell(chances), values: byCell(values), win: outcomes.win[number], loss: outcomes.loss[number],
    sign: position.ply % 2 ? -1 : 1, // values are shown for X
  };
}

export function refigure(root) {
  for (const part of root.querySelectorAll("[data-sweep]")) {
    const known = foreseen(JSON.parse(part.dataset.sweep));
    for (const place of part.querySelectorAll("[data-figure]")) {
      const cell = Number(place.dataset.cell);
      place.firstChild.data = FIGURES[place.dataset.figure](known, cell);
      place.closest("[style*='--share']")?.style.setProperty("--share", known.chances.get(cell));
    }
  }
}
