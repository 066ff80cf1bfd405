/** The position of a spread: in the center of the window, or from its top if it is larger. */

const LOW = "(max-height: 479px)"; // as in appearance.css

/**
 * @typedef {object} Frame  CSS pixels
 * @property {number} width  of the window, without a scroll bar
 * @property {number} height
 * @property {number} head  height of the toolbar
 * @property {number} above  space over the pages
 * @property {number} below
 * @property {number} beside  space for buttons, in the gutter
 * @property {number} gutter
 */

/**
 * @typedef {object} Lay
 * @property {number} width  of the stage
 * @property {number} height
 * @property {number} left  of the spread
 * @property {number} right
 * @property {number} spine
 * @property {Map<number, import("../page.js").Place>} places  by page
 */

/**
 * Put the buttons of each page beside it in a low window, so that it keeps its height (feedback-pages.css).
 *
 * @param {HTMLElement} stage
 */
export function moveButtons(stage) {
  const { under, mode } = stage.dataset;
  stage.classList.toggle("has-margin", under !== undefined && mode !== "magazine" && matchMedia(LOW).matches);
}

/**
 * @param {HTMLElement} stage
 * @returns {Frame}
 */
export function readFrame(stage) {
  const style = getComputedStyle(stage);
  const read = (name) => parseFloat(style.getPropertyValue(name));
  const { clientWidth, clientHeight } = document.documentElement;
  return {
    width: clientWidth,
    height: clientHeight,
    head: read("--head"),
    above: read("--above"),
    below: read("--below") + read("--under"),
    beside: read("--beside"),
    gutter: read("--gutter"),
  };
}

/**
 * @param {[number | null, number | null]} slots  pages to the left and to the right of the spine
 * @param {(page: number) => {width: number, height: number}} boxOf
 * @param {Frame} frame
 * @returns {Lay}
 */
export function laySpread(slots, boxOf, frame) {
  const [one, other] = slots.map((page) => (page === null ? { width: 0, height: 0 } : boxOf(page)));
  const across = one.width + other.width;
  const tall = Math.max(one.height, other.height);
  const top = frame.head + frame.above;
  const width = Math.max(frame.width, across + 2 * frame.gutter);
  const height = Math.max(frame.height, top + tall + frame.below);
  const left = Math.round((width - across) / 2);
  const spine = left + one.width;
  const middle = top + Math.max(tall, frame.height - top - frame.below) / 2;
  const places = new Map();
  const put = (page, at, box) => {
    if (page !== null) places.set(page, { left: at, top: Math.round(middle - box.height / 2), ...box });
  };
  put(slots[0], left, one);
  put(slots[1], spine, other);
  return { width, height, left, right: left + across, spine, places };
}
