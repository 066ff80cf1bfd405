/** The tool that draws an area: with mouse, finger or pen, or with a button and the arrow keys. */

import { byId } from "../dom.js";
import { listenToKeys } from "../keys.js";
import { around, between, pointOn } from "./rect.js";

const TOOL = "annotate";
const CLICK = 6; // CSS pixels; a shorter movement is a click
const CLICK_MS = 350; // a click may still follow after a finger is lifted

/**
 * @typedef {object} Hooks
 * @property {(page: number, rect: import("./rect.js").Rect) => void} onDraw  while the area is being drawn
 * @property {(byKeys: boolean) => void} onDrawn  the area is ready for its text
 * @property {() => void} onDropped  the drawing was canceled
 */

export class Drawing {
  /**
   * @param {import("./sheets.js").Sheets} sheets
   * @param {Hooks} hooks
   */
  constructor(sheets, hooks) {
    this.sheets = sheets;
    this.hooks = hooks;
    this.page = 1;
    /** @type {{pointer: number, view: import("../page.js").PageView, event: PointerEvent} | null} */
    this.begun = null;
    this.button = byId("annotate");
    this.hint = byId("annotate-hint");
    this.listen();
  }

  listen() {
    this.button.addEventListener("click", () => (this.on ? this.stop() : this.start()));
    byId("annotate-page").addEventListener("click", () => this.offer());
    byId("annotate-cancel").addEventListener("click", () => this.stop());
    listenToKeys({ a: () => (this.on ? this.stop() : this.start()) });
    document.addEventListener("keydown", (event) => this.escape(event), { capture: true });
    document.addEventListener("pointerdown", (event) => this.begin(event), { capture: true });
    document.addEventListener("pointermove", (event) => this.draw(event), { capture: true });
    document.addEventListener("pointerup", (event) => this.end(event), { capture: true });
    document.addEventListener("pointercancel", () => this.drop(), { capture: true });
  }

  get on() {
    return document.body.dataset.tool === TOOL;
  }

  start() {
    document.body.dataset.tool = TOOL;
    this.button.setAttribute("aria-pressed", "true");
    this.hint.hidden = false;
    this.showPageNumber();
  }

  stop() {
    this.drop();
    if (this.hint.contains(document.activeElement)) this.button.focus();
    delete document.body.dataset.tool;
    this.button.setAttribute("aria-pressed", "false");
    this.hint.hidden = true;
  }

  /** @param {number} page  the one the reader is on */
  showPage(page) {
    this.page = page;
    this.showPageNumber();
  }

  showPageNumber() {
    byId("annotate-page").textContent = `Annotate page ${this.page}`;
  }

  /** Start with an area in the middle of the page, for readers who cannot draw. */
  offer() {
    this.hooks.onDraw(this.page, around({ x: 0.5, y: 0.5 }));
    this.stop();
    this.hooks.onDrawn(true);
  }

  /** @param {KeyboardEvent} event */
  escape(event) {
    if (event.key !== "Escape" || !this.on) return;
    event.stopPropagation();
    this.stop();
  }

  /** @param {PointerEvent} event */
  begin(event) {
    if (!this.on || event.button !== 0 || !(event.target instanceof Element)) return;
    const view = this.sheets.at(event.target);
    if (!view) return;
    event.preventDefault();
    event.stopPropagation();
    if (this.begun) this.drop(); // a second finger zooms
    else if (event.isPrimary) this.begun = { pointer: event.pointerId, view, event };
  }

  /** @param {PointerEvent} event */
  draw(event) {
    if (this.begun?.pointer !== event.pointerId) return;
    event.preventDefault();
    event.stopPropagation();
    if (!this.hasMoved(event)) return;
    const { view, event: first } = this.begun;
    this.hooks.onDraw(view.number, between(pointOn(view.element, first), pointOn(view.element, event)));
  }

  /** @param {PointerEvent} event */
  end(event) {
    if (this.begun?.pointer !== event.pointerId) return;
    event.stopPropagation();
    const { view } = this.begun;
    if (!this.hasMoved(event)) this.hooks.onDraw(view.number, around(pointOn(view.element, event)));
    this.begun = null;
    swallowClick();
    this.stop();
    this.hooks.onDrawn(false);
  }

  /** @param {PointerEvent} event */
  hasMoved({ clientX, clientY }) {
    const { event } = this.begun;
    return Math.hypot(clientX - event.clientX, clientY - event.clientY) >= CLICK;
  }

  drop() {
    if (!this.begun) return;
    this.begun = null;
    this.hooks.onDropped();
  }
}

/** Ignore the click that ends the drawing: it must not follow a link or turn a page. */
function swallowClick() {
  const control = new AbortController();
  const swallow = (event) => {
    if (!(event.target instanceof Element && event.target.closest(".page"))) return;
    event.preventDefault();
    event.stopPropagation();
  };
  window.addEventListener("click", swallow, { capture: true, once: true, signal: control.signal });
  setTimeout(() => control.abort(), CLICK_MS);
}
