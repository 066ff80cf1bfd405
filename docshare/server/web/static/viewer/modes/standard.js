/**
 * The standard mode: pages in a column, scrolled by the window itself, so that keys, touch and the browser's own
 * scrolling work as usual. Only pages near the window exist as elements.
 */

import { byId, make, oncePerFrame } from "../dom.js";
import { findForemost } from "../foremost.js";
import { column } from "../zoom.js";
import { Column } from "./column.js";
import { MountedPages } from "./mounted.js";
import { jump, stopAt } from "./scroll.js";

const MOUNT_ABOVE = 1; // window heights
const MOUNT_BELOW = 2;
const KEEP = 4;
const MOST_MOUNTED = 80;
const FLYING = 1.5; // window heights per frame: too fast to read
const AT_REST = 1_000; // ms on a page, before it is announced
const MARGIN = 72; // CSS pixels: the buttons beside a page, with the space around them

/**
 * @typedef {object} Position
 * @property {number} page  the current page of the reader; the first one of a spread
 * @property {number[]} pages  the pages that the reader looks at (see foremost.js), ascending
 * @property {boolean} hasPrevious  whether there are pages to turn to
 * @property {boolean} hasNext
 * @property {number} percent  current zoom of the page
 */

/** @typedef {import("../page.js").PageView} PageView */

/**
 * @typedef {object} Hooks
 * @property {(position: Position) => void} onMove  the position or the zoom has changed
 * @property {(view: PageView) => void} onText  the text of a page was loaded
 * @property {(page: number) => void} onFollow  a link to a page was followed
 * @property {(view: PageView) => void} onPage  a page was mounted; its `element` is removed with it
 */

export class Mode {
  static auto = column;

  /**
   * @param {HTMLElement} stage  the element that holds the pages
   * @param {import("../source.js").Source} source
   * @param {import("../zoom.js").Zoom} zoom
   * @param {Hooks} hooks
   */
  constructor(stage, source, zoom, hooks) {
    this.stage = stage;
    this.source = source;
    this.zoom = zoom;
    this.hooks = hooks;
    this.column = new Column(source.sizes);
    this.mounted = new MountedPages(stage, source, hooks);
    this.views = this.mounted.views;
    this.rtl = false;
    this.page = source.facts.start;
    this.pages = [this.page];
    this.lastY = window.scrollY;
    stage.setAttribute("role", "feed");
    this.status = make("p", { class: "quiet", role: "status" });
    stage.before(this.status);
    this.measure();
    this.layOut();
    this.update();
    const soon = oncePerFrame(() => this.onScroll());
    window.addEventListener("scroll", soon, { passive: true });
    window.addEventListener("resize", oncePerFrame(() => this.onResize()));
  }

  measure() {
    const style = getComputedStyle(this.stage);
    const read = (name) => parseFloat(style.getPropertyValue(name));
    this.bar = read("--bar");
    const [gap, under] = [read("--gap"), read("--under")];
    const above = this.bar + read("--above");
    this.space = { above, below: read("--below") + under, gap: gap + under, gutter: read("--gutter") };
    this.clientWidth = document.documentElement.clientWidth;
    this.room = {
      width: this.clientWidth - 2 * this.space.gutter,
      height: document.documentElement.clientHeight - this.bar - 2 * gap - under,
    };
  }

  /** Update all positions after a change of zoom or window. */
  layOut() {
    const lay = () => this.column.lay((size) => this.zoom.scale(size, this.room), this.space, this.clientWidth);
    lay();
    if (this.moveButtons()) lay();
    this.column.centre(this.column.top(this.page));
    this.stage.classList.add("is-live");
    this.stage.classList.toggle("is-wider", this.column.width > this.clientWidth);
    this.stage.style.width = `${this.column.width}px`;
    this.stage.style.height = `${this.column.extent}px`;
    for (const view of this.views.values()) this.put(view);
  }

