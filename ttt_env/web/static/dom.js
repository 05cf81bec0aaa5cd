// Elements are made here and nowhere else: a text becomes a text node, so nothing that a game, an agent or an address says is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else set(element, name, value);
  }
  element.append(...kept(children));
  return element;
}

/** Children in lists of lists, without those that are nothing. */
const kept = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

/** An HTML element with these attributes and children; an attribute that is a function listens to the event of its name. */
export const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** An SVG element, in the same way. */
export const s = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/** Replace all that an element holds. */
export const fillWith = (element, ...children) => element.replaceChildren(...kept(children));

/** Set an attribute: true is an empty one, or "true" where ARIA has a value; false, null and undefined are none at all. */
export function set(element, name, value) {
  if (value === false || value === null || value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
}

/** Replace a node's text only where it changes, so that a screen reader hears it once. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A choice: `groups` are its options as {label: [[value, text], …]}, without a label where that is "". */
export function select(attributes, groups) {
  const options = (pairs) => pairs.map(([value, text]) => h("option", { value }, text));
  return h("select", attributes, Object.entries(groups).map(([label, pairs]) => (label ? h("optgroup", { label }, options(pairs)) : options(pairs))));
}

/** A slider with its name and number above it. */
export function slider(name, attributes, shown = (value) => value) {
  const output = h("output");
  const input = h("input", { type: "range", ...attributes });
  const show = () => say(output, String(shown(Number(input.value))));
  input.addEventListener("input", show);
  return { label: h("label", { class: "slider" }, h("span", {}, name, " ", output), input), input, show };
}

/** A button that copies the address of the page. Where there is no clipboard, the address is shown, to be copied by hand. */
export function copyButton(text) {
  const address = h("input", { class: "address", readonly: true, hidden: true, "aria-label": "Address of this page" });
  const button = h("button", { type: "button", async click() {
    try {
      await navigator.clipboard.writeText(location.href);
      say(button, "Copied");
      setTimeout(() => say(button, text), 1500);
    } catch (error) {
      if (!(error instanceof DOMException || error instanceof TypeError)) throw error; // refused, or no clipboard on this page
      address.value = location.href;
      address.hidden = false;
      address.select();
    }
  } }, text);
  return [button, address];
}
