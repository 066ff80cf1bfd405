/** The panel of notes: beside the pages, on phones a sheet at the bottom. */

import { byId, formatPlural, icon, make, oncePerFrame } from "../dom.js";
import { NoteForm } from "./noteform.js";
import { NoteList } from "./notelist.js";

const AWAY = 12; // CSS pixels between pages and elements beside them

export class Panel {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./sheets.js").Sheets} sheets
   * @param {(page: number, rect?: import("./rect.js").Rect) => void} goTo
   */
  constructor(store, sheets, goTo) {
    this.store = store;
    this.sheets = sheets;
    this.aside = byId("notes");
    this.button = byId("notes-open");
    this.title = byId("notes-title");
    this.list = new NoteList(store, goTo, () => this.title.focus({ preventScroll: true }));
    this.form = store.allowed.notes && !store.allowed.owner ? new NoteForm(store) : null;
    /** The number of notes shown at each page. @type {WeakMap<import("../page.js").PageView, number>} */
    this.counted = new WeakMap();
    this.listen();
  }

  listen() {
    this.button.addEventListener("click", () => (this.aside.hidden ? this.open() : this.close()));
    byId("notes-close").addEventListener("click", () => this.close());
    this.aside.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    this.store.onChange(() => this.count());
    window.addEventListener("resize", oncePerFrame(() => this.makeRoom()));
  }

  /** Move the pages out from under the panel, as far as there is room on their other side. */
  makeRoom() {
    const view = this.sheets.shown[0];
    let aside = 0;
    if (view && !this.aside.hidden && this.aside.offsetLeft > 0) {
      const { offsetLeft: left, offsetWidth: width } = view.element;
      const buttons = parseFloat(getComputedStyle(view.element).getPropertyValue("--beside"));
      const covered = left + width + buttons + AWAY - this.aside.offsetLeft;
      aside = Math.max(0, Math.min(covered, left - AWAY));
    }
    document.documentElement.style.setProperty("--aside", `${aside}px`);
  }

  /** @param {number} [page]  whose notes are shown first */
  open(page) {
    this.aside.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.makeRoom();
    this.title.focus({ preventScroll: true });
    if (page !== undefined) this.list.reveal(page);
  }

  close() {
    this.aside.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    this.makeRoom();
    this.button.focus({ preventScroll: true });
  }

  /** @param {import("../modes/standard.js").Position} position */
  onMove({ page }) {
    this.form?.showPage(page);
    if (!this.aside.hidden) this.makeRoom();
  }

  /** @param {import("../page.js").PageView} view */
  onPage(view) {
    this.countOn(view);
  }

  count() {
    const { notes } = this.store;
    const badge = byId("notes-count");
    badge.textContent = String(notes.length);
    badge.hidden = notes.length === 0;
    this.button.setAttribute("aria-label", notes.length === 0 ? "Notes" : `Notes, ${notes.length}`);
    for (const view of this.sheets.shown) this.countOn(view);
  }

  /**
   * Show at the edge of a page how many notes refer to it.
   *
   * @param {import("../page.js").PageView} view
   */
  countOn(view) {
    const count = this.store.notesOf(view.number).length;
    if ((this.counted.get(view) ?? 0) === count) return;
    this.counted.set(view, count);
    this.sheets.fill(view, "page-notes", count === 0 ? [] : [this.sign(view.number, count)]);
  }

  /**
   * @param {number} page
   * @param {number} count
   */
  sign(page, count) {
    const words = `${formatPlural(count, "note")} on page ${page}`;
    const attributes = { class: "note-sign", type: "button", "aria-label": words, title: words };
    const sign = make("button", attributes, icon("note"), String(count));
    sign.addEventListener("click", () => this.open(page));
    return sign;
  }
}
