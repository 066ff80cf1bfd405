/** Asks the server about what readers leave, and says in plain words why something could not be done. */

import { readFacts } from "../facts.js";

const TIMEOUT_MS = 20_000;

const SOON = 1; // seconds, where the server does not say how long

/** The server did not do what was asked. The message is a sentence for the reader. */
export class Refusal extends Error {
  /**
   * @param {number} status  0 when nobody answered
   * @param {string} words
   * @param {number} [seconds]  to wait before asking again
   */
  constructor(status, words, seconds = SOON) {
    super(words);
    this.status = status;
    this.seconds = seconds;
  }

  /** It was too much at once, and will be taken later. */
  get tooFast() {
    return this.status === 429;
  }

  /** Reading in a window of its own may help: browsers keep no cookies in some frames, and one is needed to write. */
  get framed() {
    return this.status === 403 && window.top !== window;
  }
}

/** The write before the next one. @type {Promise<unknown>} */
let before = Promise.resolve();

/**
 * Rejects with a Refusal. Writes go one after the other: the first makes the reader known to the server by a cookie, and
 * two that leave at once would be of two readers.
 *
 * @param {string} method
 * @param {string} url
 * @param {object} [body]  sent as JSON
 * @returns {Promise<any>} what the server answered; null if it had nothing to say
 */
export function ask(method, url, body) {
  if (method === "GET") return request(method, url);
  const answer = before.then(() => request(method, url, body));
  before = answer.catch(() => {});
  return answer;
}

/**
 * @param {string} method
 * @param {string} url
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function request(method, url, body) {
  // What is said of one document must not be kept as said of the next.
  const headers = { "Content-Type": "application/json", "If-Match": `"${readFacts().version}"` };
  const sent = body && { headers, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(url, { method, ...sent, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (answer.ok) return answer.status === 204 ? null : await answer.json();
  } catch {
    throw new Refusal(0, navigator.onLine ? "The server did not answer." : "You are offline.");
  }
  const seconds = Number(answer.headers.get("Retry-After")) || SOON;
  throw new Refusal(answer.status, await why(answer, seconds), seconds);
}

/**
 * What the server refuses, it explains to the reader.
 *
 * @param {Response} answer
 * @param {number} seconds  to wait before asking again
 * @returns {Promise<string>}
 */
async function why(answer, seconds) {
  const { status, headers } = answer;
  if (status === 429) return `That was a lot at once. Try again ${inAWhile(seconds)}.`;
  if (status >= 500) return "The server could not do this just now.";
  if (headers.get("Content-Type")?.startsWith("text/plain")) return answer.text();
  return status === 410 ? "This link is no longer available." : "The server did not accept this.";
}

/** @param {number} seconds */
export function inAWhile(seconds) {
  return seconds > 1 ? `in ${seconds} seconds` : "in a moment";
}
