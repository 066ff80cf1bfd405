/** Turning by finger or pointer, without affecting other uses of a pointer (links, selections, scrolling, drawing). */

import { isBusy } from "../dom.js";

const BEGINS = 8; // CSS pixels
const FLUNG = 0.35; // CSS pixels per ms
const FAR = 0.22; // of the length of a whole turn

/**
 * @typedef {object} Turning
 * @property {(event: PointerEvent) => boolean} mayBegin
 * @property {(sign: 1 | -1) => boolean} begin  the pointer moved right or left; returns whether a page can be turned
 * @property {(pixels: number) => void} move  the distance in that direction
 * @property {(done: boolean) => void} end  whether the distance is enough for a turn
 * @property {() => number} stretch  length of a whole turn, in CSS pixels
 * @property {(event: MouseEvent) => void} click  the pointer did not move
 */

/** @param {EventTarget} target */
export function isText(target) {
  return target instanceof Element && target.closest(".page-text span") !== null;
}

class Drag {
  /**
   * @param {HTMLElement} stage
   * @param {Turning} turning
   */
  constructor(stage, turning) {
    this.stage = stage;
    this.turning = turning;
    /** @type {{id: number, x: number, y: number, sign: 0 | 1 | -1} | null} */
    this.held = null;
    this.dragged = false;
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    stage.addEventListener("pointerup", (event) => this.up(event));
    stage.addEventListener("pointercancel", () => this.giveUp());
    stage.addEventListener("click", (event) => this.click(event));
    stage.addEventListener("mousedown", (event) => {
      if (this.held) event.preventDefault(); // otherwise it would start a selection
    });
  }

  /** @param {PointerEvent} event */
  down(event) {
    this.dragged = false;
    this.giveUp(); // a second finger zooms
    if (!event.isPrimary || event.button !== 0 || isBusy(event.target) || !this.turning.mayBegin(event)) return;
    this.held = { id: event.pointerId, x: event.clientX, y: event.clientY, sign: 0 };
    this.last = { x: event.clientX, at: event.timeStamp, speed: 0 };
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (this.held?.id !== event.pointerId) return;
    const way = event.clientX - this.held.x;
    if (this.held.sign === 0) this.decide(event, way);
    if (!this.held?.sign) return;
    const passed = Math.max(1, event.timeStamp - this.last.at);
    this.last = { x: event.clientX, at: event.timeStamp, speed: (event.clientX - this.last.x) / passed };
    this.turning.move(Math.max(0, way * this.held.sign));
  }

  /**
   * Turn on horizontal movements; vertical ones scroll.
   *
   * @param {PointerEvent} event
   * @param {number} way
   */
  decide(event, way) {
    const rise = Math.abs(event.clientY - this.held.y);
    if (Math.max(Math.abs(way), rise) < BEGINS) return;
    const sign = way > 0 ? 1 : -1;
    if (rise > Math.abs(way) || !this.turning.begin(sign)) {
      this.held = null;
      return;
    }
    this.held.sign = sign;
    this.dragged = true;
    this.stage.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  up(event) {
    if (this.held?.id !== event.pointerId) return;
    const { x, sign } = this.held;
    this.held = null;
    if (sign === 0) return;
    const way = (event.clientX - x) * sign;
    const speed = event.timeStamp - this.last.at < 80 ? this.last.speed * sign : 0;
    this.turning.end(speed > -FLUNG && (speed > FLUNG || way > FAR * this.turning.stretch()));
  }

  giveUp() {
    if (this.held?.sign) this.turning.end(false);
    this.held = null;
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (!this.dragged && !event.defaultPrevented && !isBusy(event.target)) this.turning.click(event);
  }
}

/**
 * @param {HTMLElement} stage
 * @param {Turning} turning
 */
export function listenToDrags(stage, turning) {
  new Drag(stage, turning);
}
