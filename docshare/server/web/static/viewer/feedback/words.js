/** Short words to the reader: a line above everything, read out by screen readers, sometimes with a way to try again. */

import { byId, make } from "../dom.js";
import { readFacts } from "../facts.js";

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
 * @param {string} words  what failed; the refusal says why
 * @param {import("./ask.js").Refusal} refusal
 * @param {() => void} again
 */
export function sayFailed(words, refusal, again) {
  show(`${words} ${refusal.message}`, true);
  byId("feedback-words").append(...waysOut(refusal));
  retry = again;
}

/**
 * What a reader can do about a refusal elsewhere, to stand behind its words.
 *
 * @param {import("./ask.js").Refusal} refusal
 * @returns {(Node | string)[]}
 */
export function waysOut(refusal) {
  if (!refusal.framed) return [];
  const attributes = { class: "way-out", href: readFacts().base, target: "_blank", rel: "noopener" };
  return [" ", make("a", attributes, "Open in a new window")];
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
