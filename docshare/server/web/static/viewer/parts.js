/** The features beside and on the pages, each in its own module. */

/**
 * @typedef {object} Part
 * @property {(view: import("./page.js").PageView) => void} [onPage]  a page was mounted
 * @property {(view: import("./page.js").PageView) => void} [onText]  the text of a page was loaded
 * @property {(position: import("./modes/standard.js").Position) => void} [onMove]  the position of the reader changed
 */

/**
 * Load the parts that this document needs. Reading works without them.
 *
 * @param {import("./facts.js").Facts} facts
 * @returns {Promise<(viewer: object) => Part[]>} creates the parts of the Viewer of main.js, whose `mode` is not set
 *     yet
 */
export async function loadParts({ feedback, hotspots }) {
  const { notes, marks, annotations, receipt } = feedback;
  if (!notes && !marks && !annotations && !receipt && hotspots.length === 0) return () => [];
  try {
    const { makeFeedback } = await import("./feedback/index.js");
    return makeFeedback;
  } catch (error) {
    console.debug("feedback is not available", error);
    return () => [];
  }
}
