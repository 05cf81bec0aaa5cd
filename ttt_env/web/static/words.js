// Numbers and results as the page writes them.

export const count = (number) => number.toLocaleString("en");
export const plural = (number, name) => `${count(number)} ${name}${number === 1 ? "" : "s"}`;

/** A chance in percent: 0 and 100 only where it is certain. */
export function percent(chance) {
  if (chance > 0 && chance < 0.001) return "<0.1 %";
  if (chance < 1 && chance > 0.999) return ">99.9 %";
  return `${(100 * chance).toFixed(chance > 0 && chance < 0.0995 ? 1 : 0)} %`;
}

/** A number with its sign, by a true minus. */
export function signed(number, digits = 2) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? "0" : (number < 0 ? "−" : "+") + text;
}

/** What a value of −1, 0 or 1 means for whoever it is spoken of. */
export const VERBS = { "1": "wins", "0": "draws", "-1": "loses" };
