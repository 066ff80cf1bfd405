/**
 * Prints pages, each on one sheet of its own size. Loads all images first; the reader sees the progress and can cancel.
 * Longer documents are better printed from the PDF; otherwise the reader chooses a range.
 */

import { byId, formatPlural, icon, make } from "./dom.js";
import { WIDTHS, pause } from "./source.js";

const MOST_PAGES = 100; // a browser keeps all images of a print in memory
const AT_ONCE = 4;
const TRIES = 4;
const STYLE = new URL("./print.css", import.meta.url).href;

/** @param {import("./source.js").Source} source */
export async function printPages(source) {
  await loadStyle();
  if (document.querySelector(".print-dialog")) return;
  const box = new PrintDialog(source);
  if (source.total > MOST_PAGES) box.chooseRange();
  else box.load(1, source.total);
}

/** @returns {Promise<void>} */
function loadStyle() {
  if (document.querySelector(`link[href="${STYLE}"]`)) return Promise.resolve();
  const link = make("link", { rel: "stylesheet", href: STYLE });
  return new Promise((resolve) => {
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      link.remove();
      resolve();
    });
    document.head.append(link);
  });
}

class PrintDialog {
  /** @param {import("./source.js").Source} source */
  constructor(source) {
    this.source = source;
    this.control = new AbortController();
    this.content = make("div", {});
    const close = make("button", { class: "tool", type: "button", "aria-label": "Close", title: "Close (Esc)" }, icon("close"));
    close.addEventListener("click", () => this.element.close());
    this.element = make(
      "dialog",
      { class: "help print-dialog", "aria-labelledby": "print-title" },
      make("header", {}, make("h2", { id: "print-title" }, "Print"), close),
      this.content,
    );
    this.element.addEventListener("close", () => this.end());
    document.body.append(this.element);
    this.element.showModal();
  }

  end() {
    this.control.abort();
    this.element.remove();
  }

  chooseRange() {
    const { total } = this.source;
    const [from, to] = [this.makeField("From page", 1), this.makeField("to", MOST_PAGES)];
    const trouble = make("p", { class: "print-trouble", role: "alert" });
    const form = make(
      "form",
      { novalidate: "" },
      make("p", {}, `This document has ${total} pages. Up to ${MOST_PAGES} can be printed at a time.`),
      make("p", { class: "print-range" }, from.label, to.label, make("button", { class: "button primary" }, "Print")),
      trouble,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const [first, last] = [Number(from.input.value), Number(to.input.value)];
      trouble.textContent = checkRange(first, last, total);
      if (!trouble.textContent) this.load(first, last);
    });
    this.content.replaceChildren(...this.offerDownload(), form);
    from.input.focus();
  }

  /**
   * @param {string} words
   * @param {number} value
   */
  makeField(words, value) {
    const input = make("input", { inputmode: "numeric", autocomplete: "off", maxlength: "6", value: String(value) });
    return { input, label: make("label", {}, `${words} `, input) };
  }

  /** @returns {HTMLElement[]} nothing if the document cannot be downloaded */
  offerDownload() {
    const download = byId("download");
    if (!download) return [];
    const button = make("button", { class: "button", type: "button" }, "Download");
    button.addEventListener("click", () => {
      this.element.close();
      download.click();
    });
    return [make("p", {}, "To print all pages, download the PDF and print it."), button];
  }

  /**
   * Load pages and print them, then close.
   *
   * @param {number} first
   * @param {number} last
   */
  async load(first, last) {
    const count = last - first + 1;
    const bar = make("progress", { max: String(count), value: "0", "aria-labelledby": "print-words" });
    const words = make("p", { id: "print-words" }, `Loading ${formatPlural(count, "page")}...`);
    const state = make("p", { class: "print-count" });
    const cancel = make("button", { class: "button", type: "button" }, "Cancel");
    cancel.addEventListener("click", () => this.element.close());
    this.content.replaceChildren(words, bar, state, cancel);
    cancel.focus();
    const sheets = new Sheets(this.source, first, last);
    const show = (loaded) => {
      bar.value = loaded;
      state.textContent = `${loaded} of ${count}`;
    };
    show(0);
    const { signal } = this.control;
    const missing = await sheets.load(signal, show);
    if (signal.aborted) sheets.drop();
    else if (missing.length > 0) this.showTrouble(sheets, missing[0], () => this.load(first, last));
    else {
      this.element.close();
      sheets.print();
    }
  }

  /**
   * @param {Sheets} sheets
   * @param {number} page
   * @param {() => void} retry
   */
  showTrouble(sheets, page, retry) {
    sheets.drop();
    const again = make("button", { class: "button", type: "button" }, "Try again");
    again.addEventListener("click", retry);
    this.content.replaceChildren(make("p", { role: "alert" }, `Page ${page} did not load, so nothing was printed.`), again);
    again.focus();
  }
}

