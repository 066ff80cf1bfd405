/** What lives beside the pages and on them, each in a module of its own. */

/**
 * @typedef {object} Part
 * @property {(view: import("./page.js").PageView) => void} [onPage]  a page has come onto the screen
 * @property {(position: import("./modes/standard.js").Position) => void} [onMove]  the reader is somewhere else
 */

/**
 * The parts that the facts of this document ask for.
 *
 * @param {object} _viewer  the Viewer of main.js; its `mode` does not stand yet
 * @returns {Part[]}
 */
export function makeParts(_viewer) {
  return [];
}
