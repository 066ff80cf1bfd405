/** A small card beside an element of the page; on phones, style sheets turn it into a sheet at the bottom. */

import { oncePerFrame } from "../dom.js";

const AWAY = 10; // CSS pixels between the card and its anchor
const MARGIN = 12; // between the card and the window

export class Card {
  /**
   * @param {HTMLElement} element
   * @param {() => DOMRect | null} anchor  the current position of the anchor; null while it is not on the screen
   * @param {() => void} onEscape
   * @param {{hangs?: boolean}} [how]  `hangs`: it is attached to a button of the toolbar
   */
  constructor(element, anchor, onEscape, { hangs = false } = {}) {
    this.element = element;
    this.anchor = anchor;
    this.hangs = hangs;
    const follow = oncePerFrame(() => this.follow());
    window.addEventListener("scroll", follow, { passive: true, capture: true });
    window.addEventListener("resize", follow);
    new ResizeObserver(follow).observe(element);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      onEscape();
    });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  open() {
    this.element.hidden = false;
    this.follow();
  }

  close() {
    this.element.hidden = true;
  }

  /** Stay beside the anchor and inside the window. */
  follow() {
    const at = this.isOpen ? this.anchor() : null;
    if (!at) return;
    const { offsetWidth: width, offsetHeight: height, style } = this.element;
    const { clientWidth, clientHeight } = document.documentElement;
    const bar = document.querySelector(".bar").getBoundingClientRect().bottom;
    const below = { left: at.right - width, top: at.bottom + AWAY };
    const { left, top } = this.hangs ? below : this.beside(at, width, clientWidth);
    style.left = `${Math.max(MARGIN, Math.min(left, clientWidth - width - MARGIN))}px`;
    style.top = `${Math.max(Math.max(0, bar) + MARGIN, Math.min(top, clientHeight - height - MARGIN))}px`;
  }

  /**
   * Place it to the right if there is room, else to the left, else below.
   *
   * @param {DOMRect} at
   * @param {number} width  of the card
   * @param {number} room  width of the window
   */
  beside(at, width, room) {
    if (at.right + AWAY + width + MARGIN <= room) return { left: at.right + AWAY, top: at.top };
    if (at.left - AWAY - width >= MARGIN) return { left: at.left - AWAY - width, top: at.top };
    return { left: at.left, top: at.bottom + AWAY };
  }
}
