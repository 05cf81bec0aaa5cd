// Links and forms of this site are fetched and <main> is made like the new one: no page is built here.
// [data-load] parts are fetched after the rest, [data-after] forms are sent by themselves after so many ms,
// [data-live] forms while one of their sliders moves, [data-follow] elements are brought into view.

import { morph, sweepUp } from "./morph.js";
import { reread } from "./chart.js";
import { refigure } from "./live.js";
import { rove, startKeys } from "./keys.js";

// A game that is played here: only its page takes that along.
const life = document.getElementById("life") && (await import("./life.js"));

const page = () => document.getElementById("page");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const texts = new Map(); // what parts were filled with, and what is under way, by address
let going = new AbortController(); // what a newer visit puts an end to
let asking = Promise.resolve(); // the form that a control has sent: what is clicked meanwhile follows its answer

const REPLY_AFTER = 250; // milliseconds from a person's move to the agent's, at least
const unanswered = new Set(); // moves on the board that no answer has told of, each with its tile and what takes it back

// What a hand or a caret is on stays as it is whatever answer comes in.
let pressed = null; // from the press of a pointer to the click
let edited = null; // the control that was changed last, and when, until an answer tells of it

addEventListener("pointerdown", (event) => (pressed = event.target), true);
for (const end of ["pointerup", "pointercancel", "dragend"]) {
  addEventListener(end, () => setTimeout(release), true);
}

function release() {
  pressed = null;
  sweepUp(page());
}

const isOneControl = (a, b) => a === b || (a.type === "radio" && a.name === b.name && a.form === b.form);
const isEditing = (control) => control.matches("select, textarea, input:not([type=range], [type=radio], [type=checkbox])");

/** What keeps its value when an answer to a question asked `since` comes in; 0 is one that nobody asked. */
function isHeld(control, since) {
  if (!control.matches("input, select, textarea")) return false;
  if (control === pressed || (edited && edited.at > since && isOneControl(control, edited.control))) return true;
  return !since && control === document.activeElement && isEditing(control);
}

function patch(old, next, since = 0) {
  const focused = document.activeElement;
  const fixed = [pressed, focused].filter((node) => node && node !== document.body && old.contains(node));
  morph(old, next, { isHeld: (control) => isHeld(control, since), fixed, pressed });
  if (!focused?.isConnected) document.getElementById(focused?.id)?.focus({ preventScroll: true });
  // A link that leads nowhere now, such as Forward at the end, keeps the focus all the same.
  else if (focused.matches("a:not([href])")) focused.tabIndex = -1;
  if (edited?.control.type === "range" && edited.control.isConnected) showMoved(edited.control);
  for (const move of unanswered) move.takeBack = life?.place(move.tile);
  reread(page());
  rove();
}

/**
 * Go to an address. `isAsked` tells a visitor's wish from a step that a page takes by itself; `move` is one that was
 * shown before the answer, and is taken back if none comes. The answer to a move is the page with the reply in it.
 */
async function visit(url, { method = "GET", body, replace = false, isAsked = true, move } = {}) {
  going.abort();
  const { signal } = (going = new AbortController());
  const since = isAsked ? performance.now() : 0;
  try {
    const headers = method === "POST" ? { prefer: "return=representation" } : {};
    const response = await fetch(url, { method, body, headers, signal });
    const text = await response.text();
    const fetched = new DOMParser().parseFromString(text, "text/html");
    fetched.querySelectorAll("noscript").forEach((unused) => unused.remove());
    const next = fetched.getElementById("page");
    if (!next) return fail(text, move);
    const shown = response.headers.get("content-location");
    const address = new URL(shown ?? response.url, location);
    if (section(address) !== section(location)) return location.assign(address);
    const early = parts(next).filter((part) => isSoon(part) || isKnown(part));
    const pause = move && next.querySelector("[data-reply]") ? since + REPLY_AFTER - performance.now() : 0;
    await Promise.all([Promise.race([Promise.all(early.map((part) => load(part, signal))), sleep(150)]), sleep(pause)]);
    if (signal.aborted) return;
    if (shown || response.redirected || (method === "GET" && response.ok)) {
      history[replace ? "replaceState" : "pushState"](null, "", address);
    }
    document.title = fetched.title;
    if (edited?.at <= since) edited = null;
    if (!response.ok) life?.forgetPlan();
    unanswered.delete(move);
    patch(page(), next, since);
    if (isAsked) follow();
    begin();
  } catch (error) {
    if (error.name !== "AbortError") fail("The server does not answer. Is ttt web still running?", move);
  }
}

