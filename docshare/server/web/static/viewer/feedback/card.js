/** A small card beside something on the screen; on phones, style sheets make it a sheet at the lower edge. */

import { oncePerFrame } from "../dom.js";

const AWAY = 10; // CSS pixels between the card and what it belongs to
const MARGIN = 12; // between the card and the window

export class Card {
  /**
   * @param {HTMLElement} element
   * @param {() => DOMRect | null} anchor  where the thing is now; null while it is not on the screen
   * @param {() => void} onEscape
   * @param {{hangs?: boolean}} [how]  `hangs`: it hangs from a button of the toolbar
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

  /** Stay with the thing, and never outside the window. */
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
   * To the right if there is room, else to the left, else below.
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
