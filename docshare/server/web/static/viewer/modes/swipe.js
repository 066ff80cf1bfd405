/** One page at a time, moved sideways like cards, by finger or animated. */

import { Paged, calm } from "./paged.js";
import { Autoplay } from "./autoplay.js";

const SLIDE = 280; // ms
const EASE = "cubic-bezier(0.22, 0.8, 0.3, 1)";
const RESISTANCE = 0.2; // if there is no following page

export class Mode extends Paged {
  /** @type {Animation[]} */
  sliding = [];

  /** Pages that are entering or leaving the window. @type {import("../page.js").PageView[]} */
  passing = [];

  /** Distance in CSS pixels that a finger has moved the page. */
  offset = 0;

  /** @param {ConstructorParameters<typeof Paged>} parts */
  constructor(...parts) {
    super(...parts);
    const { autoAdvance, intervalMs } = this.settings.swipe;
    if (autoAdvance && !calm.matches && this.source.total > 1) this.autoplay = new Autoplay(this, intervalMs);
  }

  announce() {
    this.status.setAttribute("aria-live", this.autoplay?.running ? "off" : "polite");
    super.announce();
  }

  /** @param {number} spread */
  depart(spread) {
    const old = this.page;
    const from = this.offset;
    const way = spread > this.spread ? 1 : -1;
    return () => {
      const stretch = this.frame.width * way;
      const leaving = this.views.get(old);
      this.passing = leaving ? [leaving] : [];
      for (const { element } of this.passing) element.classList.add("is-passing");
      this.slide(leaving, from, -stretch);
      this.slide(this.views.get(this.page), stretch + from, 0);
    };
  }

  /**
   * @param {import("../page.js").PageView | undefined} view
   * @param {number} from  CSS pixels to the right of its position
   * @param {number} to
   */
  slide(view, from, to) {
    if (!view) return;
    const path = [from, to].map((x) => `translateX(${x}px)`);
    const sliding = view.element.animate({ transform: path }, { duration: SLIDE, easing: EASE, fill: "forwards" });
    sliding.onfinish = () => this.settle();
    this.sliding.push(sliding);
  }

  settle() {
    for (const sliding of this.sliding) sliding.cancel();
    for (const { element } of this.passing) element.classList.remove("is-passing");
    this.sliding = [];
    this.passing = [];
  }

  /** @param {1 | -1} direction */
  dragBegins(direction) {
    this.settle();
    return super.dragBegins(direction);
  }

  /** @param {number} pixels */
  dragMoves(pixels) {
    if (!this.moves) return;
    const beside = this.views.get(this.page + this.dragging);
    this.offset = -this.dragging * pixels * (beside ? 1 : RESISTANCE);
    this.views.get(this.page).element.style.transform = `translateX(${this.offset}px)`;
    if (!beside) return;
    this.passing = [beside];
    beside.element.classList.add("is-passing");
    beside.element.style.transform = `translateX(${this.offset + this.dragging * this.frame.width}px)`;
  }

  /** @param {boolean} done */
  dragEnds(done) {
    if (!done || !this.turn(this.dragging)) this.slideBack();
    this.offset = 0;
    for (const { element } of this.views.values()) element.style.transform = "";
  }

  slideBack() {
    if (this.offset === 0) return;
    const stretch = this.dragging * this.frame.width;
    this.slide(this.views.get(this.page), this.offset, 0);
    this.slide(this.passing[0], this.offset + stretch, stretch);
  }
}
