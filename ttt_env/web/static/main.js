// Which view is shown: the one that the address names.

import { AnswerError, data } from "./answers.js";
import { readAddress } from "./address.js";
import { CompareView } from "./compare.js";
import { fillWith, h, set } from "./dom.js";
import { InsideView } from "./inside.js";
import { Knowledge } from "./knowledge.js";
import { PlayView } from "./play.js";
import { PositionsView } from "./positions.js";

const VIEWS = { positions: [PositionsView, "All positions"], play: [PlayView, "Play"], inside: [InsideView, "Look inside"], compare: [CompareView, "Compare"] };

async function start(root) {
  const [app, spots] = await Promise.all([data("app.json"), data("layout.json")]);
  const known = new Map(); // by game
  app.spots = spots;
  app.knowledgeOf = (game) => known.get(game) ?? known.set(game, new Knowledge(game, app)).get(game);
  let name, view;

  function show() {
    const address = readAddress(), next = Object.hasOwn(VIEWS, address.view) ? address.view : "positions";
    if (next !== name) {
      view?.close();
      name = next;
      view = new VIEWS[name][0](root, app);
      document.title = `${VIEWS[name][1]} · ttt_env`;
      for (const link of document.querySelectorAll("nav a")) set(link, "aria-current", link.hash.slice(1).split("?")[0] === name ? "page" : null);
    }
    view.update(address.fields);
  }

  addEventListener("hashchange", show);
  show();
}

document.querySelector(".top").hidden = self !== top; // a frame of another page shows one view
const root = document.getElementById("page");
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // what is behind # in the address is the state of the page
  root.focus();
});
start(root).catch((error) => {
  if (!(error instanceof AnswerError)) throw error;
  fillWith(root, h("p", { class: "complaint", role: "alert" }, error.message));
});
