/** The find panel: what to find, how often it was found, and where. */

import { byId, make } from "./dom.js";
import { paintHits } from "./hits.js";
import { Search, findAll } from "./search.js";

const TYPING = 160; // ms without typing before a search begins
/** Windows in which the panel is over the pages, not beside them, and that have room for both. */
const NARROW = window.matchMedia("(max-width: 900px) and (min-height: 480px)");

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
    /** The highlights painted on each page now: the words, and which of them is the current one. */
    this.painted = new WeakMap();
    this.covered = 0; // pixels of the window, from its top
    /** @type {HTMLElement[]} of the listed passages, in their order */
    this.rows = [];
    this.form = byId("find");
    this.input = byId("find-words");
    this.output = byId("find-count");
    this.bar = byId("find-progress");
    this.list = byId("find-results");
    this.note = byId("find-note");
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
    document.addEventListener("keydown", (event) => this.onShortcut(event));
    byId("find-next").addEventListener("click", () => this.step(1));
    byId("find-previous").addEventListener("click", () => this.step(-1));
    byId("find-close").addEventListener("click", () => this.close());
    NARROW.addEventListener("change", () => this.makeRoom());
  }

  /**
   * Ctrl+F opens the panel, and while it has the focus, the search of the browser.
   *
   * @param {KeyboardEvent} event
   */
  onShortcut(event) {
    const asked = event.key.toLowerCase() === "f" && event.ctrlKey !== event.metaKey && !event.altKey && !event.shiftKey;
    if (!asked || event.defaultPrevented || this.form.contains(document.activeElement)) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    this.open();
  }

  open() {
    const chosen = document.getSelection().toString().trim();
    if (this.form.hidden) this.opener = /** @type {HTMLElement | null} */ (document.activeElement);
    this.form.hidden = false;
    if (chosen && chosen.length < 100 && !chosen.includes("\n")) this.input.value = chosen;
    this.input.focus();
    this.input.select();
    this.makeRoom();
    if (this.input.value) this.start();
    else this.search.prepare();
  }

  close() {
    this.form.hidden = true;
    clearTimeout(this.timer);
    this.search.clear();
    this.current = null;
    this.paint();
    this.listPassages();
    this.makeRoom();
    // Opened by Ctrl+F, nothing had the focus: the keyboard goes on in the document, not at the top of the page.
    const opener = this.opener && this.opener !== document.body ? this.opener : byId("pages");
    opener.focus({ preventScroll: true });
  }

  onInput() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(), TYPING);
  }

  start() {
    clearTimeout(this.timer);
    this.current = null;
    this.from = this.mode.page;
    this.search.look(this.input.value);
    this.paint();
    this.listPassages();
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
    const text = await this.source.text(hit.page).catch(() => null);
    if (this.current !== hit) return;
    const match = text && findAll(text, this.search.words)[hit.place];
    if (match) {
      const { x, y, w, h } = text.boxes[match.box];
      this.mode.goTo(hit.page, { x, y, w, h });
    } else {
      this.mode.goTo(hit.page); // at least its page
    }
    this.paint();
  }

  /** After more pages were searched, go to the first hit from the current page on, and to an earlier one at the end. */
  onProgress() {
    const next = this.current ? null : this.search.beside(null, 1, this.from);
    if (next && (this.search.done || next.page >= this.from)) this.show(next);
    this.paint();
    this.listPassages();
    this.showState();
  }

  /** Add the passages that are not listed yet; after `clear`, remove those of the last search. */
  listPassages() {
    const { passages, words } = this.search;
    if (this.rows.length > passages.length || this.listed !== words) {
      this.list.replaceChildren();
      this.rows = [];
      this.listed = words;
    }
    for (const passage of passages.slice(this.rows.length)) {
      const row = makeRow(passage, () => this.show(passage.hit));
      this.rows.push(row);
      this.list.append(make("li", {}, row));
    }
    const isHidden = this.rows.length === 0;
    if (this.list.hidden === isHidden) return;
    this.list.hidden = isHidden;
    this.mode.onResize?.(); // on a phone, the list makes the space above the pages larger (panels.css)
  }

  showState() {
    const { search } = this;
    this.bar.style.transform = `scaleX(${search.searched / this.source.total})`;
    this.bar.classList.toggle("is-done", search.done);
    this.output.value = this.count();
    this.note.textContent = this.describe();
    this.note.hidden = this.note.textContent === "";
    this.makeRoom();
    this.showCurrentRow();
  }

  /** Let a mode that turns pages show them below the panel; the column is scrolled from under it (panels.css). */
  makeRoom() {
    const covered = NARROW.matches && !this.form.hidden ? Math.ceil(this.form.getBoundingClientRect().bottom) : 0;
    if (covered === this.covered) return;
    this.covered = covered;
    this.mode.onCover?.(covered);
  }

  showCurrentRow() {
    const { page, place } = this.current ?? { page: 0, place: 0 };
    const at = this.search.passages.findIndex(({ hit }) => hit.page === page && hit.place === place);
    const row = this.rows[at];
    if (row === this.currentRow) return;
    this.currentRow?.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
    row?.scrollIntoView({ block: "nearest" });
    this.currentRow = row;
  }

  count() {
    const { search } = this;
    if (!search.words || search.error) return "";
    const more = search.done ? "" : "+";
    if (search.count === 0) return search.done ? "No results" : "Searching…";
    return this.current ? `${search.ordinal(this.current)} of ${search.count}${more}` : `${search.count}${more}`;
  }

  /** Return the notes above the list of matches. */
  describe() {
    const { error, passages, count, unread } = this.search;
    const found = [];
    if (error?.status === 429) found.push("Too many searches. Try again in a minute.");
    else if (error) found.push("The search failed. Try again.");
    if (count > passages.length) found.push(`The first ${passages.length} results are listed.`);
    if (unread > 0) found.push(unread === 1 ? "1 page could not be searched." : `${unread} pages could not be searched.`);
    return found.join(" ");
  }

  /** Paint the hits of the pages on the screen. */
  paint() {
    for (const view of this.mode.views.values()) this.paintPage(view);
  }

  /** @param {import("./page.js").PageView} view */
  paintPage(view) {
    if (!view.text) return;
    const { words } = this.search;
    const place = this.current?.page === view.number ? this.current.place : -1;
    const painted = this.painted.get(view) ?? { words: "", place: -1 };
    if (painted.words === words && painted.place === place) return;
    this.painted.set(view, { words, place });
    const hits = findAll(view.text, words);
    paintHits(view, hits, hits[place] ?? null);
  }
}

/**
 * @param {import("./search.js").Passage} passage
 * @param {() => void} onChoice
 * @returns {HTMLElement}
 */
function makeRow({ hit, before, match, after }, onChoice) {
  const words = make("span", { dir: "auto" }, before, make("mark", {}, match), after);
  const row = make("button", { class: "find-result", type: "button" }, make("span", { class: "find-page" }, `Page ${hit.page}`), " ", words);
  row.addEventListener("click", onChoice);
  return row;
}
