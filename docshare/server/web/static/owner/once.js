/** Send a form only once: who clicks again while the server is slow would create a second link, key or webhook. */

const WAIT_MS = 10_000; // after that, the first request has probably failed

/** @type {WeakMap<HTMLFormElement, { what: string, at: number }>} */
let sent = new WeakMap();

document.addEventListener("submit", (event) => {
  const { target, submitter } = event;
  // It changes nothing, a script of the page sends it, or the response is a file and the page stays.
  if (target.method !== "post" || event.defaultPrevented || submitter?.dataset.stays !== undefined) return;
  const what = new URLSearchParams(new FormData(target, submitter)).toString();
  const at = performance.now();
  const last = sent.get(target);
  if (last?.what === what && at - last.at < WAIT_MS) event.preventDefault();
  else sent.set(target, { what, at });
});

// The browser may show this page again as it was left.
addEventListener("pageshow", () => {
  sent = new WeakMap();
});
