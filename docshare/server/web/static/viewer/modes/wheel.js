/** Turning by wheel or touchpad: one page for each push, and none for the rest of a push that scrolled. */

import { scrolls } from "./scroll.js";

const PUSH = 40; // CSS pixels
const SILENCE = 180; // ms that separate two pushes
const NOTCH = 100; // CSS pixels; a wheel with notches may continue without a pause
const BETWEEN = 600; // ms

/**
 * @param {(direction: 1 | -1, sideways: boolean) => void} turn  down and right are 1
 */
export function listenToWheel(turn) {
  // In a frame, the wheel scrolls the surrounding site.
  if (window.parent !== window) return;
  document.documentElement.classList.add("turns-by-wheel");
  let sum = 0;
  let heardAt = -Infinity;
  let spentAt = -Infinity; // when this push scrolled or turned a page
  window.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || !(event.target instanceof Element) || !event.target.closest("#pages, .side")) return;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const delta = (sideways ? event.deltaX : event.deltaY) * (event.deltaMode === 1 ? 16 : 1);
      const now = event.timeStamp;
      if (now - heardAt > SILENCE) {
        sum = 0;
        spentAt = -Infinity;
      }
      heardAt = now;
      if (scrolls(sideways, delta)) spentAt = now;
      if (now - spentAt < (Math.abs(delta) >= NOTCH ? BETWEEN : Infinity)) return;
      sum += delta;
      if (Math.abs(sum) < PUSH) return;
      spentAt = now;
      turn(sum > 0 ? 1 : -1, sideways);
      sum = 0;
    },
    { passive: true },
  );
}
