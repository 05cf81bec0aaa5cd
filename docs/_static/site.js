// What is wider than the page can be scrolled with the keyboard, and is no stop on the way where all of it is in view.
const frames = document.querySelectorAll("pre, .table-wrapper, .cell_output .output.text_html, div.math");

function markFrames() {
  for (const frame of frames) {
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  }
}

addEventListener("resize", markFrames);
addEventListener("load", markFrames);
markFrames();

// A click on the heading of a table of figures sorts its rows: a dash, and what holds no number, comes last.
function sortBy(table, heading) {
  const column = heading.cellIndex;
  const down = heading.ariaSort === "ascending";
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.ariaSort = down ? "descending" : "ascending";
  const isNumber = heading.classList.contains("text-right");
  const text = (row) => row.cells[column].textContent.trim();
  const number = (row) => {
    const found = parseFloat(text(row).replaceAll(",", "").replace("−", "-"));
    return isNaN(found) ? (down ? -Infinity : Infinity) : found;
  };
  const order = isNumber ? (a, b) => number(a) - number(b) : (a, b) => text(a).localeCompare(text(b));
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort((a, b) => (down ? -order(a, b) : order(a, b))));
}

for (const table of document.querySelectorAll("table.docutils:has(thead th.text-right)")) {
  if (table.tBodies[0].rows.length < 4) continue;
  table.classList.add("sortable");
  for (const heading of table.tHead.rows[0].cells) {
    if (heading.localName !== "th" || heading.querySelector("a")) continue; // no link inside of a button
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(table, heading));
  }
}
