// What the page reads: files that Python wrote beside it, and where `ttt web` serves it, answers that only Python can give.

/** Something that could not be had, with the reason for the visitor. */
export class AnswerError extends Error {}

const SILENCE = "The program does not answer: is `ttt web` still running?";

async function fetched(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error instanceof TypeError) throw new AnswerError(SILENCE); // so fetch says that there is no connection
    throw error;
  }
}

/** A file of data; in a page of one file it stands in the page itself. */
export async function data(name) {
  const inlined = document.getElementById(`data/${name}`);
  if (inlined) return JSON.parse(inlined.textContent);
  const response = await fetched(`data/${name}`);
  if (!response.ok) throw new AnswerError(`The file data/${name} is missing on this site.`);
  return response.json();
}

function posted(name, question, signal) {
  const body = JSON.stringify(question);
  return fetched(`answers/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body, signal });
}

/** The answer to a question. A signal that is aborted ends the computation, too. */
export async function ask(name, question, signal) {
  const response = await posted(name, question, signal);
  const answer = await response.json();
  if (!response.ok) throw new AnswerError(answer.error);
  return answer;
}

/** The answer to a question that takes its time: one event after the other. */
export async function* follow(name, question, signal) {
  const response = await posted(name, question, signal);
  if (!response.ok) throw new AnswerError((await response.json()).error);
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Whether an error says only that nobody waits for the answer any more. */
export const isAborted = (error) => error instanceof DOMException && error.name === "AbortError";
