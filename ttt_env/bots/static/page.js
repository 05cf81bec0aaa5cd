"use strict";
// Steps through the games: #game-12 is the game of number 12 in the data of the page.

const { names, sets, tiles, games } = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SEATS = ["X", "O"];
let number = -1, at = 0;

/** The tiles after so many moves: which of its looks each has. */
function looksOf(cells) {
  const looks = tiles.map(() => 0);
  cells.forEach((cell, ply) => { looks[cell] = 1 + 3 * (ply % 2); });
  if (!cells.length) return looks;
  const last = cells.at(-1), mover = (cells.length - 1) % 2;
  looks[last] += 1;
  for (const set of sets) {
    if (set.every((cell) => looks[cell] && Math.floor((looks[cell] - 1) / 3) === mover)) {
      for (const cell of set) looks[cell] = 3 + 3 * mover;
    }
  }
  return looks;
}

function draw() {
  const [x, o, cells, kind, end] = games[number];
  const looks = looksOf(cells.slice(0, at));
  byId("tiles").innerHTML = tiles.map((tile, cell) => tile[looks[cell]]).join("");
  const mover = (at - 1) % 2, name = names[mover ? o : x];
  const moved = at ? `Move ${at} of ${cells.length}: ${name} (${SEATS[mover]}) plays cell ${cells[at - 1]}.` : `The start, ${cells.length} moves.`;
  const told = at === cells.length ? `${moved} ${end}.` : moved;
  byId("status").textContent = told;
  document.querySelector(".board title").textContent = `The board. ${told}`;
  byId("seats").textContent = `X: ${names[x]}, O: ${names[o]} (${kind})`;
  [...byId("moves").querySelectorAll("button")].forEach((button, ply) => {
    if (ply + 1 === at) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  for (const [id, isPossible] of [["first", at > 0], ["back", at > 0], ["forward", at < cells.length], ["last", at < cells.length]]) {
    byId(id).setAttribute("aria-disabled", String(!isPossible));
  }
}

function step(to) {
  at = Math.max(0, Math.min(games[number][2].length, to));
  draw();
}

const opponentIn = ([x, o], player) => (x === player ? o : o === player ? x : -1);
const between = (one, other) => games.flatMap((game, index) => (opponentIn(game, one) === other ? [index] : []));

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

/** Show a game from its start; the player who is chosen stays, if it is one of his. */
function show(index) {
  number = index;
  const [x, o, cells] = games[index], before = Number(byId("player").value || -1);
  const player = opponentIn(games[index], before) >= 0 ? before : x;
  const playing = new Set(games.flatMap(([one, other]) => [one, other]));
  const opponents = new Set(games.map((game) => opponentIn(game, player)).filter((other) => other >= 0));
  const named = (chosen) => names.flatMap((name, place) => (chosen.has(place) ? [[place, name]] : []));
  fill(byId("player"), named(playing), player);
  fill(byId("opponent"), named(opponents), opponentIn(games[index], player));
  fill(byId("number"), between(x, o).map((each) => [each, `${games[each][3]}, X: ${names[games[each][0]]}`]), index);
  byId("moves").replaceChildren(...cells.map((cell, ply) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.textContent = `${SEATS[ply % 2]} ${cell}`;
    button.addEventListener("click", () => step(ply + 1));
    item.append(button);
    return item;
  }));
  step(cells.length);
}

function go(index) {
  history.replaceState(null, "", `#game-${index}`);
  show(index);
}

function follow() {
  const [, text] = /^#game-(\d+)$/.exec(location.hash) ?? [];
  if (text === undefined || Number(text) >= games.length) return false;
  show(Number(text));
  byId("games").scrollIntoView();
  byId("forward").focus({ preventScroll: true });
  return true;
}

if (games.length) {
  byId("player").addEventListener("change", ({ target }) => {
    const player = Number(target.value);
    go(games.findIndex((game) => opponentIn(game, player) >= 0));
  });
  byId("opponent").addEventListener("change", ({ target }) => go(between(Number(byId("player").value), Number(target.value))[0]));
  byId("number").addEventListener("change", ({ target }) => go(Number(target.value)));
  byId("first").addEventListener("click", () => step(0));
  byId("back").addEventListener("click", () => step(at - 1));
  byId("forward").addEventListener("click", () => step(at + 1));
  byId("last").addEventListener("click", () => step(Infinity));
  byId("viewer").addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.target.matches("select") || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    step(at + by);
  });
  addEventListener("hashchange", follow);
  if (!follow()) show(0);
}
