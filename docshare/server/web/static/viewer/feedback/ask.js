/** Requests about feedback, with error messages for the reader. */

import { readFacts } from "../facts.js";

const TIMEOUT_MS = 20_000;

const SOON = 1; // seconds, if the response has no Retry-After

/** A failed request. The message is a sentence for the reader. */
export class Refusal extends Error {
  /**
   * @param {number} status  0 without a response
   * @param {string} words
   * @param {number} [seconds]  delay before the next attempt
   */
  constructor(status, words, seconds = SOON) {
    super(words);
    this.status = status;
    this.seconds = seconds;
  }

  /** Whether the rate limit was exceeded, so that a retry can succeed. */
  get tooFast() {
    return this.status === 429;
  }

  /** Whether a separate window may help: in some frames browsers store no cookies, and writing requires one. */
  get framed() {
    return this.status === 403 && window.top !== window;
  }
}

/** The pending write. @type {Promise<unknown>} */
let before = Promise.resolve();

/**
 * Rejects with a Refusal. Writes are sent one after the other: the first one sets the cookie that identifies the
 * reader, and two simultaneous writes would create two readers.
 *
 * @param {string} method
 * @param {string} url
 * @param {object} [body]  sent as JSON
 * @returns {Promise<any>} the body of the response; null if it is empty
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
  // Feedback on one document must not be stored for the next one.
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
 * Return the message for a rejected request.
 *
 * @param {Response} answer
 * @param {number} seconds  delay before the next attempt
 * @returns {Promise<string>}
 */
async function why(answer, seconds) {
  const { status, headers } = answer;
  if (status === 429) return `Too many requests. Try again ${inAWhile(seconds)}.`;
  if (status >= 500) return "The server failed. Try again later.";
  if (headers.get("Content-Type")?.startsWith("text/plain")) return answer.text();
  return status === 410 ? "This link is no longer available." : "The server rejected the request.";
}

/** @param {number} seconds */
export function inAWhile(seconds) {
  return seconds > 1 ? `in ${seconds} seconds` : "in a moment";
}
