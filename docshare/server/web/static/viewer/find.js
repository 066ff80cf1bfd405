/** The find bar. */

import { byId } from "./dom.js";
import { paintHits } from "./hits.js";
import { Search } from "./search.js";

/** @type {import("./search.js").Hit[]} */
const NONE = [];
const TYPING = 160; // ms without typing before a search begins

export class Find {
  /**
   * @param {import("./source.js").Source} source
   * @param {import("./modes/standard.js").Mode} mode
   */
  constructor(source, mode) {
    this.source = source;
    this.mode = mode;
    this.search = new Search(source, () => this.onProgress());
    /** @type {import("./search.js").Hit | null} */
    this.current = null;
    /** The highlights painted on each page now: its hits, and which of them is the current one. */
    this.painted = new WeakMap();
    this.form = byId("find");
    this.input = byId("find-words");
    this.output = byId("find-count");
    this.bar = byId("find-progress");
    this.listen();
  }

  listen() {
    this.input.addEventListener("input", () => this.onInput());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.step(1);
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      if (event.key === "Enter" && event.shiftKey && event.target === this.input) {
        event.preventDefault();
        this.step(-1);
      }
    });
    byId("find-next").addEventListener("click", () => this.step(1));
    byId("find-previous").addEventListener("click", () => this.step(-1));
    byId("find-close").addEventListener("click", () => this.close());
  }

  open() {
    const chosen = document.getSelection().toString().trim();
    this.opener = /** @type {HTMLElement | null} */ (document.activeElement);
    this.form.hidden = false;
    if (chosen && chosen.length < 100 && !chosen.includes("\n")) this.input.value = chosen;
    this.input.focus();
    this.input.select();
    if (this.input.value) this.start();
  }

  close() {
    this.form.hidden = true;
    this.search.clear();
    this.current = null;
    this.paint();
    this.opener?.focus({ preventScroll: true });
  }

  onInput() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(), TYPING);
  }

  start() {
    clearTimeout(this.timer);
    this.current = null;
    this.from = this.mode.page;
    this.search.look(this.input.value, this.from);
    this.paint();
    this.showState();
  }

  /** @param {1 | -1} direction */
  step(direction) {
    if (this.timer && this.input.value && !this.search.words) this.start();
    const hit = this.search.beside(this.current, direction, this.mode.page);
    if (hit) this.show(hit);
  }

  /** @param {import("./search.js").Hit} hit */
  async show(hit) {
    this.current = hit;
    this.showState();
    const text = await this.source.text(hit.page);
    if (this.current !== hit) return;
    const { x, y, w, h } = text.boxes[hit.box];
    this.mode.goTo(hit.page, { x, y, w, h });
    this.paint();
  }

  /** After more pages were searched, go to the first hit as soon as no earlier one is possible. */
  onProgress() {
    const next = this.current ? null : this.search.beside(null, 1, this.from);
    const reached = (this.search.searched + this.from - 1) % this.source.total;
    if (next && (this.search.done || (next.page >= this.from && next.page <= Math.max(this.from, reached)))) {
      this.show(next);
    }
    this.paint();
    this.showState();
  }

  showState() {
    const { search } = this;
    this.bar.style.transform = `scaleX(${search.searched / this.source.total})`;
    this.bar.classList.toggle("is-done", search.done);
    this.output.value = this.count();
    this.output.title = search.unread > 0 ? `${search.unread} pages could not be searched` : "";
  }

  count() {
    const { search } = this;
    if (!search.words) return "";
    const more = search.full || !search.done ? "+" : "";
    if (search.count === 0) return search.done ? "No results" : "Searching…";
    return this.current ? `${search.place(this.current)} of ${search.count}${more}` : `${search.count}${more}`;
  }

  /** Paint the hits of the pages on the screen. */
  paint() {
    for (const view of this.mode.views.values()) this.paintPage(view);
  }

  /** @param {import("./page.js").PageView} view */
  paintPage(view) {
    if (!view.text) return;
    const hits = this.search.hits.get(view.number) ?? NONE;
    const current = this.current?.page === view.number ? this.current : null;
    const painted = this.painted.get(view) ?? { hits: NONE, current: null };
    if (painted.hits === hits && painted.current === current) return;
    this.painted.set(view, { hits, current });
    paintHits(view, hits, current);
  }
}
