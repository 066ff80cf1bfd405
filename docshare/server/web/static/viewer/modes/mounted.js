/** The mounted pages, in page order, which screen readers, selections and the tab key depend on. */

import { PageView } from "../page.js";

export class MountedPages {
  /**
   * @param {HTMLElement} stage  the element that holds the pages
   * @param {import("../source.js").Source} source
   * @param {import("./standard.js").Hooks} hooks
   */
  constructor(stage, source, hooks) {
    this.stage = stage;
    this.source = source;
    this.hooks = hooks;
    /** @type {Map<number, PageView>} */
    this.views = new Map();
    /** The pages rendered by the server. @type {Map<number, HTMLElement>} */
    this.placeholders = new Map();
    for (const element of stage.children) {
      if (!(element instanceof HTMLElement) || !element.dataset.page) continue;
      this.placeholders.set(Number(element.dataset.page), element);
    }
  }

  /**
   * @param {number} page
   * @param {(view: PageView) => void} prepare  called once for each new view
   */
  mount(page, prepare) {
    if (this.views.has(page)) return;
    const placeholder = this.placeholders.get(page) ?? null;
    this.placeholders.delete(page);
    const view = new PageView(page, this.source, this.hooks, placeholder);
    this.views.set(page, view);
    prepare(view);
    if (placeholder) return;
    const after = [...this.views.keys()].filter((number) => number > page).sort((a, b) => a - b)[0];
    this.stage.insertBefore(view.element, after === undefined ? null : this.views.get(after).element);
  }

  /** @param {PageView} view */
  unmount(view) {
    this.views.delete(view.number);
    view.drop();
  }

  /** Remove the server's placeholders that are not needed now; they are created again later. */
  removePlaceholders() {
    for (const element of this.placeholders.values()) element.remove();
    this.placeholders.clear();
  }
}
