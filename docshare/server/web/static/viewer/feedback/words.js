/** Short words to the reader: a line above everything, read out by screen readers, sometimes with a way to try again. */

import { byId } from "../dom.js";

const STAYS_MS = 4_000;

let timer = 0;
/** @type {() => void} */
let retry = () => {};

/** Once, before anything is said. */
export function listenToWords() {
  byId("feedback-again").addEventListener("click", () => {
    quiet();
    retry();
  });
}

/**
 * For those who do not see what has changed.
 *
 * @param {string} words
 */
export function tell(words) {
  byId("feedback-status").textContent = words;
}

/**
 * It went well; this goes away by itself.
 *
 * @param {string} words
 */
export function say(words) {
  show(words, false);
  timer = setTimeout(quiet, STAYS_MS);
}

/**
 * It failed; this stays until it is answered or something else is said.
 *
 * @param {string} words
 * @param {() => void} again
 */
export function sayFailed(words, again) {
  show(words, true);
  retry = again;
}

/**
 * @param {string} words
 * @param {boolean} failed
 */
function show(words, failed) {
  clearTimeout(timer);
  tell(words);
  byId("feedback-words").textContent = words;
  byId("feedback-again").hidden = !failed;
  byId("feedback-notice").classList.add("is-shown");
}

function quiet() {
  byId("feedback-notice").classList.remove("is-shown");
  byId("feedback-again").hidden = true;
}
