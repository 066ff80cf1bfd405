/** The position of the window: where it can scroll to, and moves to another position. */

let isScrolling = false;
let stopping = 0; // the requested frame in which `stopAt` ends

const listen = (kind, listener) => window.addEventListener(kind, listener, { passive: true });
listen("scroll", () => {
  isScrolling = true;
});
listen("scrollend", () => {
  isScrolling = false;
});
// The browser scrolls for touch and the wheel before it sends their events, so the position of `stopAt` is outdated.
for (const kind of ["wheel", "touchmove"]) listen(kind, () => cancelAnimationFrame(stopping));

/**
 * Move the window at once. Chromium continues the scrolling that a key or the wheel has begun from there.
 *
 * @param {number} x
 * @param {number} y
 */
export function jump(x, y) {
  cancelAnimationFrame(stopping);
  window.scrollTo({ left: x, top: y, behavior: "instant" });
}

/**
 * Move the window at once, unless it is there, and end the scrolling that a key or the wheel has begun.
 *
 * Chromium only ends it for an animation that the page starts, once that has reached the screen. So the window moves
 * by one pixel for two frames if it is scrolling.
 *
 * @param {number} x
 * @param {number} y
 */
export function stopAt(x, y) {
  if (x === window.scrollX && y === window.scrollY) return;
  jump(x, y);
  if (!isScrolling) return;
  window.scrollTo({ top: window.scrollY < 1 ? 1 : window.scrollY - 1, behavior: "smooth" });
  stopping = requestAnimationFrame(() => {
    stopping = requestAnimationFrame(() => jump(x, y));
  });
}

/**
 * Whether the window can still scroll in that direction.
 *
 * @param {boolean} sideways
 * @param {number} delta
 */
export function scrolls(sideways, delta) {
  const root = document.documentElement;
  const [at, size, whole] = sideways
    ? [window.scrollX, root.clientWidth, root.scrollWidth]
    : [window.scrollY, root.clientHeight, root.scrollHeight];
  return delta > 0 ? at + size < whole - 1 : at > 0;
}
