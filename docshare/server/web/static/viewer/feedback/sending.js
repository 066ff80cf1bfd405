/** Submission of all feedback forms: show that it is saving, or why it failed, and keep the entered text. */

import { waysOut } from "./words.js";

/**
 * Listen to the submission of a form that has a submit button and an element with the role "alert".
 *
 * @param {HTMLFormElement} form
 * @param {() => string} check  returns what is missing; empty if nothing is
 * @param {() => Promise<void>} send  rejects with a Refusal
 * @returns {() => void} clears the last message of the form
 */
export function sendBy(form, check, send) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("[type=submit]"));
  const alert = /** @type {HTMLElement} */ (form.querySelector("[role=alert]"));
  const idle = button.textContent;
  let busy = false;

  const setStatus = (words, label) => {
    alert.textContent = words;
    alert.hidden = words === "";
    button.textContent = label;
    button.setAttribute("aria-disabled", String(busy));
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (busy) return;
    const missing = check();
    if (missing) {
      setStatus(missing, idle);
      return;
    }
    busy = true;
    setStatus("", "Saving…");
    try {
      await send();
      busy = false;
      setStatus("", idle);
    } catch (refusal) {
      busy = false;
      setStatus(`Not saved. ${refusal.message}`, "Try again");
      alert.append(...waysOut(refusal));
    }
  });
  return () => {
    if (!busy) setStatus("", idle);
  };
}