function fail(text, move) {
  move?.takeBack?.();
  life?.forgetPlan();
  complain(move ? `${text} Your move was taken back.` : text);
}

function complain(text) {
  const alert = Object.assign(document.createElement("p"), { className: "complaint", role: "alert", textContent: text });
  document.querySelectorAll("main .complaint").forEach((old) => old.remove());
  (page().querySelector(".stage") ?? page()).prepend(alert);
}

const parts = (root) => [...root.querySelectorAll("[data-load]")];
const isSoon = (part) => !("later" in part.dataset);
const isKnown = (part) => typeof texts.get(part.dataset.load) === "string";
let last = Promise.resolve(); // the parts that may come later are fetched one by one: a browser has few connections

const isPage = (text) => text.startsWith("<!doctype"); // with the part in it

async function textOf(url, signal) {
  const response = await fetch(url, { signal });
  const text = await response.text();
  if (!response.ok && !isPage(text)) throw new Error(text);
  return text;
}

function textAt(url, signal) {
  if (!texts.has(url)) {
    if (texts.size > 200) texts.clear();
    const begun = textOf(url, signal).then((text) => texts.set(url, text) && text);
    texts.set(url, begun);
    begun.catch(() => texts.delete(url));
  }
  return texts.get(url);
}

/** A turn at fetching the parts that may come later, taken if the part still waits for this address. */
function inTurn(part, url) {
  const isWanted = () => part.isConnected && part.dataset.load === url;
  const turn = last.then(() => (isWanted() ? textAt(url) : null));
  last = turn.catch(() => {});
  return turn;
}

function fill(part, text) {
  part.innerHTML = isPage(text) ? new DOMParser().parseFromString(text, "text/html").getElementById(part.id).innerHTML : text;
  const larger = part.querySelector("[data-grow]")?.dataset.grow; // of a search that goes on
  if (larger) part.dataset.load = larger;
  else delete part.dataset.load;
}

async function load(part, signal) {
  const url = part.dataset.load;
  try {
    const text = isKnown(part) ? texts.get(url) : await (isSoon(part) ? textAt(url, signal) : inTurn(part, url));
    if (part.dataset.load !== url || text === null || (isSoon(part) && signal.aborted)) return;
    if (part.ownerDocument !== document) return fill(part, text);
    const filled = part.cloneNode(false);
    fill(filled, text);
    patch(part, filled);
    follow();
    if (part.dataset.load) await load(part, signal);
  } catch (error) {
    if (error.name !== "AbortError") part.title = error.message;
  }
}

let due = { turn: "", at: 0 }; // when the page takes its next step by itself

function begin() {
  const { signal } = going;
  const shown = page().querySelector("[data-status]");
  const status = [shown?.dataset.reply, shown?.textContent.trim()].filter(Boolean).join(" ");
  const live = document.getElementById("live");
  if (live.textContent !== status) live.textContent = status;
  life?.keepScore();
  parts(page()).forEach((part) => load(part, signal));
  const form = page().querySelector("form[data-after]");
  if (form) {
    const { after, turn } = form.dataset;
    // What a visitor does meanwhile, such as dragging a slider, does not put the turn off.
    if (due.turn !== `${turn} ${after}`) due = { turn: `${turn} ${after}`, at: performance.now() + Number(after) };
    sleep(due.at - performance.now()).then(() => {
      if (!signal.aborted) visit(form.action, { method: form.method.toUpperCase(), replace: true, isAsked: false });
    });
  }
  life?.playPlan(form || unanswered.size);
}

