/** Zooming with two fingers, or with the wheel while Ctrl is held (which is also what a touchpad pinch sends). */

/**
 * @typedef {object} Gestures
 * @property {() => number} percent  of the page the reader is on
 * @property {(percent: number, x: number, y: number) => void} zoomTo  keeping the point (x, y) of the window in place
 */

/**
 * @param {HTMLElement} stage
 * @param {Gestures} gestures
 */
export function listenToGestures(stage, { percent, zoomTo }) {
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

  /** @type {{spread: number, percent: number} | null} */
  let pinch = null;
  /** @param {TouchList} touches */
  const spread = ({ 0: a, 1: b }) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  stage.addEventListener(
    "touchstart",
    (event) => {
      pinch = event.touches.length === 2 ? { spread: spread(event.touches), percent: percent() } : null;
    },
    { passive: true },
  );
  stage.addEventListener(
    "touchmove",
    (event) => {
      if (!pinch || event.touches.length !== 2 || pinch.spread === 0) return;
      event.preventDefault();
      const [a, b] = event.touches;
      const x = (a.clientX + b.clientX) / 2;
      const y = (a.clientY + b.clientY) / 2;
      zoomTo((pinch.percent * spread(event.touches)) / pinch.spread, x, y);
    },
    { passive: false },
  );
  const end = () => {
    pinch = null;
  };
  stage.addEventListener("touchend", end, { passive: true });
  stage.addEventListener("touchcancel", end, { passive: true });
  // Safari's own pinch zoom would enlarge the toolbar too.
  document.addEventListener("gesturestart", (event) => event.preventDefault());
}
