// Where the pages of `ttt web --export` start: each has the part that it is about.

import { startPlay } from "./export_play.js";
import { startReplay } from "./export_replay.js";
import { startTree } from "./export_tree.js";

const facts = globalThis.ttt;
const games = document.querySelector("[data-games]");
if (games?.querySelector(".replay")) startReplay(games, facts);
if (document.getElementById("opponent")) startPlay(facts);
if (document.querySelector(".tree")) startTree(facts);

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});