  /**
   * Put the buttons of each page beside it if the window has room there, otherwise below it (feedback-pages.css).
   *
   * @returns {boolean} whether this changed the space between the pages
   */
  moveButtons() {
    if (this.stage.dataset.under === undefined) return false;
    const beside = (this.clientWidth - this.column.widest) / 2 >= MARGIN;
    if (beside === this.stage.classList.contains("has-margin")) return false;
    this.stage.classList.toggle("has-margin", beside);
    this.measure();
    return true;
  }

  /** @param {PageView} view */
  put(view) {
    view.put(this.column.place(view.number));
  }

  onScroll() {
    const moved = Math.abs(window.scrollY - this.lastY);
    this.lastY = window.scrollY;
    if (moved > FLYING * window.innerHeight) {
      this.source.images.hold(120);
      this.source.texts.hold(120);
    }
    const shift = this.column.recentre(window.scrollY, window.innerHeight);
    if (shift !== 0) {
      for (const view of this.views.values()) this.put(view);
      this.jump(window.scrollX, window.scrollY + shift);
    }
    this.update();
  }

  onResize() {
    const before = this.clientWidth;
    const { above } = this.space;
    const room = this.room.height;
    const hold = this.hold(this.clientWidth / 2, this.bar + 1);
    this.measure();
    if (before !== this.clientWidth || above !== this.space.above || (room !== this.room.height && this.zoom.mode === "page")) {
      this.layOut();
      hold(this.clientWidth / 2, this.bar + 1);
    }
    this.update();
  }

  /**
   * Change the zoom and keep the point of the document at (x, y) of the window in place.
   *
   * @param {() => void} change
   * @param {number} [x]
   * @param {number} [y]
   */
  zoomed(change, x = this.clientWidth / 2, y = (window.innerHeight + this.bar) / 2) {
    const hold = this.hold(x, y);
    change();
    this.layOut();
    hold(x, y);
    this.update();
  }

  /**
   * Remember the point of the document at (x, y) of the window; the returned function restores it.
   *
   * @returns {(x: number, y: number) => void}
   */
  hold(x, y) {
    const page = this.column.at(window.scrollY + y);
    const was = this.column.place(page);
    const fractionX = (window.scrollX + x - was.left) / was.width;
    const fractionY = Math.min(1, (window.scrollY + y - was.top) / was.height);
    // The space above the first line of a page does not grow with the zoom.
    const over = Math.min(0, fractionY * was.height);
    return (newX, newY) => {
      const now = this.column.place(page);
      this.jump(
        now.left + fractionX * now.width - newX,
        now.top + (over || fractionY * now.height) - newY,
      );
    };
  }

  /** Scroll without triggering the check for fast scrolling. */
  jump(x, y) {
    jump(x, y);
    this.lastY = window.scrollY;
  }

  /** Scroll to where the reader asked to be, also during the scrolling of a key or the wheel. */
  stopAt(x, y) {
    stopAt(x, y);
    this.lastY = window.scrollY;
  }

  /**
   * Scroll a page, or an area of it, into view. Nothing moves if the area is already visible.
   *
   * @param {number} page
   * @param {{x: number, y: number, w: number, h: number}} [rect]  fractions of the page
   */
  goTo(page, rect) {
    const place = this.lookUp(page);
    if (rect) this.reveal(place, rect);
    else this.stopAt(window.scrollX, place.top - this.space.above);
    this.update();
  }

  /**
   * Ensure that a page is within the section that is laid out.
   *
   * @param {number} page
   * @returns {import("../page.js").Place}
   */
  lookUp(page) {
    const number = Math.min(this.source.total, Math.max(1, page));
    this.column.centre(this.column.top(number));
    for (const view of this.views.values()) this.put(view);
    return this.column.place(number);
  }

  /**
   * @param {import("../page.js").Place} place  of the page
   * @param {{x: number, y: number, w: number, h: number}} rect
   */
  reveal(place, rect) {
    const height = window.innerHeight - this.bar;
    const x = place.left + rect.x * place.width;
    const y = place.top + (rect.y + rect.h / 2) * place.height - this.bar;
    let { scrollX: left, scrollY: top } = window;
    const covered = byId("find").hidden ? 0.15 : 0.38; // by the list of results
    if (y < top + height * covered || y > top + height * 0.8) top = y - height * 0.4;
    if (x < left || x + Math.min(rect.w * place.width, this.clientWidth) > left + this.clientWidth) {
      left = x - this.clientWidth * 0.2;
    }
    this.stopAt(left, top);
  }

