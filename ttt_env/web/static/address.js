// All state of the page is in the address, behind #: the view, and its fields. `#play?game=tictactoe-v0&x=person&moves=4.0`

/** The view and the fields of an address. */
export function readAddress(hash = location.hash) {
  const [view, query = ""] = hash.slice(1).split("?");
  return { view, fields: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a view with these fields; empty ones are left out. */
export function addressOf(view, fields = {}) {
  const readable = (text) => encodeURIComponent(text).replace(/%(3A|2C|3D|2F|28|29)/g, decodeURIComponent);
  const query = Object.entries(fields).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return `#${view}${query.length ? "?" : ""}${query.map(([name, value]) => `${name}=${readable(value)}`).join("&")}`;
}

export const movesOf = (text = "") => (/^\d{1,3}(\.\d{1,3})*$/.test(text) ? text.split(".").map(Number) : []);
export const textOf = (moves) => moves.join(".");

/** Change the address without another entry in the browser's history, and without an event. */
export const replaceAddress = (view, fields) => history.replaceState(null, "", addressOf(view, fields));

/** A number of a field within bounds, or the default. */
export function numberOf(text, usual, least, most) {
  const number = Number(text);
  return text === undefined || text === "" || !Number.isFinite(number) ? usual : Math.min(Math.max(number, least), most);
}
