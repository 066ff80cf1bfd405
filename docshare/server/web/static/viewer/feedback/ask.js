/** Asks the server about what readers leave, and says in plain words why something could not be done. */

import { readFacts } from "../facts.js";

const TIMEOUT_MS = 20_000;

/** The server did not do what was asked. The message is a sentence for the reader. */
export class Refusal extends Error {
  /**
   * @param {number} status  0 when nobody answered
   * @param {string} words
   */
  constructor(status, words) {
    super(words);
    this.status = status;
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
  throw new Refusal(answer.status, await why(answer));
}

/**
 * What the server refuses, it explains to the reader.
 *
 * @param {Response} answer
 * @returns {Promise<string>}
 */
async function why(answer) {
  const { status, headers } = answer;
  if (status === 429) return `That was a lot at once. Try again ${inAWhile(headers)}.`;
  if (status >= 500) return "The server could not do this just now.";
  if (headers.get("Content-Type")?.startsWith("text/plain")) return answer.text();
  return status === 410 ? "This link is no longer available." : "The server did not accept this.";
}

/** @param {Headers} headers */
function inAWhile(headers) {
  const seconds = Number(headers.get("Retry-After"));
  return seconds > 1 ? `in ${seconds} seconds` : "in a moment";
}
