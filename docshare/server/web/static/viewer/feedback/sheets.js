/** The pages on the screen, each with a layer for what is laid over it. Pages come and go; state lives elsewhere. */

import { make } from "../dom.js";

/** @typedef {import("../page.js").PageView} PageView */

export class Sheets {
  constructor() {
    /** @type {Set<PageView>} */
    this.views = new Set();
    /** @type {WeakMap<PageView, HTMLElement>} */
    this.layers = new WeakMap();
  }

  /** @param {PageView} view */
  onPage(view) {
    for (const other of this.views) if (other.gone) this.views.delete(other);
    const layer = make("div", { class: "page-feedback" });
    this.layers.set(view, layer);
    this.views.add(view);
    view.element.append(layer);
  }

  /** @returns {PageView[]} */
  get shown() {
    return [...this.views].filter((view) => !view.gone);
  }

  /**
   * @param {number} page
   * @returns {PageView | undefined} if it is on the screen
   */
  of(page) {
    return this.shown.find((view) => view.number === page);
  }

  /**
   * @param {Element} element
   * @returns {PageView | undefined} the page it is part of
   */
  at(element) {
    return this.shown.find((view) => view.element.contains(element));
  }

  /**
   * The place of one kind of thing in the layer of a page, with `children` in it and nothing else.
   *
   * @param {PageView} view
   * @param {string} name
   * @param {Node[]} children
   */
  fill(view, name, children) {
    const layer = this.layers.get(view);
    let slot = layer.querySelector(`:scope > .${name}`);
    if (!slot) {
      slot = make("div", { class: name });
      layer.append(slot);
    }
    slot.replaceChildren(...children);
  }
}
