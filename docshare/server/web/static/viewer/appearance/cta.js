/** The owner's button leads away; that it was pressed is told on the way. */

import { byId } from "../dom.js";

/** @param {import("../facts.js").Facts} facts */
export function tellTaps({ base }) {
  byId("cta").addEventListener("click", () => {
    const body = JSON.stringify({ cta: true });
    const headers = { "Content-Type": "application/json" };
    // Nobody waits for the answer, and a reader must not notice where there is none.
    fetch(`${base}/taps`, { method: "POST", headers, body, keepalive: true }).catch(() => {});
  });
}
