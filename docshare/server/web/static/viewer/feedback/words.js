/** Short messages to the reader: a line above everything, announced by screen readers, some with a retry button. */

import { byId, make } from "../dom.js";
import { readFacts } from "../facts.js";

const STAYS_MS = 4_000;

let timer = 0;
/** @type {() => void} */
let retry = () => {};

/** Create the element before the first message. */
export function listenToWords() {
  byId("feedback-again").addEventListener("click", () => {
    quiet();
    retry();
  });
}

/**
 * Announce a change to screen readers.
 *
 * @param {string} words
 */
export function announce(words) {
  byId("feedback-status").textContent = words;
}

/**
 * Show a success message, which disappears by itself.
 *
 * @param {string} words
 */
export function showSuccess(words) {
  show(words, false);
  timer = setTimeout(quiet, STAYS_MS);
}

/**
 * Show a message about something in progress, which stays until it is replaced.
 *
 * @param {string} words
 */
export function showProgress(words) {
  show(words, false);
}

/**
 * Show an error message, which stays until it is dismissed or replaced.
 *
 * @param {string} words  what failed; the refusal explains why
 * @param {import("./ask.js").Refusal} refusal
 * @param {() => void} again
 */
export function showFailure(words, refusal, again) {
  show(`${words} ${refusal.message}`, true);
  byId("feedback-words").append(...waysOut(refusal));
  retry = again;
}

/**
 * Return the actions that a reader can take after a refusal, to append to its message.
 *
 * @param {import("./ask.js").Refusal} refusal
 * @returns {(Node | string)[]}
 */
export function waysOut(refusal) {
  if (!refusal.framed) return [];
  const attributes = { class: "way-out", href: readFacts().base, target: "_blank", rel: "noopener" };
  return [" ", make("a", attributes, "Open in a new tab")];
}

/**
 * @param {string} words
 * @param {boolean} failed
 */
function show(words, failed) {
  clearTimeout(timer);
  announce(words);
  byId("feedback-words").textContent = words;
  byId("feedback-again").hidden = !failed;
  byId("feedback-notice").classList.add("is-shown");
}

function quiet() {
  byId("feedback-notice").classList.remove("is-shown");
  byId("feedback-again").hidden = true;
}
