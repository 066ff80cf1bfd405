/** Scripts for the pages of one file: copy a link, show form rows one by one, upload a file with progress. */

import { SIGNED_OUT, send } from "../sending.js";

const SAID_MS = 1600;

/** @param {HTMLButtonElement} button */
function copies(button) {
  const words = [...button.childNodes];
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Cannot copy";
    }
    setTimeout(() => button.replaceChildren(...words), SAID_MS);
  });
}

/** Show empty rows only when a button is pressed. @param {HTMLFieldSetElement} set */
function unfolds(set) {
  const rows = [...set.querySelectorAll("[data-row]")];
  const used = rows.filter((row) => [...row.querySelectorAll("input[type=text]")].some((input) => input.value));
  const waiting = rows.slice(Math.max(used.length, 1));
  if (rows[0].querySelector("input").disabled || !waiting.length) return;
  for (const row of waiting) row.hidden = true;
  const more = document.createElement("button");
  more.type = "button";
  more.className = "button";
  more.textContent = "Add a question";
  more.addEventListener("click", () => {
    const row = waiting.shift();
    row.hidden = false;
    row.querySelector("input").focus();
    more.hidden = !waiting.length;
  });
  set.append(more);
}

/** Upload the file of a form to a route of the API. @param {HTMLFormElement} form */
function uploads(form) {
  const sending = form.querySelector("[data-sending]");
  const words = form.querySelector("[data-words]");
  const bar = form.querySelector("progress");
  const wrong = form.querySelector("[data-wrong]");
  const button = form.querySelector("button[type=submit]");
  let cancel = () => {};

  let clock = 0;

  const progress = (share) => {
    bar.value = share;
    clearInterval(clock);
    if (share < 1) {
      words.textContent = `Sending, ${Math.floor(share * 100)} %`;
      return;
    }
    const since = performance.now();
    const stage = "Converting and checking on the server";
    words.textContent = stage;
    clock = setInterval(() => {
      words.textContent = `${stage}, ${Math.round((performance.now() - since) / 1000)} s`;
    }, 1000);
  };
  const chooser = form.querySelector("input[type=file]");
  const showError = (why) => {
    wrong.hidden = !why;
    wrong.textContent = why;
    chooser.removeAttribute("aria-invalid");
    if (!why) return;
    chooser.setAttribute("aria-invalid", "true");
    wrong.id ||= `${chooser.id}-error`;
    chooser.setAttribute("aria-describedby", wrong.id);
    chooser.focus();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    showError("");
    button.disabled = true;
    sending.hidden = false;
    progress(0);
    const { address, body } = splitForm(form);
    const running = send(address, body, progress, { "X-CSRF-Token": form.dataset.csrf });
    cancel = running.cancel;
    try {
      await running.answer;
      location.assign(form.dataset.next);
    } catch (failure) {
      clearInterval(clock);
      sending.hidden = true;
      button.disabled = false;
      showError(failure.status === 401 ? SIGNED_OUT : failure.message);
    }
  });
  form.querySelector("[data-cancel]").addEventListener("click", () => cancel());
  form.hidden = false;
}

/** Return the query and the body of an upload. @param {HTMLFormElement} form */
function splitForm(form) {
  const body = new FormData(form);
  const query = new URLSearchParams();
  for (const { name } of form.querySelectorAll("[data-query]")) {
    if (!body.has(name)) continue;
    query.set(name, body.get(name));
    body.delete(name);
  }
  return { address: `${form.dataset.upload}${query.size ? `?${query}` : ""}`, body };
}

for (const button of document.querySelectorAll("[data-copy]")) copies(button);
for (const set of document.querySelectorAll("fieldset.several-gateFields")) unfolds(set);
for (const form of document.querySelectorAll("form[data-upload]")) uploads(form);
for (const words of document.querySelectorAll("[data-without]")) words.hidden = true;

// On phones the navigation is one row that is wider than the window: scroll to the active entry.
for (const here of document.querySelectorAll(".file-tabs [aria-current]")) {
  const row = here.parentElement;
  row.scrollLeft = here.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}
