// A tree of positions: small boards, the root above, parents over the middle of what follows.

import { picture } from "./board.js";
import { h, s } from "./dom.js";
import { positionAfter } from "./rules.js";

const BOARD = 64, COLUMN = 84, LEVEL = 128, LINE = 16; // in pixels

/**
 * A position in a tree: the `moves` that lead there, what is written `above` and `below` it, the width of its edge (0–1), whether
 * it stands out, in how many symmetric ways it is reached, the address behind it, and what follows it.
 * @typedef {{moves: number[], above: string, below: string, share: number, isLit: boolean, alike: number, href: string | null, children: Branch[]}} Branch
 */

const leavesOf = ({ children }) => children.reduce((sum, child) => sum + leavesOf(child), 0) || 1;
const depthOf = ({ children }) => 1 + Math.max(0, ...children.map(depthOf));

/** @param {Branch} root */
export function drawTree(game, root, label) {
  const width = leavesOf(root) * COLUMN, height = depthOf(root) * LEVEL, edges = s("g", { class: "edges" }), boards = s("g");
  const place = (branch, depth, left) => {
    const leaves = leavesOf(branch), x = (left + leaves / 2) * COLUMN, y = depth * LEVEL;
    let next = left;
    for (const child of branch.children) {
      const to = place(child, depth + 1, next), bottom = y + LINE * 2 + BOARD + 4;
      next += leavesOf(child);
      edges.prepend(s("path", { class: child.isLit ? "lit" : null, "stroke-width": 1 + 7 * child.share, d: `M${x} ${bottom}C${x} ${bottom + 20} ${to.x} ${to.y - 18} ${to.x} ${to.y}` }));
    }
    boards.append(drawn(game, branch, x, y));
    return { x, y };
  };
  place(root, 0, 0);
  const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label }, edges, boards);
  return h("div", { class: "tree", tabindex: 0, role: "region", "aria-label": `${label}; it scrolls` }, drawing);
}

function drawn(game, { moves, above, below, isLit, alike, href }, x, y) {
  const times = alike > 1 ? ` ${alike}×` : "", words = `after ${moves.join(" ") || "no move"}: ${above}${times}, ${below}`;
  const board = picture(game, positionAfter(game, moves), words);
  for (const [name, value] of Object.entries({ x: x - BOARD / 2, y: y + LINE, width: BOARD, height: BOARD })) board.setAttribute(name, value);
  const content = [s("text", { x, y: y + 12 }, above + times), board, s("text", { x, y: y + LINE + BOARD + 13 }, below)];
  return href ? s("a", { href, class: isLit ? "branch lit" : "branch", "aria-label": words }, content) : s("g", { class: "branch root" }, content);
}
