/** The owner's call to action: reports the tap while the browser follows the link. */

import { byId } from "../dom.js";

/** @param {import("../facts.js").Facts} facts */
export function reportTaps({ base }) {
  byId("cta").addEventListener("click", () => {
    const body = JSON.stringify({ cta: true });
    const headers = { "Content-Type": "application/json" };
    // Nothing waits for the response; if the request fails, the reader does not notice.
    fetch(`${base}/taps`, { method: "POST", headers, body, keepalive: true }).catch(() => {});
  });
}
