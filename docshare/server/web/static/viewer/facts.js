/** The data of the document for this page, from the JSON island of the HTML. */

/**
 * @typedef {object} Facts
 * @property {string} base  base URL of page images and texts, such as "/aB3dE5fG7hJ9"
 * @property {string} version  identifies the content and the part of it that is shown
 * @property {[number, number, number][]} sizes  runs of [pages, width, height] in points
 * @property {{side: number, large: number, levels: number[], longest: number}} tiles  the grids of tiles, in pixels; levels
 *   in percent
 * @property {number} start  page to open, from 1
 * @property {string} token  signed view token; empty in the owner's preview, which is not measured
 * @property {string} beaconUrl
 * @property {true} [optedOut]  this visit is not measured, as the reader's browser or the reader has chosen
 * @property {string} viewerMode  the page layout set by the owner, such as "flipbook"
 * @property {Record<string, any>} viewerSettings  all blocks with all fields; "cta" and "ga4Id" only if they are set
 * @property {string} [expiresAt]  when the link expires, ISO 8601; only if it does and readers may know
 * @property {string} [servedAt]  the time at which the server rendered this page; with `expiresAt`
 * @property {Feedback} feedback  the feedback that readers can leave
 * @property {import("./feedback/hotspots.js").Hotspot[]} hotspots
 *
 * @typedef {{notes: boolean, publicNotes: boolean, marks: boolean, annotations: boolean, receipt: boolean,
 *   owner: boolean}} Feedback  `owner`: the reader is the owner, who sees the feedback options of readers
 */

/** @returns {Facts} */
export function readFacts() {
  return JSON.parse(document.getElementById("facts").textContent);
}
