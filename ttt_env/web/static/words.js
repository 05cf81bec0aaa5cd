// Numbers as the server writes them: `ttt_env.render.words`, to the letter.

/** The number with so many decimals, rounded as Python does: the exact value, and ties to an even digit. */
export function fixed(number, digits) {
  const text = number.toFixed(digits); // which rounds ties away from 0
  const exact = number.toFixed(Math.min(digits + 40, 100));
  const isTie = /^50*$/.test(exact.slice(exact.indexOf(".") + 1 + digits));
  if (!isTie || Number(text.at(-1)) % 2 === 0) return text;
  return (Number(text) - Math.sign(number) * 10 ** -digits).toFixed(digits);
}

export function percent(share) {
  const text = fixed(100 * share, 2);
  if (text === "0.00" && share > 0) return "<0.01%";
  if (text === "100.00" && share < 1 - 1e-13) return ">99.99%";
  return `${text.replace(/0+$/, "").replace(/\.$/, "")}%`;
}

export function signed(number, digits) {
  const text = fixed(Math.abs(number), digits);
  if (Number(text) === 0) return text;
  return (number < 0 ? "−" : "+") + text;
}

/** A value of a position: none of the decimals where it is certain. */
export const told = (value) => signed(value, Number.isInteger(value) ? 0 : 4);
