// A refuting game on an exported certificate: its links lead to the position after so many moves, as #X-3; #X is the end.

import { byId, draw, listMoves, mark, setLink } from "./export_board.js";

/** @param {HTMLElement} part  whose data-games holds, by the agent's seat, the cells, and what is told of each position */
export function startReplay(part, { game }) {
  const games = JSON.parse(part.dataset.games);
  const replay = part.querySelector(".replay");

  function show() {
    const [, named, count = Infinity] = /^#([XO])(?:-(\d+))?$/.exec(location.hash) ?? [];
    const seat = [named, "X", "O"].find((each) => games[each]);
    const { cells, told } = games[seat];
    const at = Math.min(Number(count), cells.length);
    const to = (number) => `#${seat}-${number}`;
    draw(replay.querySelector("form.boards"), cells.slice(0, at), game);
    tell(told[at]);
    for (const [id, number] of [["first", 0], ["back", at - 1], ["forward", at + 1], ["last", cells.length]]) {
      const isPossible = number !== at && number >= 0 && number <= cells.length;
      setLink(byId(id), isPossible ? to(number) : undefined);
    }
    listMoves(replay.querySelector(".played"), cells, at, to,
      (ply) => `${ply >= at ? "ahead" : ""} ${told[ply + 1].isMistake ? "blunder" : ""}`);
    replay.querySelector("#play").href = told[at].play;
    for (const chip of part.querySelectorAll(".chips a")) mark(chip, "aria-current", chip.id === `as-${seat}` && "true");
    part.querySelector("#beaten-as").textContent = seat;
  }

  function tell({ status, mistake }) {
    const blunder = document.createElement("span");
    blunder.className = "blunder";
    blunder.textContent = mistake;
    replay.querySelector(".now").replaceChildren(`${status} `, ...(mistake ? [blunder] : []));
    byId("live").textContent = `${status} ${mistake}`;
  }

  addEventListener("hashchange", show);
  show();
}
