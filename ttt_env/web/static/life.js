// What happens on the board before the server answers, and the score of the games in this tab.

/** A stone of this seat. */
export const stoneOf = (seat) => document.getElementById("stones").content.querySelector(`.${seat.toLowerCase()}`).cloneNode(true);

const lifeOf = () => document.getElementById("life");

/** Show a person's move at once, as the answer will; returns what takes it back, nothing if it is no move. */
export function place(tile) {
  const form = tile?.form, life = lifeOf();
  if (!form || !life || !form.matches(".boards") || tile.type !== "submit") return undefined;
  const { className } = tile, content = [...tile.childNodes], closed = [];
  const seat = form.querySelectorAll(".tile > .stone").length % 2;
  const last = form.querySelector(".tile.last");
  last?.classList.remove("last");
  tile.className = `tile last ${"xo"[seat]}`;
  tile.querySelectorAll(".known").forEach((known) => known.remove());
  tile.append(stoneOf("XO"[seat]));
  // A person who plays the other side may go on at once; against an agent no cell is open until it has moved.
  const taken = life.dataset.next === "person" ? [tile] : form.querySelectorAll(".tile[type=submit]");
  for (const each of taken) {
    each.type = "button";
    closed.push(each);
  }
  return () => {
    tile.className = className;
    tile.replaceChildren(...content);
    for (const each of closed) each.type = "submit";
    if (last?.querySelector(".stone")) last.classList.add("last");
  };
}

let premove = null; // the cell that is played as soon as the agent has moved

/** Take the press of a cell while an agent is about to move as one's next move; a second press takes it back. */
export function planMove(tile) {
  if (!lifeOf()?.dataset.rival || !tile.matches(".boards .free[type=button]")) return;
  const isOff = tile === premove;
  forgetPlan();
  if (isOff) return;
  premove = tile;
  tile.classList.add("premove");
  document.getElementById("live").textContent = `Cell ${tile.value} is played after the reply`;
}

export function forgetPlan() {
  premove?.classList.remove("premove");
  premove = null;
}

/** Play the planned move if it is a move now, and keep it if the agent `isThinking` still. */
export function playPlan(isThinking) {
  const tile = premove;
  if (!tile?.isConnected) return forgetPlan();
  if (isThinking && tile.matches(".free")) return void tile.classList.add("premove");
  forgetPlan();
  if (tile.type === "submit") tile.form.requestSubmit(tile);
}

/** Count a game that has ended, once, and say how the games of these two stand in this tab. */
export function keepScore() {
  const life = lifeOf(), line = document.getElementById("score");
  if (!life) return;
  const { result, number, pair, rival } = life.dataset, key = `score ${pair}`;
  const score = JSON.parse(sessionStorage.getItem(key) ?? "null") ?? { counted: [], win: 0, draw: 0, loss: 0, X: 0, O: 0 };
  if (result && !score.counted.includes(number)) {
    score[result] += 1;
    score.counted = [...score.counted, number].slice(-100);
    sessionStorage.setItem(key, JSON.stringify(score));
  }
  const sides = rival ? `You ${score.win} · ${rival} ${score.loss}` : `X ${score.X} · O ${score.O}`;
  line.hidden = !score.counted.length;
  line.textContent = `Score in this tab: ${sides} · draws ${score.draw}`;
}