  /** @returns {import("../place.js").Place} where the reader is */
  place() {
    // The space above the first page may be another one the next time.
    if (window.scrollY <= 0) return { page: 1, down: -Infinity };
    const page = this.column.at(window.scrollY + this.bar);
    const { top, height } = this.column.place(page);
    return { page, down: (window.scrollY + this.bar - top) / height };
  }

  /** @param {import("../place.js").Place} place */
  goToPlace({ page, down }) {
    const { top, height } = this.lookUp(page);
    this.stopAt(window.scrollX, top + down * height - this.bar);
    this.update();
  }

  /** @param {1 | -1} direction */
  turn(direction) {
    this.goTo(this.page + direction);
  }

  /** Keys of this mode: none, scrolling is left to the browser. */
  keys() {
    return {};
  }

  goToEnd() {
    this.goTo(this.source.total);
    this.stopAt(window.scrollX, this.column.extent);
    this.update();
  }

  /** Mount the pages near the window, unmount distant ones, and report the position of the reader. */
  update() {
    const top = window.scrollY;
    const height = window.innerHeight;
    const first = this.column.at(top - MOUNT_ABOVE * height);
    const last = Math.min(this.column.at(top + (1 + MOUNT_BELOW) * height), first + MOST_MOUNTED);
    const pages = findForemost(this.visible());
    if (pages.length > 0) this.pages = pages;
    if (this.page !== this.pages[0]) this.announce(this.pages[0]);
    [this.page] = this.pages;
    this.source.focus = this.page;
    for (let page = first; page <= last; page += 1) this.mounted.mount(page, (view) => this.put(view));
    for (const [page, view] of this.views) {
      if ((page < first || page > last) && !this.isNeeded(view, top, height)) this.mounted.unmount(view);
    }
    this.mounted.removePlaceholders();
    const percent = this.zoom.percentOf(this.source.sizes.of(this.page), this.room);
    const [hasPrevious, hasNext] = [this.page > 1, this.pages.at(-1) < this.source.total];
    this.hooks.onMove({ page: this.page, pages: this.pages, hasPrevious, hasNext, percent });
  }

  /**
   * Tell readers with a screen reader where scrolling or a button of the toolbar led them; not while they scroll on.
   *
   * @param {number} page
   */
  announce(page) {
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => {
      this.status.textContent = `Page ${page} of ${this.source.total}`;
    }, AT_REST);
  }

  /**
   * Whether a page outside the window stays mounted: it is close, has the focus, or is part of a selection.
   *
   * @param {PageView} view
   */
  isNeeded(view, top, height) {
    const place = this.column.place(view.number);
    if (place.top < top + KEEP * height && place.top + place.height > top - (KEEP - 1) * height) {
      return this.views.size <= MOST_MOUNTED;
    }
    if (view.element.contains(document.activeElement)) return true;
    const selection = document.getSelection();
    return (
      selection.rangeCount > 0 &&
      !selection.isCollapsed &&
      this.views.size <= MOST_MOUNTED &&
      selection.getRangeAt(0).intersectsNode(view.element)
    );
  }

  /**
   * The visible fraction of each page in the window: of the page, or of the window if the page is larger.
   *
   * @returns {Map<number, number>} page to a number above 0 and up to 1
   */
  visible() {
    const top = window.scrollY + this.bar;
    const bottom = window.scrollY + window.innerHeight;
    /** @type {Map<number, number>} */
    const shares = new Map();
    for (let page = this.column.at(top); page <= this.source.total; page += 1) {
      const place = this.column.place(page);
      if (place.top >= bottom) break;
      const seen = Math.min(bottom, place.top + place.height) - Math.max(top, place.top);
      if (seen > 0) shares.set(page, Math.min(1, seen / Math.min(place.height, bottom - top)));
    }
    return shares;
  }
}
