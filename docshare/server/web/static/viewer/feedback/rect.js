/** Areas of a page: fractions of its width and height, from the top left, so that zooming does not change them. */

/**
 * @typedef {{x: number, y: number, width: number, height: number}} Rect
 * @typedef {{x: number, y: number}} Point  fractions of the page
 */

const LEAST = 0.01; // the server rejects areas that are much smaller
const DIGITS = 10_000;
const OFFERED = { width: 0.3, height: 0.12 };

const round = (value) => Math.round(value * DIGITS) / DIGITS;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/**
 * @param {Element} page
 * @param {{clientX: number, clientY: number}} event
 * @returns {Point} on the page, or the nearest point on its edge
 */
export function pointOn(page, event) {
  const box = page.getBoundingClientRect();
  return {
    x: clamp((event.clientX - box.left) / box.width, 0, 1),
    y: clamp((event.clientY - box.top) / box.height, 0, 1),
  };
}

/**
 * @param {Point} a
 * @param {Point} b
 * @returns {Rect}
 */
export function between(a, b) {
  return within({
    x: Math.min(a.x, b.x),
    y: Math.min(a.y, b.y),
    width: Math.abs(a.x - b.x),
    height: Math.abs(a.y - b.y),
  });
}

/**
 * An area of the default size.
 *
 * @param {Point} point  its center
 */
export function around({ x, y }) {
  return within({ x: x - OFFERED.width / 2, y: y - OFFERED.height / 2, ...OFFERED });
}

/**
 * @param {Rect} rect
 * @returns {Rect} the same, enlarged to the minimum size and moved inside the page
 */
export function within(rect) {
  const width = round(clamp(rect.width, LEAST, 1));
  const height = round(clamp(rect.height, LEAST, 1));
  return { x: round(clamp(rect.x, 0, 1 - width)), y: round(clamp(rect.y, 0, 1 - height)), width, height };
}

/**
 * @param {HTMLElement} element
 * @param {Rect} rect
 */
export function put(element, { x, y, width, height }) {
  element.style.left = `${x * 100}%`;
  element.style.top = `${y * 100}%`;
  element.style.width = `${width * 100}%`;
  element.style.height = `${height * 100}%`;
}

/** @param {Rect} rect */
export function describe({ x, y, width, height }) {
  const percent = (value) => `${Math.round(value * 100)} %`;
  return `${percent(x)} from the left, ${percent(y)} from the top, ${percent(width)} wide, ${percent(height)} high`;
}
