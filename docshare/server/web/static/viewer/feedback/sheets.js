/** The pages on the screen, each with a layer for elements above it. Page elements are temporary. */

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
   * @returns {PageView | undefined} the page that contains it
   */
  at(element) {
    return this.shown.find((view) => view.element.contains(element));
  }

  /**
   * Return the container `name` in the layer of a page, with `children` as its only content.
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
