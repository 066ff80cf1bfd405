/** Creating an annotation: the drawn area, which the arrow keys move, and the form for its text. */

import { byId, make } from "../dom.js";
import { Card } from "./card.js";
import { Drawing } from "./drawing.js";
import { describe, put, within } from "./rect.js";
import { sendBy } from "./sending.js";
import { showSuccess } from "./words.js";

const STEP = 0.02;
const ARROWS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };

export class Annotating {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./sheets.js").Sheets} sheets
   */
  constructor(store, sheets) {
    this.store = store;
    this.sheets = sheets;
    /** @type {{page: number, rect: import("./rect.js").Rect} | null} */
    this.draft = null;
    this.area = this.makeArea();
    this.text = byId("annotation-note");
    this.card = new Card(byId("annotation-form"), () => this.anchor(), () => this.cancel());
    const missing = () => (this.text.value.trim() ? "" : "Write something first.");
    this.forget = sendBy(this.card.element.querySelector("form"), missing, () => this.send());
    byId("annotation-cancel").addEventListener("click", () => this.cancel());
    this.drawing = new Drawing(sheets, {
      onDraw: (page, rect) => this.set(page, rect),
      onDrawn: (byKeys) => this.open(byKeys),
      onDropped: () => {
        this.clear();
        this.card.close();
      },
    });
  }

  makeArea() {
    const words = { role: "application", tabindex: "0", "data-part": "draft", "aria-describedby": "annotate-keys" };
    const area = make("div", { class: "draft", ...words });
    area.addEventListener("keydown", (event) => this.key(event));
    return area;
  }

  /** @param {import("../page.js").PageView} view */
  onPage(view) {
    if (this.draft?.page === view.number) this.show();
  }

  /** @param {import("../modes/standard.js").Position} position */
  onMove({ page }) {
    this.drawing.showPage(page);
    this.card.follow();
  }

  /** @returns {DOMRect | null} */
  anchor() {
    return this.area.isConnected ? this.area.getBoundingClientRect() : null;
  }

  /**
   * @param {number} page
   * @param {import("./rect.js").Rect} rect
   */
  set(page, rect) {
    if (this.draft && this.draft.page !== page) this.area.remove();
    this.draft = { page, rect };
    this.show();
  }

  show() {
    const { page, rect } = this.draft;
    put(this.area, rect);
    this.area.setAttribute("aria-label", `Area on page ${page}: ${describe(rect)}`);
    const view = this.sheets.of(page);
    if (view && !view.element.contains(this.area)) this.sheets.fill(view, "page-draft", [this.area]);
  }

  /** @param {boolean} byKeys  the area can still be moved before text is entered */
  open(byKeys) {
    this.forget();
    this.card.open();
    if (byKeys) this.area.focus();
    else this.text.focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const arrow = ARROWS[event.key];
    if (arrow) {
      const { page, rect } = this.draft;
      const [dx, dy] = arrow;
      const { x, y, width, height } = rect;
      const resized = { x, y, width: width + dx, height: height + dy };
      const moved = { x: x + dx, y: y + dy, width, height };
      this.set(page, within(event.shiftKey ? resized : moved));
      this.card.follow();
    } else if (event.key === "Enter") {
      this.text.focus();
    } else if (event.key === "Escape") {
      this.cancel();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  async send() {
    const typed = this.text.value;
    await this.store.addAnnotation({ ...this.draft, note: typed.trim() });
    if (this.text.value === typed) this.text.value = "";
    this.leave();
    showSuccess("Annotation saved");
  }

  /** Keep the entered text for the next area. */
  cancel() {
    this.leave();
  }

  leave() {
    this.clear();
    this.card.close();
    this.drawing.button.focus({ preventScroll: true });
  }

  clear() {
    this.draft = null;
    this.area.remove();
  }
}
