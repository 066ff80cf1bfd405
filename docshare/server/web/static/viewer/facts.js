/** What the server tells this page about the document, read from the JSON island of the HTML. */

/**
 * @typedef {object} Facts
 * @property {string} base  address that page images and texts hang below, such as "/aB3dE5fG7hJ9"
 * @property {string} version  names the content and the part of it that is shown
 * @property {[number, number, number][]} sizes  runs of [pages, width, height] in points
 * @property {number} start  page to open, from 1
 * @property {string} token  signed view token
 * @property {string} beaconUrl
 * @property {string} viewerMode  how the owner wants pages laid out, such as "flipbook"
 * @property {Record<string, any>} viewerSettings  every block in full; "cta" and "ga4Id" only if they are set
 * @property {string} [expiresAt]  when the link ends, ISO 8601; only if it does and its readers may know
 * @property {string} [servedAt]  what time it was when this page was made; with `expiresAt`
 * @property {Feedback} feedback  what readers can leave
 * @property {import("./feedback/hotspots.js").Hotspot[]} hotspots
 *
 * @typedef {{notes: boolean, publicNotes: boolean, marks: boolean, annotations: boolean, receipt: boolean,
 *   owner: boolean}} Feedback  `owner`: the reader is the owner, who sees what others could leave
 */

/** @returns {Facts} */
export function readFacts() {
  return JSON.parse(document.getElementById("facts").textContent);
}
