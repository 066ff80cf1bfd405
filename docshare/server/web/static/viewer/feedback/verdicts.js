/** Pick, maybe or reject: three buttons on every page, and keys for the page the reader is on. */

import { icon, make } from "../dom.js";
import { listenToKeys } from "../keys.js";
import { inAWhile } from "./ask.js";
import { showFailure, showProgress, showSuccess, announce } from "./words.js";

const KINDS = [
  { mark: "pick", name: "Pick", icon: "pick", key: "1" },
  { mark: "maybe", name: "Maybe", icon: "maybe", key: "2" },
  { mark: "reject", name: "Reject", icon: "reject", key: "3" },
];
const CLEAR = "x";

export class Verdicts {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./sheets.js").Sheets} sheets
   */
  constructor(store, sheets) {
    this.store = store;
    this.sheets = sheets;
    this.page = 1;
    /** Marks that the server has not confirmed yet. @type {Map<number, string | null>} */
    this.wanted = new Map();
    /** Rejected marks that the reader has not been notified of. @type {Map<number, string | null>} */
    this.lost = new Map();
    this.sending = false;
    /** Whether the rate limit was exceeded, so that saving may take a while. */
    this.resting = false;
    store.onChange(() => this.showAll());
    if (store.allowed.owner) return;
    window.addEventListener("beforeunload", (event) => {
      if (this.resting) event.preventDefault();
    });
    const keys = Object.fromEntries(KINDS.map(({ mark, key }) => [key, () => this.want(this.page, mark)]));
    listenToKeys({ ...keys, [CLEAR]: () => this.want(this.page, null) });
  }

  /** @param {import("../modes/standard.js").Position} position */
  onMove({ page }) {
    this.page = page;
  }

  /** @param {import("../page.js").PageView} view */
  onPage(view) {
    const group = make("div", { class: "verdicts", role: "group", "aria-label": `Mark page ${view.number}` });
    group.append(...KINDS.map((kind) => this.button(view.number, kind)));
    this.sheets.fill(view, "page-verdicts", [group]);
    this.show(view);
  }

  /**
   * @param {number} page
   * @param {typeof KINDS[number]} kind
   */
  button(page, { mark, name, icon: symbol, key }) {
    const attributes = { class: "verdict", type: "button", "data-mark": mark, "aria-label": name };
    const button = make("button", attributes, icon(symbol), make("span", {}, name));
    button.title = `${name} (${key})`;
    if (this.store.allowed.owner) {
      button.disabled = true;
      button.title = "Readers can mark pages here";
    }
    button.addEventListener("click", () => this.want(page, this.of(page) === mark ? null : mark));
    return button;
  }

  /**
   * @param {number} page
   * @returns {string | null}
   */
  of(page) {
    return (this.wanted.has(page) ? this.wanted.get(page) : this.store.marks.get(page)) ?? null;
  }

  /**
   * @param {number} page
   * @param {string | null} mark
   */
  want(page, mark) {
    this.lost.delete(page);
    if (mark !== null || this.of(page) !== null || this.store.state !== "loaded") this.wanted.set(page, mark);
    this.showPage(page);
    const kind = KINDS.find((one) => one.mark === mark);
    announce(kind ? `Page ${page}: ${kind.name.toLowerCase()}` : `Page ${page}: no mark`);
    this.send();
  }

  /** Save one after the other, so that the last mark is also the last one at the server. */
  async send() {
    if (this.sending) return;
    this.sending = true;
    while (this.wanted.size > 0) {
      const [[page, mark]] = this.wanted;
      try {
        await this.store.mark(page, mark);
        if (this.wanted.get(page) === mark) this.wanted.delete(page);
      } catch (refusal) {
        if (refusal.tooFast) await this.rest(refusal.seconds);
        else this.lose(page, refusal);
      }
      this.showPage(page);
    }
    if (this.resting && this.lost.size === 0) showSuccess("All marks are saved");
    this.resting = false;
    this.sending = false;
  }

  /**
   * Retry later when the rate limit is exceeded, so that no mark is lost.
   *
   * @param {number} seconds
   */
  async rest(seconds) {
    this.resting = true;
    showProgress(`Too many marks at once. The rest are saved ${inAWhile(seconds)}; keep this page open.`);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }

  /**
   * @param {number} page
   * @param {import("./ask.js").Refusal} refusal
   */
  lose(page, refusal) {
    this.lost.set(page, this.wanted.get(page));
    this.wanted.delete(page);
    const lost = [...this.lost];
    const what = lost.length === 1 ? `The mark on page ${page} is` : `The marks on ${lost.length} pages are`;
    showFailure(`${what} not saved.`, refusal, () => {
      this.lost.clear();
      for (const [other, mark] of lost) this.want(other, mark);
    });
  }

  showAll() {
    for (const view of this.sheets.shown) this.show(view);
  }

  /** @param {number} page */
  showPage(page) {
    const view = this.sheets.of(page);
    if (view) this.show(view);
  }

  /** @param {import("../page.js").PageView} view */
  show(view) {
    const mark = this.of(view.number);
    for (const button of view.element.querySelectorAll(".verdict")) {
      button.setAttribute("aria-pressed", String(button.dataset.mark === mark));
    }
    view.element.querySelector(".verdicts")?.classList.toggle("is-saving", this.wanted.has(view.number));
  }
}
