/** Manual page turning: keys, wheel, fingers and pointers, if the event has no other effect on the page. */

import { isBusy, isMagnified } from "../dom.js";
import { isText, listenToDrags } from "./drag.js";
import { scrolls, stopAt } from "./scroll.js";
import { listenToWheel } from "./wheel.js";

const SIDE = 0.14; // part of a page, at its edge, where a click turns it
const SIDE_TOUCHED = 0.2; // of the window, for touch
const SYSTEM_EDGE = 16; // CSS pixels at each side of the window, where a swipe goes back in the browser

export class TurnInput {
  /** @param {import("./paged.js").Paged} mode */
  constructor(mode) {
    this.mode = mode;
  }

  /** @param {HTMLElement} stage */
  listen(stage) {
    const { mode } = this;
    listenToWheel((direction, sideways) => mode.turn(sideways && mode.rtl ? -direction : direction));
    listenToDrags(stage, {
      mayBegin: (event) => this.mayDrag(event),
      begin: (sign) => mode.dragBegins(mode.rtl ? sign : -sign),
      move: (pixels) => mode.dragMoves(pixels),
      end: (done) => mode.dragEnds(done),
      stretch: () => mode.lay.right - mode.lay.left,
      click: (event) => this.onClick(event),
    });
  }

  /** Keys that scroll up to the end of the page, and then turn. `false` leaves a key to the browser. */
  keys() {
    const page = (direction) => (event) => this.onKey(event, direction);
    // An arrow key that has just scrolled to the end would turn unexpectedly.
    const arrow = (direction) => (event) => (this.mode.isTaller ? false : this.onKey(event, direction));
    return {
      PageDown: page(1),
      PageUp: page(-1),
      " ": (event) => this.onKey(event, event.shiftKey ? -1 : 1),
      ArrowDown: arrow(1),
      ArrowUp: arrow(-1),
    };
  }

  /**
   * @param {KeyboardEvent} event
   * @param {1 | -1} direction
   */
  onKey(event, direction) {
    if (event.key === " " && isBusy(event.target)) return false;
    if (scrolls(false, direction)) return false;
    if (this.mode.turn(direction) && direction < 0) stopAt(window.scrollX, this.mode.lay.height);
    return true;
  }

  /** @param {PointerEvent} event */
  mayDrag(event) {
    if (this.mode.isWider || !document.getSelection().isCollapsed) return false;
    if (event.pointerType === "mouse") return this.sideOf(event) !== 0 && !isText(event.target);
    return !isMagnified() && event.clientX >= SYSTEM_EDGE && event.clientX <= this.mode.frame.width - SYSTEM_EDGE;
  }

  /** @param {PointerEvent} event */
  onClick(event) {
    const touched = event.pointerType === "touch";
    if ((!touched && isText(event.target)) || !document.getSelection().isCollapsed) return;
    const side = this.sideOf(event);
    if (side === 0) return;
    event.preventDefault(); // two quick taps turn two pages instead of zooming
    this.mode.turn(this.mode.rtl ? -side : side);
  }

  /**
   * Whether a pointer is at the left (-1) or the right edge (1), where pages are turned.
   *
   * @param {PointerEvent} event
   * @returns {-1 | 0 | 1}
   */
  sideOf({ clientX, pointerType }) {
    const { lay, frame, page, isWider } = this.mode;
    if (isWider) return 0;
    const touched = pointerType === "touch";
    const [left, right] = touched ? [0, frame.width] : [lay.left, lay.right];
    const side = touched ? frame.width * SIDE_TOUCHED : lay.places.get(page).width * SIDE;
    if (clientX < left + side) return -1;
    return clientX > right - side ? 1 : 0;
  }
}
