/**
 * Base of the modes that turn pages: one page or a spread at a time, in the center of the window. A spread that is
 * zoomed beyond the window is scrolled by the window itself, so that keys, touch and find work as usual. The pages
 * before and after are created too, hidden and not focusable, so that they are ready when they are turned to.
 */

import { make, oncePerFrame } from "../dom.js";
import { findForemost } from "../foremost.js";
import { whole } from "../zoom.js";
import { findScroll, laySpread, moveButtons, readFrame } from "./layout.js";
import { TurnInput } from "./input.js";
import { MountedPages } from "./mounted.js";
import { jump, stopAt } from "./scroll.js";
import { Sides } from "./sides.js";
import { Spreads } from "./spreads.js";

const QUICK = 150; // ms between two turns: faster ones are not animated
const NARROWEST_PAIR = 600; // CSS pixels: the minimum width of a window for two pages
const WORTH_A_PAIR = 2 / 3; // minimum scale of a page in a spread, relative to a single page

export const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

export class Paged {
  static auto = whole;

  /**
   * @param {HTMLElement} stage  the element that holds the pages
   * @param {import("../source.js").Source} source
   * @param {import("../zoom.js").Zoom} zoom
   * @param {import("./standard.js").Hooks} hooks
   */
  constructor(stage, source, zoom, hooks) {
    this.stage = stage;
    this.source = source;
    this.zoom = zoom;
    this.hooks = hooks;
    this.settings = source.facts.viewerSettings;
    this.mounted = new MountedPages(stage, source, hooks);
    this.views = this.mounted.views;
    this.sides = new Sides((side) => this.turn(this.rtl ? -side : side));
    this.input = new TurnInput(this);
    this.status = make("p", { class: "quiet", role: "status" });
    stage.after(...this.sides.elements, this.status);
    this.page = source.facts.start;
    this.turnedAt = -QUICK;
    this.begun = false;
    stage.classList.add("is-live", "is-paged");
    this.layOut();
    this.update();
    this.listen();
    // Before the first display no turn is animated: a URL may open another page directly.
    requestAnimationFrame(() => {
      this.begun = true;
    });
  }

  listen() {
    window.addEventListener("scroll", oncePerFrame(() => this.update()), { passive: true });
    window.addEventListener("resize", oncePerFrame(() => this.zoomed(() => {})));
    this.input.listen(this.stage);
  }

  /** @returns {Record<string, (event: KeyboardEvent) => unknown>} */
  keys() {
    return this.input.keys();
  }

  // Implemented by each mode.

  /** Whether pages are read from right to left. */
  get rtl() {
    return false;
  }

  /** Whether two pages are shown side by side in this window. */
  pairs() {
    return false;
  }

  /**
   * Animate the turn to another spread, if motion is allowed.
   *
   * @param {number} _spread
   * @returns {() => void} called when the new spread is in place
   */
  depart(_spread) {
    return () => {};
  }

  /** Finish running animations immediately. */
  settle() {}

  /**
   * Begin a turn by finger or pointer.
   *
   * @param {1 | -1} direction  of reading
   * @returns {boolean} whether the turn is possible
   */
  dragBegins(direction) {
    this.dragging = direction;
    return true;
  }

  /** @param {number} _pixels */
  dragMoves(_pixels) {}

  /** @param {boolean} done  whether the distance is enough for a turn */
  dragEnds(done) {
    if (done) this.turn(this.dragging);
  }

  // Layout.

  /** Whether to show two pages: the window is wide and each stays nearly as large as it would be alone. */
  pairsFit() {
    const { width, height } = this.frame;
    if (width < NARROWEST_PAIR || width <= height) return false;
    const size = this.usualSize();
    const alone = whole(size, this.roomFor(1));
    return whole(size, this.roomFor(2)) >= alone * WORTH_A_PAIR;
  }

  /** Whether the window has room for two pages. */
  get wide() {
    return this.frame.width >= NARROWEST_PAIR;
  }

  /** Whether the spread is larger than the window, which then scrolls. */
  get isWider() {
    return this.lay.width > this.frame.width;
  }

  get isTaller() {
    return this.lay.height > this.frame.height;
  }

  /** The size that most pages have. */
  usualSize() {
    let before = 0;
    let most = 0;
    let usual = this.source.sizes.of(1);
    for (const { last, size } of this.source.sizes.runs) {
      if (last - before > most) [most, usual] = [last - before, size];
      before = last;
    }
    return usual;
  }

