/** Reports that the reader followed a hotspot. The reader does not notice if the request fails. */

/**
 * @param {import("../facts.js").Facts} facts
 * @param {string} hotspot  its UUID
 */
export function tap({ base, feedback, optedOut }, hotspot) {
  if (feedback.owner || optedOut) return;
  const headers = { "Content-Type": "application/json" };
  fetch(`${base}/taps`, { method: "POST", headers, body: JSON.stringify({ hotspot }), keepalive: true }).catch(() => {});
}