/**
 * @param {number} first
 * @param {number} last
 * @param {number} total
 * @returns {string} what is wrong, or nothing
 */
function checkRange(first, last, total) {
  const valid = Number.isInteger(first) && Number.isInteger(last) && first >= 1 && first <= last && last <= total;
  if (!valid) return `Enter two page numbers from 1 to ${total}, the lower one first.`;
  return last - first < MOST_PAGES ? "" : `Choose at most ${MOST_PAGES} pages.`;
}

class Sheets {
  /**
   * @param {import("./source.js").Source} source
   * @param {number} first
   * @param {number} last
   */
  constructor(source, first, last) {
    this.source = source;
    this.pages = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    this.element = make("div", { class: "print-sheets", "aria-hidden": "true" });
    /** Rules of @page can only be set here: the policy of the page forbids style elements. */
    this.style = new CSSStyleSheet();
    this.style.replaceSync([...new Set(this.pages.map((page) => this.renderRule(page)))].join("\n"));
  }

  /** @param {number} page */
  nameSize(page) {
    const { w, h } = this.source.sizes.of(page);
    return `sheet-${w}-${h}`.replaceAll(".", "_");
  }

  /** @param {number} page */
  renderRule(page) {
    const { w, h } = this.source.sizes.of(page);
    return `@page ${this.nameSize(page)} { size: ${w}pt ${h}pt; margin: 0; }`;
  }

  /**
   * Load all images, a few at a time.
   *
   * @param {AbortSignal} signal
   * @param {(loaded: number) => void} onProgress
   * @returns {Promise<number[]>} the pages that did not load; loading stops at the first one
   */
  async load(signal, onProgress) {
    document.body.append(this.element);
    const sheets = this.pages.map((page) => this.makeSheet(page));
    this.element.append(...sheets);
    const waiting = this.pages.map((page, index) => ({ page, sheet: sheets[index] }));
    /** @type {number[]} */
    const missing = [];
    let loaded = 0;
    const work = async () => {
      while (waiting.length > 0 && missing.length === 0 && !signal.aborted) {
        const { page, sheet } = waiting.shift();
        if (!(await this.loadSheet(page, sheet, signal))) missing.push(page);
        else if (!signal.aborted) onProgress((loaded += 1));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return missing;
  }

  /** @param {number} page */
  makeSheet(page) {
    const sheet = make("div", { class: "print-sheet" });
    const { w, h } = this.source.sizes.of(page);
    sheet.style.width = `${w}pt`;
    sheet.style.height = `calc(${h}pt - 1px)`; // rounded up, a page would begin another sheet
    sheet.style.setProperty("page", this.nameSize(page));
    return sheet;
  }

  /**
   * @param {number} page
   * @param {HTMLElement} sheet
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>} whether the sheet shows the page, or that the page cannot be shown
   */
  async loadSheet(page, sheet, signal) {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      const image = make("img", { alt: `Page ${page}`, src: this.source.imageUrl(page, WIDTHS[1]) });
      sheet.replaceChildren(image);
      if (await hasLoaded(image, signal)) return true;
      const error = signal.aborted ? null : await this.source.whyNoImage(page, signal);
      if (error?.unrenderable) {
        sheet.replaceChildren(make("p", {}, `Page ${page} cannot be shown.`));
        return true;
      }
      if (error?.outdated || attempt === TRIES) return false;
      if (!signal.aborted) await pause(attempt);
    }
    return false;
  }

  /** Print, and remove the sheets afterwards; some browsers return from print() before they have printed. */
  print() {
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.style];
    document.documentElement.classList.add("is-printing");
    window.addEventListener("afterprint", () => this.drop(), { once: true });
    window.print();
  }

  drop() {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((style) => style !== this.style);
    document.documentElement.classList.remove("is-printing");
    this.element.remove();
  }
}

/**
 * @param {HTMLImageElement} image
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
function hasLoaded(image, signal) {
  return new Promise((resolve) => {
    const cancel = () => {
      image.removeAttribute("src");
      resolve(false);
    };
    const settle = (loaded) => {
      signal.removeEventListener("abort", cancel);
      resolve(loaded);
    };
    image.addEventListener("load", () => settle(true), { once: true });
    image.addEventListener("error", () => settle(false), { once: true });
    signal.addEventListener("abort", cancel, { once: true });
  });
}
