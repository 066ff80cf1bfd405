/** Tells the owner that a reader has followed a hotspot. Whether it arrives changes nothing for the reader. */

/**
 * @param {import("../facts.js").Facts} facts
 * @param {string} hotspot  its UUID
 */
export function tap({ base, feedback }, hotspot) {
  if (feedback.owner) return;
  const headers = { "Content-Type": "application/json" };
  fetch(`${base}/taps`, { method: "POST", headers, body: JSON.stringify({ hotspot }), keepalive: true }).catch(() => {});
}