function send(form, { submitter, replace, move } = {}) {
  const fields = new URLSearchParams(new FormData(form));
  if (submitter?.name) fields.append(submitter.name, submitter.value);
  if (form.method === "post") return visit(form.action, { method: "POST", body: fields, move });
  return visit(`${form.getAttribute("action")}?${fields}`, { replace });
}

// While a slider moves its form is sent again and again, the next time when the answer is there. A whole move of it,
// from the first input to the change that ends it, is one step back in the browser.
let move = null; // what was sent last in this move
let unsent = null; // the form and the move to be sent next
let isSliding = false;

function slide(form, isEnd) {
  move ??= { sent: "" };
  unsent = { form, move };
  if (isEnd) move = null;
  if (!isSliding) asking = sendSlid();
}

async function sendSlid() {
  isSliding = true;
  while (unsent) {
    const { form, move } = unsent;
    const fields = `${new URLSearchParams(new FormData(form))}`;
    unsent = null;
    if (fields === move.sent) continue;
    const replace = move.sent !== "";
    move.sent = fields;
    await Promise.all([send(form, { replace }), sleep(100)]);
  }
  isSliding = false;
}

/** Show, before any answer, what a slider that is being moved says. */
function showMoved(slider) {
  slider.parentElement.querySelector("output").textContent = slider.value;
  refigure(page());
}

const section = ({ pathname }) => pathname.split("/")[1]; // another one has its own header and styles

/**
 * Scroll a tree or table to its [data-follow] element, after what a visitor has asked for. One that moves by itself holds
 * still: the element is soon elsewhere, and the eye could not go with it.
 */
function follow() {
  for (const mark of page().querySelectorAll("[data-follow]")) {
    const box = mark.closest(".tree, .scroll");
    const [around, own] = [box, mark].map((node) => node.getBoundingClientRect());
    const isOut = own.left < around.left || own.right > around.right || own.top < around.top || own.bottom > around.bottom;
    if (!isOut) continue;
    box.scrollLeft += own.left + own.width / 2 - around.left - around.width / 2;
    box.scrollTop += own.top + own.height / 2 - around.top - around.height / 2;
  }
}

addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const tile = event.target.closest(".tile");
  if (tile && (unanswered.size || page().querySelector("form[data-after]"))) life?.planMove(tile);
  if (!link || !page().contains(link) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (link.origin !== location.origin || link.hasAttribute("download") || section(link) !== section(location)) return;
  event.preventDefault();
  life?.forgetPlan();
  asking.then(() => link.href && visit(link.href));
});

addEventListener("submit", (event) => {
  event.preventDefault();
  const { target: form, submitter } = event, takeBack = life?.place(submitter);
  if (!takeBack) return void asking.then(() => send(form, { submitter }));
  const move = { tile: submitter, takeBack };
  unanswered.add(move);
  // A move is not overtaken by the next one, which may be none after it.
  asking = asking.then(() => move.takeBack && send(form, { submitter, move })).finally(() => unanswered.delete(move));
});

addEventListener("input", ({ target }) => {
  edited = { control: target, at: performance.now() };
  if (target.type !== "range") return;
  showMoved(target);
  if ("live" in target.form.dataset) slide(target.form, false);
});

addEventListener("change", ({ target }) => {
  if (target.form?.method !== "get" || "ask" in target.form.dataset) return;
  if (target.type === "range" && "live" in target.form.dataset) slide(target.form, true);
  else asking = send(target.form);
});

addEventListener("popstate", () => visit(location.href, { replace: true }));

for (const unused of document.querySelectorAll("main noscript")) unused.remove();
startKeys();
begin();
rove();
follow();
