/** The owner's call to action: reports the tap while the browser follows the link. */

import { byId } from "../dom.js";

/** @param {import("../facts.js").Facts} facts */
export function reportTaps(facts) {
  byId("cta").addEventListener("click", () => {
    if (facts.optedOut) return;
    const body = JSON.stringify({ cta: true });
    const headers = { "Content-Type": "application/json" };
    // Nothing waits for the response; if the request fails, the reader does not notice.
    fetch(`${facts.base}/taps`, { method: "POST", headers, body, keepalive: true }).catch(() => {});
  });
}