  /**
   * @param {number} pages  side by side
   * @returns {import("../zoom.js").Room} for each
   */
  roomFor(pages) {
    const { width, height, head, above, below, gutter } = this.frame;
    return { width: Math.floor((width - 2 * gutter) / pages), height: height - head - above - below };
  }

  /** Update all positions after a change of page, zoom or window. */
  layOut() {
    this.fitStage();
    // Scroll bars that appear or disappear with the size of the stage change the size of the window.
    const { clientWidth, clientHeight } = document.documentElement;
    if (clientWidth !== this.frame.width || clientHeight !== this.frame.height) this.fitStage();
    this.arrange();
    this.stage.classList.toggle("is-wider", this.isWider);
    this.sides.show(this.lay, this.frame, this.ends());
  }

  fitStage() {
    moveButtons(this.stage);
    this.frame = readFrame(this.stage);
    const double = this.pairs();
    const { coverAlone } = this.settings.page;
    this.room = this.roomFor(double ? 2 : 1);
    this.spreads = new Spreads(this.source.total, { double, coverAlone, rtl: this.rtl });
    this.spread = this.spreads.of(this.page);
    this.lay = this.layOf(this.spread);
    this.stage.style.width = `${this.lay.width}px`;
    this.stage.style.height = `${this.lay.height}px`;
  }

  /** @param {number} spread */
  layOf(spread) {
    return laySpread(this.spreads.slots(spread), (page) => this.boxOf(page), this.frame);
  }

  /** @param {number} page */
  boxOf(page) {
    const size = this.source.sizes.of(page);
    const scale = this.zoom.scale(size, this.room);
    return { width: Math.max(1, Math.round(size.w * scale)), height: Math.max(1, Math.round(size.h * scale)) };
  }

  /** The visible pages, ascending. */
  get shown() {
    return this.spreads.pages(this.spread);
  }

  /** Whether there is nothing to turn to on the left and on the right. */
  ends() {
    const ends = [this.spread <= 0, this.spread >= this.spreads.last];
    return this.rtl ? ends.reverse() : ends;
  }

  /** Mount the visible pages and those beside them, and unmount the rest. */
  arrange() {
    this.source.focus = this.page;
    const spreads = [this.spread, this.spread + 1, this.spread - 1];
    const lays = spreads.map((spread) => this.layOf(spread));
    const focused = document.activeElement?.closest(".page");
    for (const view of this.views.values()) {
      if (view.element === focused && !this.lay.places.has(view.number)) this.stage.focus({ preventScroll: true });
      if (!lays.some(({ places }) => places.has(view.number))) this.mounted.unmount(view);
    }
    for (const lay of lays) for (const page of lay.places.keys()) this.show(page, lay);
    this.mounted.removePlaceholders();
  }

  /**
   * @param {number} page
   * @param {import("./layout.js").Lay} lay  of its spread
   */
  show(page, { places, spine }) {
    const place = places.get(page);
    const pair = places.size > 1;
    this.mounted.mount(page, (view) => view.image.after(make("i", { class: "page-gutter" })));
    const view = this.views.get(page);
    view.put(place);
    view.element.inert = !this.lay.places.has(page);
    view.element.classList.toggle("is-aside", view.element.inert);
    view.element.classList.toggle("is-left", pair && place.left < spine);
    view.element.classList.toggle("is-right", pair && place.left >= spine);
  }

  /** @param {number} covered  pixels at the top of the window that a panel is over, while it is open */
  onCover(covered) {
    this.stage.style.setProperty("--covered", `${covered}px`);
    this.zoomed(() => {});
  }

  // Navigation.

  /** @param {1 | -1} direction  of reading */
  turn(direction) {
    const [page] = this.spreads.pages(this.spread + direction);
    if (page !== undefined) this.open(page);
    return page !== undefined;
  }

  /**
   * Open the spread of a page, from its top.
   *
   * @param {number} page
   */
  open(page) {
    const before = this.spread;
    const number = Math.min(this.source.total, Math.max(1, page));
    const arrive = this.leave(this.spreads.of(number));
    this.page = number;
    this.layOut();
    const { left } = this.lay.places.get(number);
    stopAt(this.isWider ? left - this.frame.gutter : 0, 0);
    arrive();
    this.update();
    if (this.spread !== before) this.announce();
  }

