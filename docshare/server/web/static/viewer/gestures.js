/**
 * Zooming with two fingers, by double tap, or with the wheel while Ctrl is held (which is also what a touchpad pinch
 * sends). The browser's own pinch zoom works outside the pages, and inside while it is in use, so that a reader can
 * always zoom out again.
 */

import { isBusy, isMagnified } from "./dom.js";

const TAPS_APART = 350; // ms between the taps of a double tap
const TAPS_AWAY = 40; // CSS pixels
const TOUCHED = 700; // ms between a touch and its click

/**
 * @typedef {object} Gestures
 * @property {() => number} percent  of the page the reader is on
 * @property {(percent: number, x: number, y: number) => void} zoomTo  keeping the point (x, y) of the window in place
 * @property {(x: number, y: number) => void} zoomToggle  zoom in at the point (x, y) of the window, or back
 */

/**
 * @param {HTMLElement} stage
 * @param {Gestures} gestures
 */
export function listenToGestures(stage, gestures) {
  listenToWheelZoom(gestures);
  listenToPinches(stage, gestures);
  listenToDoubleTaps(stage, gestures);
  const magnify = () => document.documentElement.classList.toggle("is-magnified", isMagnified());
  window.visualViewport?.addEventListener("resize", magnify);
}

/** @param {Gestures} gestures */
function listenToWheelZoom({ percent, zoomTo }) {
  window.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const notch = Math.max(-60, Math.min(60, event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY));
      zoomTo(percent() * Math.exp(-notch * 0.006), event.clientX, event.clientY);
    },
    { passive: false },
  );
}

/**
 * @param {HTMLElement} stage
 * @param {Gestures} gestures
 */
function listenToPinches(stage, { percent, zoomTo }) {
  /** @type {{spread: number, percent: number, x: number, y: number} | null} */
  let pinch = null;
  /** @param {TouchList} touches */
  const read = ({ 0: a, 1: b }) => ({
    spread: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY),
    x: (a.clientX + b.clientX) / 2,
    y: (a.clientY + b.clientY) / 2,
  });
  stage.addEventListener(
    "touchstart",
    ({ touches }) => {
      pinch = touches.length === 2 && !isMagnified() ? { ...read(touches), percent: percent() } : null;
    },
    { passive: true },
  );
  stage.addEventListener(
    "touchmove",
    (event) => {
      if (!pinch || event.touches.length !== 2 || pinch.spread === 0) return;
      event.preventDefault();
      const { spread, x, y } = read(event.touches);
      zoomTo((pinch.percent * spread) / pinch.spread, pinch.x, pinch.y);
      window.scrollBy({ left: pinch.x - x, top: pinch.y - y, behavior: "instant" }); // follow both fingers
      Object.assign(pinch, { x, y });
    },
    { passive: false },
  );
  const end = () => {
    pinch = null;
  };
  stage.addEventListener("touchend", end, { passive: true });
  stage.addEventListener("touchcancel", end, { passive: true });
  // Safari would zoom the window in addition to the pages.
  stage.addEventListener("gesturestart", (event) => {
    if (!isMagnified()) event.preventDefault();
  });
}

/**
 * Zoom on two quick taps at the same place, if the first tap had no other effect.
 *
 * @param {HTMLElement} stage
 * @param {Gestures} gestures
 */
function listenToDoubleTaps(stage, { zoomToggle }) {
  let touchedAt = -TOUCHED;
  /** @type {{x: number, y: number, at: number} | null} */
  let first = null;
  stage.addEventListener(
    "touchstart",
    ({ timeStamp, touches }) => {
      touchedAt = timeStamp;
      if (touches.length > 1) first = null;
    },
    { passive: true },
  );
  stage.addEventListener("click", (event) => {
    const { clientX: x, clientY: y, timeStamp: at } = event;
    const before = first;
    first = null;
    if (at - touchedAt > TOUCHED || event.defaultPrevented || isBusy(event.target) || isMagnified()) return;
    if (before && at - before.at < TAPS_APART && Math.hypot(x - before.x, y - before.y) < TAPS_AWAY) zoomToggle(x, y);
    else first = { x, y, at };
  });
}
