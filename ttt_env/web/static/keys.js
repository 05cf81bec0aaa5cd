// The board by keyboard: it is one stop of the tab key, arrows go from cell to cell, and single keys do what is written
// in the footer, unless a visitor has turned them off.

const page = () => document.getElementById("page");
const tiles = () => [...page().querySelectorAll(".tile")];

export function rove() {
  const all = tiles();
  const now = all.find((tile) => tile === document.activeElement) ?? all.find((tile) => tile.matches(".free")) ?? all[0];
  all.forEach((tile) => (tile.tabIndex = tile === now ? 0 : -1));
}

const ARROWS = { ArrowUp: [0, -1, 0], ArrowDown: [0, 1, 0], ArrowLeft: [0, 0, -1], ArrowRight: [0, 0, 1], PageUp: [-1, 0, 0], PageDown: [1, 0, 0] };

function neighbour(tile, [up, down, across]) {
  const [layer, row, column] = placeOf(tile);
  if (tile.form.matches(".scattered")) return nearest(row, column, down, across);
  const target = tileAt(layer + up, row + down, column + across);
  if (target) return target;
  // Over the edge, into the board beside this one.
  const abreast = Number(tile.form.dataset.abreast);
  const beside = tiles().filter((each) => placeOf(each)[0] === layer + across + down * abreast);
  const line = beside.filter((each) => placeOf(each)[across ? 1 : 2] === (across ? row : column));
  return across + down > 0 ? line[0] : line.at(-1);
}

// On a board without rows: the cell that lies nearest in a direction.
function nearest(row, column, down, across) {
  let [found, least] = [undefined, Infinity];
  for (const each of tiles()) {
    const [, y, x] = placeOf(each);
    const along = (y - row) * down + (x - column) * across;
    const far = along + 2 * Math.abs((y - row) * across) + 2 * Math.abs((x - column) * down);
    if (along > .01 && far < least) [found, least] = [each, far];
  }
  return found;
}

const placeOf = (tile) => tile.dataset.at.split(" ").map(Number);
const tileAt = (...place) => page().querySelector(`.tile[data-at="${place.join(" ")}"]`);

let typed = { text: "", at: 0 };

function cellOf(digit) {
  const now = Date.now();
  typed = { text: now - typed.at < 700 ? typed.text + digit : digit, at: now };
  const tile = document.getElementById(`cell-${Number(typed.text)}`);
  if (!tile) typed = { text: digit, at: now };
  return tile ?? document.getElementById(`cell-${digit}`);
}

const SHORTCUTS = { u: "undo", r: "redo", n: "new", p: "pause", s: "see" };

export function startKeys() {
  // Whether digits and letters do something by themselves: people who speak to their computer type by accident.
  const letters = document.getElementById("letters");
  document.getElementById("keys").hidden = false;
  letters.checked = localStorage.getItem("letters") !== "off";
  letters.addEventListener("change", () => localStorage.setItem("letters", letters.checked ? "on" : "off"));

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const tile = document.activeElement?.closest?.(".tile");
    const focus = (next) => { event.preventDefault(); next?.focus(); rove(); };
    if (!/^\d$/.test(event.key)) typed = { text: "", at: 0 };
    if (event.key in ARROWS && (tile || document.activeElement === document.body || document.activeElement === page())) {
      focus(tile ? neighbour(tile, ARROWS[event.key]) : tiles().find((each) => each.tabIndex === 0));
    } else if (!letters.checked) {
      return;
    } else if (/^\d$/.test(event.key)) {
      focus(cellOf(event.key));
    } else if (event.key in SHORTCUTS) {
      document.getElementById(SHORTCUTS[event.key])?.click();
    }
  });
}
