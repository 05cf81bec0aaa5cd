// Links and forms of this site are fetched and <main> is put in place of the old one: no page is built here.
// [data-load] parts are fetched after the rest, [data-after] forms are sent by themselves after so many ms.

const page = () => document.getElementById("page");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const loaded = new Map(); // the parts that were fetched, by address
let going = new AbortController(); // what a newer visit puts an end to

async function visit(url, { method = "GET", body, replace = false } = {}) {
  going.abort();
  const { signal } = (going = new AbortController());
  try {
    const response = await fetch(url, { method, body, signal });
    const text = await response.text();
    const fetched = new DOMParser().parseFromString(text, "text/html");
    const next = fetched.getElementById("page");
    if (!next) return complain(text);
    await Promise.race([Promise.all(parts(next).filter(isSoon).map((part) => load(part, signal))), sleep(150)]);
    if (signal.aborted) return;
    if (response.redirected || (method === "GET" && response.ok)) {
      history[replace ? "replaceState" : "pushState"](null, "", response.url);
    }
    document.title = fetched.title;
    swap(next);
  } catch (error) {
    if (error.name !== "AbortError") complain("The server does not answer. Is ttt web still running?");
  }
}

function swap(next) {
  const focused = document.activeElement?.id;
  const open = [...page().querySelectorAll("details[open]")].map((details) => details.id);
  page().replaceWith(document.adoptNode(next));
  page().querySelectorAll("details").forEach((details) => (details.open ||= open.includes(details.id)));
  document.getElementById(focused)?.focus({ preventScroll: true });
  begin();
}

function complain(text) {
  const alert = document.createElement("p");
  alert.className = "complaint";
  alert.setAttribute("role", "alert");
  alert.textContent = text;
  document.querySelectorAll("main .complaint").forEach((old) => old.remove());
  (page().querySelector(".stage") ?? page()).prepend(alert);
}

const parts = (root) => [...root.querySelectorAll("[data-load]")];
const isSoon = (part) => !("later" in part.dataset);
let last = Promise.resolve(); // the parts that may come later are fetched one by one: a browser has few connections

function fetched(url, isLater, signal) {
  if (!loaded.has(url)) {
    if (loaded.size > 200) loaded.clear();
    const begun = isLater ? last.then(() => textOf(url)) : textOf(url, signal);
    if (isLater) last = begun.catch(() => {});
    loaded.set(url, begun);
    begun.catch(() => loaded.delete(url));
  }
  return loaded.get(url);
}

async function textOf(url, signal) {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(await response.text());
  return response.text();
}

async function load(part, signal) {
  try {
    const text = await fetched(part.dataset.load, "later" in part.dataset, signal);
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    part.innerHTML = text;
    delete part.dataset.load;
    rove();
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name !== "AbortError") part.title = error.message;
  }
}

function begin() {
  const { signal } = going;
  const status = page().querySelector("[data-status]")?.textContent.trim() ?? "";
  document.getElementById("live").textContent = status;
  parts(page()).forEach((part) => load(part, signal));
  rove();
  const form = page().querySelector("form[data-after]");
  if (form) {
    sleep(Number(form.dataset.after)).then(() => {
      if (!signal.aborted) visit(form.action, { method: "POST", replace: true });
    });
  }
}

function send(form, submitter) {
  const fields = new URLSearchParams(new FormData(form));
  if (submitter?.name) fields.append(submitter.name, submitter.value);
  if (form.method === "post") visit(form.action, { method: "POST", body: fields });
  else visit(`${form.getAttribute("action")}?${fields}`);
}

// The board is one stop of the tab key; arrows go from cell to cell.
const tiles = () => [...page().querySelectorAll(".tile")];

function rove() {
  const all = tiles();
  const now = all.find((tile) => tile === document.activeElement) ?? all.find((tile) => tile.matches(".free")) ?? all[0];
  all.forEach((tile) => (tile.tabIndex = tile === now ? 0 : -1));
}

const ARROWS = { ArrowUp: [0, -1, 0], ArrowDown: [0, 1, 0], ArrowLeft: [0, 0, -1], ArrowRight: [0, 0, 1], PageUp: [-1, 0, 0], PageDown: [1, 0, 0] };

function neighbour(tile, [up, down, across]) {
  const [layer, row, column] = placeOf(tile);
  const target = tileAt(layer + up, row + down, column + across);
  if (target) return target;
  // Over the edge, into the board beside this one.
  const abreast = Number(tile.form.dataset.abreast);
  const beside = tiles().filter((each) => placeOf(each)[0] === layer + across + down * abreast);
  const line = beside.filter((each) => placeOf(each)[across ? 1 : 2] === (across ? row : column));
  return across + down > 0 ? line[0] : line.at(-1);
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

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  const tile = document.activeElement?.closest?.(".tile");
  const focus = (next) => { event.preventDefault(); next?.focus(); rove(); };
  if (!/^\d$/.test(event.key)) typed = { text: "", at: 0 };
  if (event.key in ARROWS && (tile || document.activeElement === document.body || document.activeElement === page())) {
    focus(tile ? neighbour(tile, ARROWS[event.key]) : tiles().find((each) => each.tabIndex === 0));
  } else if (/^\d$/.test(event.key)) {
    focus(cellOf(event.key));
  } else if (event.key in SHORTCUTS) {
    document.getElementById(SHORTCUTS[event.key])?.click();
  }
});

const section = ({ pathname }) => pathname.split("/")[1]; // another one has its own header and styles

addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (event.target.closest("#theme")) return changeTheme();
  const copy = event.target.closest("[data-copy]");
  if (copy) return copyLink(copy);
  if (!link || !page().contains(link) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (link.origin !== location.origin || link.hasAttribute("download") || section(link) !== section(location)) return;
  event.preventDefault();
  visit(link.href);
});

addEventListener("submit", (event) => {
  event.preventDefault();
  send(event.target, event.submitter);
});

addEventListener("input", (event) => {
  if (event.target.type === "range") event.target.parentElement.querySelector("output").textContent = event.target.value;
});

addEventListener("change", (event) => {
  if (event.target.form && event.target.form.method === "get") send(event.target.form);
});

addEventListener("popstate", () => visit(location.href, { replace: true }));

function changeTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

async function copyLink(button) {
  const url = new URL(button.dataset.copy, location.href).href;
  try {
    await navigator.clipboard.writeText(url);
    button.textContent = "Copied";
  } catch {
    prompt("The link to this position", url);
  }
}

begin();
