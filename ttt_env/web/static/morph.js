// Makes a tree of a page like another one by changing what differs and nothing else, so that what is pressed, dragged,
// typed into, focused, selected or scrolled stays itself. Children are paired by their key, which is `id` or `data-key`;
// those without one by their order among the children of the same name.

const keyOf = (node) => node.id || node.dataset?.key || "";
const kindOf = (node) => `${node.nodeName} ${keyOf(node)}`;

/**
 * Make `old` like `next`, which is used up. Of the `hands`, `isHeld` says which controls keep the value that they show,
 * and `fixed` are nodes that are not moved, since moving drops a press or the focus. What is `pressed` is not even
 * removed: a press whose element has gone at the release is no click. It is hidden, as `data-leaving`, until `sweepUp`.
 */
export function morph(old, next, hands) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  const held = hands.isHeld(old);
  copyAttributes(old, next, held);
  morphChildren(old, next, hands);
  if (!held) copyState(old, next);
}

function copyAttributes(old, next, held) {
  const isKept = (name) => (held && (name === "value" || name === "checked")) || (name === "open" && old.matches("details"));
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !isKept(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value && !isKept(name)) old.setAttribute(name, value);
  }
}

/** What a control shows is no attribute once somebody has changed it. */
function copyState(old, next) {
  if (old.matches("input[type=radio], input[type=checkbox]")) {
    if (old.checked !== next.checked) old.checked = next.checked;
  } else if (old.matches("input, select, textarea")) {
    if (old.value !== next.value) old.value = next.value;
  }
}

function morphChildren(old, next, hands) {
  const unpaired = Map.groupBy(old.childNodes, kindOf);
  const pairs = [...next.childNodes].map((child) => [unpaired.get(kindOf(child))?.shift(), child]);
  for (const child of [...unpaired.values()].flat()) {
    if (child.contains(hands.pressed)) child.dataset.leaving = "";
    else child.remove();
  }
  let place = old.firstChild;
  for (const [own, child] of pairs) {
    if (!own) {
      old.insertBefore(child, place);
      continue;
    }
    if (hands.fixed.some((node) => own.contains(node))) {
      while (place !== own) { // the others give way: each comes to its place later
        const passed = place;
        place = place.nextSibling;
        old.append(passed);
      }
    } else if (own !== place) {
      old.insertBefore(own, place);
    }
    morph(own, child, hands);
    place = own.nextSibling;
  }
}

export const sweepUp = (root) => root.querySelectorAll("[data-leaving]").forEach((node) => node.remove());
