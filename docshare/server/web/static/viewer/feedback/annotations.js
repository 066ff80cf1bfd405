/** The reader's own annotations: numbered areas on the pages, and a card that shows the text. */

import { byId, make } from "../dom.js";
import { Card } from "./card.js";
import { whenText } from "./dates.js";
import { put } from "./rect.js";
import { showSuccess, showFailure } from "./words.js";

const LINGER_MS = 250; // time to move from the area to its card

/** @typedef {import("./store.js").Annotation} Annotation */

export class Annotations {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./sheets.js").Sheets} sheets
   */
  constructor(store, sheets) {
    this.store = store;
    this.sheets = sheets;
    /** @type {HTMLElement | null} */
    this.area = null;
    /** The annotations currently shown on each page. @type {WeakMap<import("../page.js").PageView, string>} */
    this.painted = new WeakMap();
    const element = byId("annotation-card");
    this.card = new Card(element, () => this.anchor(), () => this.close(true));
    element.addEventListener("pointerenter", () => clearTimeout(this.timer));
    element.addEventListener("pointerleave", () => this.leave());
    element.addEventListener("focusout", () => this.leave());
    byId("annotation-close").addEventListener("click", () => this.close(true));
    byId("annotation-delete").addEventListener("click", () => this.remove());
    store.onChange(() => this.showAll());
  }

  /** @param {import("../page.js").PageView} view */
  onPage(view) {
    this.show(view);
  }

  onMove() {
    this.card.follow();
  }

  showAll() {
    for (const view of this.sheets.shown) this.show(view);
  }

  /** @param {import("../page.js").PageView} view */
  show(view) {
    const here = this.store.annotationsOf(view.number);
    const ids = here.map(({ uuid }) => uuid).join();
    if ((this.painted.get(view) ?? "") === ids) return;
    this.painted.set(view, ids);
    this.sheets.fill(view, "page-annotations", here.map((annotation, index) => this.makeArea(annotation, index + 1)));
  }

  /**
   * @param {Annotation} annotation
   * @param {number} number
   */
  makeArea(annotation, number) {
    const label = `Annotation ${number} on page ${annotation.page}: ${annotation.note}`;
    const attributes = { class: "annotation", type: "button", "aria-haspopup": "dialog", "aria-label": label };
    const area = make("button", attributes, make("span", { class: "annotation-number" }, String(number)));
    put(area, annotation.rect);
    area.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.open(annotation, area));
    area.addEventListener("focus", () => this.open(annotation, area));
    area.addEventListener("pointerleave", () => this.leave());
    area.addEventListener("blur", () => this.leave());
    area.addEventListener("keydown", (event) => event.key === "Escape" && this.close(false));
    area.addEventListener("click", () => {
      this.open(annotation, area);
      byId("annotation-delete").focus();
    });
    return area;
  }

  /** @returns {DOMRect | null} */
  anchor() {
    return this.area?.isConnected ? this.area.getBoundingClientRect() : null;
  }

  /**
   * @param {Annotation} annotation
   * @param {HTMLElement} area
   */
  open(annotation, area) {
    clearTimeout(this.timer);
    this.area = area;
    this.annotation = annotation;
    byId("annotation-words").textContent = annotation.note;
    byId("annotation-when").textContent = whenText(annotation.createdAt);
    this.card.open();
  }

  leave() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const busy = this.card.element.contains(document.activeElement) || this.area === document.activeElement;
      if (!busy) this.card.close();
    }, LINGER_MS);
  }

  /** @param {boolean} back  return the focus to the area */
  close(back) {
    clearTimeout(this.timer);
    if (back) this.area?.focus();
    this.card.close();
  }

  async remove(annotation = this.annotation) {
    this.close(true);
    try {
      await this.store.removeAnnotation(annotation);
      byId("annotate")?.focus({ preventScroll: true });
      showSuccess("Annotation deleted");
    } catch (refusal) {
      showFailure("The annotation could not be deleted.", refusal, () => this.remove(annotation));
    }
  }
}
