/** What lives beside the pages and on them, each in a module of its own. */

/**
 * @typedef {object} Part
 * @property {(view: import("./page.js").PageView) => void} [onPage]  a page has come onto the screen
 * @property {(position: import("./modes/standard.js").Position) => void} [onMove]  the reader is somewhere else
 */

/**
 * Loads what the facts of this document ask for. Reading works without it too.
 *
 * @param {import("./facts.js").Facts} facts
 * @returns {Promise<(viewer: object) => Part[]>} makes the parts of the Viewer of main.js, whose `mode` does not stand
 *     yet
 */
export async function loadParts({ feedback, hotspots }) {
  const { notes, marks, annotations, receipt } = feedback;
  if (!notes && !marks && !annotations && !receipt && hotspots.length === 0) return () => [];
  try {
    const { makeFeedback } = await import("./feedback/index.js");
    return makeFeedback;
  } catch (error) {
    console.debug("nothing can be left on this document", error);
    return () => [];
  }
}
