/** A book whose leaves turn around its spine, by key, click, wheel or finger, in either reading direction. */

import { Leaf, copyFace } from "./leaf.js";
import { Paged } from "./paged.js";
import { playTurnSound } from "./sound.js";

export class Mode extends Paged {
  /** The leaf that is being animated. @type {Leaf | null} */
  leaf = null;

  /** The leaf that the reader is dragging. @type {Leaf | null} */
  held = null;

  get rtl() {
    return this.settings.flip.rtl;
  }

  pairs() {
    // On a phone in portrait orientation two pages are too small to read, whatever the owner chose.
    const { layout } = this.settings.flip;
    return layout === "double" ? this.wide : layout === "adaptive" && this.pairsFit();
  }

  /** @param {number} spread */
  depart(spread) {
    const { speedMs, sound } = this.settings.flip;
    if (sound) playTurnSound(speedMs / 1000);
    const held = this.held;
    this.held = null;
    if (held) return () => this.run(held, 1);
    if (!this.isLoaded(this.spread)) return () => {};
    const from = this.opening(this.spread);
    const forward = spread > this.spread;
    return () => {
      if (this.isLoaded(spread)) this.run(new Leaf(this.stage, from, this.opening(spread), forward !== this.rtl), 1);
    };
  }

  /**
   * Whether all pages of a mounted spread are loaded; otherwise a side of the leaf would be blank paper.
   *
   * @param {number} spread
   */
  isLoaded(spread) {
    return this.spreads.pages(spread).every((page) => this.views.get(page).element.classList.contains("is-ready"));
  }

  /**
   * @param {Leaf} leaf
   * @param {0 | 1} end
   */
  run(leaf, end) {
    this.leaf = leaf;
    leaf.run(end, this.settings.flip.speedMs);
  }

  settle() {
    this.leaf?.drop();
    this.leaf = null;
  }

  /**
   * The faces of the book when it is opened at a mounted spread.
   *
   * @param {number} spread
   * @returns {import("./leaf.js").Opening}
   */
  opening(spread) {
    const { spine, places } = this.layOf(spread);
    const faces = this.spreads.slots(spread).map((page) => (page === null ? null : copyFace(this.views.get(page), places.get(page))));
    return { spine, faces: /** @type {import("./leaf.js").Opening["faces"]} */ (faces) };
  }

  /** @param {1 | -1} direction */
  dragBegins(direction) {
    const next = this.spread + direction;
    if (this.spreads.pages(next).length === 0) return false;
    this.settle();
    const moves = this.moves && this.isLoaded(this.spread) && this.isLoaded(next);
    if (moves) this.held = new Leaf(this.stage, this.opening(this.spread), this.opening(next), direction > 0 !== this.rtl);
    return super.dragBegins(direction);
  }

  /**
   * The free edge of the leaf follows the finger.
   *
   * @param {number} pixels
   */
  dragMoves(pixels) {
    const width = this.lay.places.get(this.page).width;
    this.held?.show(Math.acos(Math.max(-1, Math.min(1, 1 - pixels / width))) / Math.PI);
  }

  /** @param {boolean} done */
  dragEnds(done) {
    const turned = done && this.turn(this.dragging);
    if (this.held && !turned) this.run(this.held, 0);
    else this.held?.drop();
    this.held = null;
  }
}
