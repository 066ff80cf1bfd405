/** The position of a spread: in the center of the window, or from its top if it is larger. */

const LOW = "(max-height: 479px)"; // as in appearance.css

/**
 * @typedef {object} Frame  CSS pixels
 * @property {number} width  of the window, without a scroll bar
 * @property {number} height
 * @property {number} head  height of the toolbar
 * @property {number} clear  from where on nothing is over the pages: below the toolbar or the find panel
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
  const head = read("--head");
  const clear = Math.max(head, read("--covered"));
  return {
    width: clientWidth,
    height: clientHeight,
    head,
    clear,
    above: Math.max(read("--above"), clear > head ? clear - head + 10 : 0),
    below: read("--below") + read("--under"),
    beside: read("--beside"),
    gutter: read("--gutter"),
  };
}

/**
 * Return where the window has to be scrolled to, to show an area of a page; where it is, if that is visible.
 *
 * @param {Frame} frame
 * @param {import("../page.js").Place} place  of the page
 * @param {{x: number, y: number, w: number, h: number}} rect  fractions of the page
 * @returns {[number, number]}
 */
export function findScroll({ width, height: whole, clear }, place, rect) {
  const height = whole - clear;
  const x = place.left + rect.x * place.width;
  const y = place.top + (rect.y + rect.h / 2) * place.height - clear;
  let { scrollX: left, scrollY: top } = window;
  if (y < top || y > top + height * 0.9) top = y - height * 0.4;
  if (x < left || x + Math.min(rect.w * place.width, width) > left + width) left = x - width * 0.2;
  return [left, top];
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
