/** Small pictures of all pages. Only those in the sidebar exist as elements, so a long document is as fast as a short one. */

import { make, oncePerFrame } from "../dom.js";
import { loadImage } from "../images.js";
import { Queue } from "../queue.js";

const WIDTHS = [160, 240]; // pixels; sharp at WIDE CSS pixels on any screen
const WIDE = 108; // CSS pixels
const [SHORTEST, TALLEST] = [64, 160];
const CELL = { width: WIDE + 12, under: 36 }; // CSS pixels; below a picture is its number
const AT_ONCE = 3;

export class Thumbnails {
  /**
   * @param {import("../source.js").Source} source
   * @param {(page: number) => void} goTo
   */
  constructor(source, goTo) {
    this.source = source;
    this.goTo = goTo;
    this.page = 1;
    /** The picture that Tab reaches; the arrow keys move it. */
    this.active = 1;
    this.queue = new Queue(AT_ONCE, (page) => Math.abs(page - this.middle));
    /** @type {Map<number, Thumbnail>} */
    this.mounted = new Map();
    this.list = make("ul", { class: "thumbnails-list", role: "list" });
    this.element = make("div", { class: "thumbnails", id: "thumbnails" }, this.list);
    const { w, h } = source.sizes.of(1);
    this.tall = Math.round(Math.min(TALLEST, Math.max(SHORTEST, (WIDE * h) / w)));
    this.columns = 1;
    this.middle = 1;
    const soon = oncePerFrame(() => this.update());
    this.element.addEventListener("scroll", soon, { passive: true });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(soon).observe(this.element);
  }

  get rowHeight() {
    return this.tall + CELL.under;
  }

  /**
   * Mark the page that the reader is on, and scroll to it if it is another one than before.
   *
   * @param {number} page
   * @param {boolean} [isOpened]  scroll in any case
   */
  show(page, isOpened = false) {
    const moved = isOpened || page !== this.page;
    this.page = page;
    if (moved && !this.element.contains(document.activeElement)) this.active = page;
    this.update();
    if (moved) this.reveal(page);
    this.update();
  }

  focus() {
    this.active = this.page;
    this.reveal(this.page);
    this.update();
    this.mounted.get(this.page)?.button.focus({ preventScroll: true });
  }

  /** @param {number} page */
  reveal(page) {
    const top = Math.floor((page - 1) / this.columns) * this.rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + this.rowHeight - clientHeight;
  }

  /** Mount the pictures in the window of the list and one row around it, and unmount the others. */
  update() {
    const { scrollTop, clientHeight } = this.element;
    if (clientHeight === 0) return;
    const { total } = this.source;
    const width = this.list.clientWidth;
    this.columns = Math.max(1, Math.floor(width / CELL.width));
    this.list.style.height = `${Math.ceil(total / this.columns) * this.rowHeight}px`;
    const first = Math.max(0, Math.floor(scrollTop / this.rowHeight) - 1) * this.columns + 1;
    const last = Math.min(total, (Math.ceil((scrollTop + clientHeight) / this.rowHeight) + 1) * this.columns);
    this.middle = (first + last) / 2;
    for (const [page, { element, cancel }] of this.mounted) {
      if ((page >= first && page <= last) || element.contains(document.activeElement)) continue;
      cancel();
      element.remove();
      this.mounted.delete(page);
    }
    for (let page = first; page <= last; page += 1) if (!this.mounted.has(page)) this.mount(page);
    if (!this.mounted.has(this.active)) this.active = Math.min(last, first + this.columns);
    for (const [page, thumbnail] of this.mounted) this.place(page, thumbnail, width / this.columns);
  }

  /** @param {number} page */
  mount(page) {
    const thumbnail = makeThumbnail(this.source, page, this.tall);
    thumbnail.button.addEventListener("click", () => this.goTo(page));
    thumbnail.button.addEventListener("focus", () => {
      this.active = page;
      this.update();
    });
    const address = {
      src: this.source.imageUrl(page, WIDTHS[0]),
      srcset: WIDTHS.map((width) => `${this.source.imageUrl(page, width)} ${width}w`).join(", "),
    };
    thumbnail.cancel = this.queue.add(page, async (signal) => {
      if (await loadImage(thumbnail.image, address, this.source, signal)) thumbnail.image.classList.add("is-shown");
    });
    this.mounted.set(page, thumbnail);
    // In page order, which the tab key and screen readers follow.
    const after = [...this.mounted.keys()].filter((number) => number > page);
    this.list.insertBefore(thumbnail.element, after.length > 0 ? this.mounted.get(Math.min(...after)).element : null);
  }

  /**
   * @param {number} page
   * @param {Thumbnail} thumbnail
   * @param {number} width  of its cell
   */
  place(page, { element, button }, width) {
    const column = (page - 1) % this.columns;
    element.style.width = `${width}px`;
    element.style.insetInlineStart = `${column * width}px`;
    element.style.top = `${Math.floor((page - 1) / this.columns) * this.rowHeight}px`;
    button.tabIndex = page === this.active ? 0 : -1;
    if (page === this.page) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const rows = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight));
    const steps = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -this.columns,
      ArrowDown: this.columns,
      PageUp: -rows * this.columns,
      PageDown: rows * this.columns,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const page = Math.min(this.source.total, Math.max(1, this.active + step));
    this.reveal(page);
    this.update();
    this.mounted.get(page)?.button.focus({ preventScroll: true });
  }
}

/** @typedef {{element: HTMLElement, button: HTMLButtonElement, image: HTMLImageElement, cancel: () => void}} Thumbnail */

/**
 * @param {import("../source.js").Source} source
 * @param {number} page
 * @param {number} tall  CSS pixels of the tallest picture
 * @returns {Thumbnail}
 */
function makeThumbnail(source, page, tall) {
  const { w, h } = source.sizes.of(page);
  const scale = Math.min(WIDE / w, tall / h);
  const [width, height] = [Math.max(8, Math.round(w * scale)), Math.max(8, Math.round(h * scale))];
  const image = make("img", { class: "thumbnail-image", alt: "", decoding: "async", draggable: "false", sizes: `${width}px` });
  const paper = make("span", { class: "thumbnail-paper" }, image);
  paper.style.width = `${width}px`;
  paper.style.height = `${height}px`;
  const frame = make("span", { class: "thumbnail-frame" }, paper);
  frame.style.height = `${tall}px`;
  const number = make("span", { class: "thumbnail-number", "aria-hidden": "true" }, String(page));
  const button = make("button", { class: "thumbnail", type: "button", "aria-label": `Page ${page}` }, frame, number);
  const element = make("li", { class: "thumbnails-item", "aria-posinset": String(page), "aria-setsize": String(source.total) }, button);
  return { element, button, image, cancel: () => {} };
}