  /**
   * @param {number} spread
   * @returns {() => void}
   */
  leave(spread) {
    if (spread === this.spread) return () => {};
    const now = performance.now();
    const quick = now - this.turnedAt < QUICK;
    this.turnedAt = now;
    this.settle();
    if (quick) {
      this.source.images.hold(QUICK);
      this.source.texts.hold(QUICK);
    }
    return quick || !this.moves ? () => {} : this.depart(spread);
  }

  /** Whether animations are allowed; a scrolled spread does not animate. */
  get moves() {
    return this.begun && !this.isWider && !this.isTaller && !calm.matches;
  }

  /** Announce the page to screen readers. */
  announce() {
    const [first, last] = this.shown;
    this.status.textContent = `${last ? `Pages ${first} and ${last}` : `Page ${first}`} of ${this.source.total}`;
  }

  /**
   * Scroll a page, or an area of it, into view. Nothing moves if the area is already visible.
   *
   * @param {number} page
   * @param {{x: number, y: number, w: number, h: number}} [rect]  fractions of the page
   */
  goTo(page, rect) {
    if (rect && this.lay.places.has(page)) {
      this.page = page;
      this.update();
    } else {
      this.open(page);
    }
    if (rect) this.reveal(this.lay.places.get(this.page), rect);
  }

  goToEnd() {
    this.goTo(this.source.total);
  }

  /**
   * @param {import("../page.js").Place} place  of the page
   * @param {{x: number, y: number, w: number, h: number}} rect
   */
  reveal(place, rect) {
    stopAt(...findScroll(this.frame, place, rect));
  }

  /** Report the position of the reader. */
  update() {
    const percent = this.zoom.percentOf(this.source.sizes.of(this.page), this.room);
    const foremost = findForemost(this.visible());
    this.pages = foremost.length > 0 ? foremost : this.shown;
    const [hasPrevious, hasNext] = [this.spread > 0, this.spread < this.spreads.last];
    this.hooks.onMove({ page: this.pages[0], pages: this.pages, hasPrevious, hasNext, percent });
  }

  /** @returns {import("../place.js").Place} where the reader is */
  place() {
    const { top, height } = this.lay.places.get(this.page);
    return { page: this.page, down: Math.max(0, (window.scrollY + this.frame.head - top) / height) };
  }

  /** @param {import("../place.js").Place} place */
  goToPlace({ page, down }) {
    this.open(page);
    const { top, height } = this.lay.places.get(this.page);
    if (down > 0) stopAt(window.scrollX, top + down * height - this.frame.head);
  }

  /**
   * Change the zoom and keep the point of the document at (x, y) of the window in place.
   *
   * @param {() => void} change
   * @param {number} [x]
   * @param {number} [y]
   */
  zoomed(change, x = this.frame.width / 2, y = (this.frame.height + this.frame.clear) / 2) {
    this.settle();
    const page = this.nearest(window.scrollX + x);
    const was = this.lay.places.get(page);
    const across = (window.scrollX + x - was.left) / was.width;
    const down = (window.scrollY + y - was.top) / was.height;
    change();
    this.layOut();
    const is = this.lay.places.get(page) ?? this.lay.places.get(this.page);
    jump(is.left + across * is.width - x, is.top + down * is.height - y);
    this.update();
  }

  /**
   * The page of the spread at `x` of the stage, or the one closest to it.
   *
   * @param {number} x
   */
  nearest(x) {
    const [left, right] = this.spreads.slots(this.spread);
    return left !== null && (right === null || x < this.lay.spine) ? left : right;
  }

  /**
   * The visible fraction of each page in the window: of the page, or of the window if the page is larger.
   *
   * @returns {Map<number, number>} page to a number above 0 and up to 1
   */
  visible() {
    const { width, height, head } = this.frame;
    const part = (from, size, low, high) =>
      (Math.min(high, from + size) - Math.max(low, from)) / Math.min(size, high - low);
    /** @type {Map<number, number>} */
    const shares = new Map();
    for (const page of this.shown) {
      const place = this.lay.places.get(page);
      const across = part(place.left - window.scrollX, place.width, 0, width);
      const down = part(place.top - window.scrollY, place.height, head, height);
      if (across > 0 && down > 0) shares.set(page, Math.min(1, across) * Math.min(1, down));
    }
    return shares;
  }
}
