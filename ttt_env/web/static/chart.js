// The figures of a chart where the pointer or the arrow keys are. Lines that are read have [data-points]: their points
// as [x, y]; the [data-axes] of the reader over the plot are its ends: [lowest x, highest x, lowest y, highest y].

const places = new WeakMap(); // of the readers in use: the number of the stop that is read

/** A number with four significant digits, and with all those before the point, as the tables have it. */
function shown(number) {
  const limit = Math.abs(number) < 1000 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 0 };
  return number.toLocaleString("en", limit).replace("-", "−");
}

/** The lines of a reader's chart, and all places along x at which one of them has a point. */
function linesOf(reader) {
  const lines = [...reader.parentElement.querySelectorAll("[data-points]")].map((line) => ({
    name: line.dataset.name, look: line.dataset.look, points: JSON.parse(line.dataset.points),
  }));
  const stops = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
  return { lines, stops };
}

/** The last point of a line up to there; none before it begins and after it ends. */
function pointAt({ points }, x) {
  return points.at(-1)[0] >= x ? points.findLast(([at]) => at <= x) : undefined;
}

function read(reader, place) {
  const { lines, stops } = linesOf(reader);
  const [left, right, bottom, top] = JSON.parse(reader.dataset.axes);
  const number = Math.min(Math.max(place, 0), stops.length - 1), x = stops[number];
  const across = (100 * (x - left)) / (right - left);
  const at = lines.map((line) => ({ ...line, point: pointAt(line, x) })).filter(({ point }) => point);
  const told = at.map(({ name, point }) => `${name} ${shown(point[1])}`);
  places.set(reader, number);
  reader.setAttribute("aria-valuemax", stops.length - 1);
  reader.setAttribute("aria-valuenow", number);
  reader.setAttribute("aria-valuetext", `${reader.dataset.x} ${shown(x)}: ${told.join(", ")}`);
  const cross = element("i", "cross", "");
  cross.style.left = `${across}%`;
  const dots = at.map(({ look, point }) => {
    const dot = element("i", `dot ${look}`, "");
    dot.style.left = `${across}%`;
    dot.style.top = `${100 - (100 * (point[1] - bottom)) / (top - bottom)}%`;
    return dot;
  });
  const card = element("span", "reading", "");
  card.style.setProperty("--beside", across > 50 ? `auto ${102 - across}%` : `${across + 2}% auto`);
  card.append(element("b", "", shown(x)), ...at.map(({ name, look, point }) => {
    const row = element("span", look, "");
    row.append(element("b", "", shown(point[1])), ` ${name}`);
    return row;
  }));
  reader.replaceChildren(cross, ...dots, card);
}

const element = (name, className, textContent) => Object.assign(document.createElement(name), { className, textContent });

function leave(reader) {
  places.delete(reader);
  reader.replaceChildren();
}

const readerOf = (target) => target.closest?.(".reader");
const placeOf = (reader) => places.get(reader) ?? 0;

/** Read what is being read in charts that have changed. */
export function reread(root) {
  for (const reader of root.querySelectorAll(".reader")) if (places.has(reader)) read(reader, placeOf(reader));
}

addEventListener("pointermove", ({ target, clientX }) => {
  const reader = readerOf(target);
  for (const other of document.querySelectorAll(".reader")) {
    if (other !== reader && other !== document.activeElement && places.has(other)) leave(other);
  }
  if (!reader) return;
  const { left, width } = reader.getBoundingClientRect();
  const [low, high] = JSON.parse(reader.dataset.axes);
  const x = low + ((high - low) * (clientX - left)) / width;
  const { stops } = linesOf(reader);
  read(reader, stops.reduce((best, stop, at) => (Math.abs(stop - x) < Math.abs(stops[best] - x) ? at : best), 0));
});

const STEPS = {
  ArrowRight: (at) => at + 1, ArrowUp: (at) => at + 1, ArrowLeft: (at) => at - 1, ArrowDown: (at) => at - 1,
  PageUp: (at, n) => at + Math.ceil(n / 10), PageDown: (at, n) => at - Math.ceil(n / 10), Home: () => 0, End: (_, n) => n - 1,
};

addEventListener("keydown", (event) => {
  const reader = readerOf(event.target);
  if (!reader || !(event.key in STEPS)) return;
  event.preventDefault();
  read(reader, STEPS[event.key](placeOf(reader), linesOf(reader).stops.length));
});
addEventListener("focusin", ({ target }) => readerOf(target) === target && read(target, placeOf(target)));
addEventListener("focusout", ({ target }) => readerOf(target) === target && leave(target));
