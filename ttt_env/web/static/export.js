// Where the pages of `ttt web --export` start: each has the part that it is about.

import { startPlay } from "./export_play.js";
import { startTree } from "./export_tree.js";
import { startTraining } from "./train.js";
import { startKeys } from "./keys.js";

const facts = globalThis.ttt;
if (document.getElementById("opponent")) startPlay(facts);
if (document.querySelector(".tree")) startTree(facts);
if (document.getElementById("train")) startTraining();
startKeys();

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // what is behind # in the address is the state of the page
  document.getElementById("page").focus();
});
