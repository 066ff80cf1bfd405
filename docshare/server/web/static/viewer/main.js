/** Starts the viewer: reads the facts, takes over the server's pages, and connects the parts. */

import { startAppearance } from "./appearance/index.js";
import { byId } from "./dom.js";
import { readFacts } from "./facts.js";
import { Find } from "./find.js";
import { findForemost } from "./foremost.js";
import { listenToGestures } from "./gestures.js";
import { listenToKeys, scrollsSideways } from "./keys.js";
import { loadParts } from "./parts.js";
import { keepPlace } from "./place.js";
import { listenToPrinting } from "./print.js";
import { Sharpness } from "./sharpness.js";
import { Source } from "./source.js";
import { watchSelection } from "./text.js";
import { Toolbar } from "./toolbar.js";
import { Zoom } from "./zoom.js";

const SIDEWAYS = 60; // CSS pixels that an arrow key scrolls
const CLOSER = 2; // factor of a double tap

class Viewer {
  /**
   * @param {import("./facts.js").Facts} facts
   * @param {typeof import("./modes/standard.js").Mode | typeof import("./modes/paged.js").Paged} Mode
   * @param {(viewer: object) => import("./parts.js").Part[]} makeParts
   */
  constructor(facts, Mode, makeParts) {
    this.facts = facts;
    this.source = new Source(this.facts);
    this.source.onOutdated = showOutdated;
    this.zoom = new Zoom(Mode.auto);
    this.sharpness = new Sharpness(this.source, this.zoom);
    this.percent = 100;
    /** @type {import("./modes/standard.js").Mode | null} */
    this.presentation = null;
    this.toolbar = new Toolbar(this, this.source.total);
    this.parts = makeParts(this);
    const stage = byId("pages");
    this.mode = new Mode(stage, this.source, this.zoom, this);
    this.sharpness.update(this.mode);
    this.find = new Find(this.source, this.mode);
    this.place = keepPlace(this.mode, this.facts.start);
    if (this.mode.rtl) this.toolbar.mirror();
    listenToGestures(stage, {
      percent: () => this.percent,
      zoomTo: (...wanted) => this.zoomTo(...wanted),
      zoomToggle: (x, y) => this.zoomToggle(x, y),
    });
    listenToKeys(this.keys());
    listenToPrinting(this.source, this.mode);
    watchSelection();
    startAppearance(this.facts);
    byId("visit-open").addEventListener("click", () => this.openVisit());
    byId("sidebar-open").addEventListener("click", () => this.toggleSidebar());
    byId("present").addEventListener("click", () => this.present());
  }

  /** @returns {Record<string, (event: KeyboardEvent) => unknown>} */
  keys() {
    return {
      ...this.mode.keys(),
      ArrowLeft: () => this.sideways(-1),
      ArrowRight: () => this.sideways(1),
      Home: () => this.mode.goTo(1),
      End: () => this.mode.goToEnd(),
      "+": () => this.zoomStep(1),
      "=": () => this.zoomStep(1),
      "-": () => this.zoomStep(-1),
      0: () => this.zoomChoose("auto"),
      f: () => this.find.open(),
      "/": () => this.find.open(),
      g: () => this.toolbar.focusPage(),
      p: () => this.present(),
      t: () => this.toggleSidebar(),
      "?": () => this.toolbar.help(),
    };
  }

  // Callbacks of the mode.

  /** @param {import("./modes/standard.js").Position} position */
  onMove(position) {
    this.percent = position.percent;
    this.toolbar.show(position, this.zoom.mode);
    this.place?.saveSoon();
    if (this.mode) this.sharpness.update(this.mode);
    for (const part of this.parts) part.onMove?.(position);
  }

  /** @param {import("./page.js").PageView} view */
  onPage(view) {
    for (const part of this.parts) part.onPage?.(view);
  }

  /** @param {import("./page.js").PageView} view */
  onText(view) {
    this.find?.paintPage(view);
    for (const part of this.parts) part.onText?.(view);
  }

  /** @param {number} page */
  onFollow(page) {
    this.place.follow(page);
  }

  // Actions of the reader.

  /** @param {number} page */
  goTo(page) {
    this.mode.goTo(page);
  }

  /** @param {1 | -1} direction  of reading */
  turn(direction) {
    this.mode.turn(direction);
  }

  /** @param {1 | -1} side  left is -1 */
  sideways(side) {
    if (scrollsSideways()) window.scrollBy({ left: side * SIDEWAYS, behavior: "instant" });
    else this.turn(this.mode.rtl ? -side : side);
  }

  openFind() {
    this.find.open();
  }

  /** @param {1 | -1} direction */
  zoomStep(direction) {
    this.zoomTo(Zoom.step(this.percent, direction));
  }

  /** @param {string} choice  "auto", "width", "page" or a percentage */
  zoomChoose(choice) {
    if (Number(choice)) this.zoomTo(Number(choice));
    else this.mode.zoomed(() => this.zoom.fit(choice));
  }

  /**
   * @param {number} percent
   * @param {number} [x]  the point of the window that stays in place; the center by default
   * @param {number} [y]
   */
  zoomTo(percent, x, y) {
    const fitted = this.zoom.fittedPercent(this.source.sizes.of(this.mode.page), this.mode.room);
    this.mode.zoomed(() => this.zoom.fix(percent, fitted), x, y);
  }

  /**
   * Zoom in at a point of the window, or return to the fitted page.
   *
   * @param {number} x
   * @param {number} y
   */
  zoomToggle(x, y) {
    if (this.zoom.mode === "percent") this.mode.zoomed(() => this.zoom.fit(this.zoom.fitted), x, y);
    else this.zoomTo(this.percent * CLOSER, x, y);
  }

  async openVisit() {
    (await import("./visit.js")).openVisit(this);
  }

  async toggleSidebar() {
    (await import("./sidebar/index.js")).toggleSidebar(this);
  }

  async present() {
    (await import("./presentation.js")).present(this);
  }

  stopMeasuring() {
    this.stopReading?.();
  }

  /** Start measuring, unless the reader has chosen against it; reading works even if that fails. */
  async measure() {
    if (!this.facts.token) return; // the owner's preview
    try {
      if (this.facts.optedOut) {
        (await import("./visit.js")).declineVisit(this.facts);
        return;
      }
      const { startReading } = await import("./reading.js");
      this.stopReading = startReading({
        token: this.facts.token,
        beaconUrl: this.facts.beaconUrl,
        pages: this.source.total,
        currentPages: () => findForemost((this.presentation ?? this.mode).visible()),
      });
    } catch (error) {
      console.debug("reading is not measured", error);
    }
  }
}

/** @type {Record<number, string>} */
const OUTDATED = {
  403: "The requirements of this document have changed. Reload the page.",
  410: "This link has ended.",
};

/** @param {import("./source.js").PageError} error */
function showOutdated({ status }) {
  const notice = byId("notice");
  if (!notice.hidden) return;
  byId("notice-words").textContent = OUTDATED[status] ?? "This document has changed.";
  notice.hidden = false;
  byId("notice-reload").addEventListener("click", () => location.reload());
}

/**
 * Load the page again if a browser shows it from its cache after the reader went back, and its link has ended since.
 * A page that was not kept as it was left has an old token, too.
 *
 * @param {import("./facts.js").Facts} facts
 */
function recheckOnReturn({ base, token }) {
  const [opening] = /** @type {any} */ (performance.getEntriesByType("navigation"));
  if (opening?.type === "back_forward" && opening.transferSize === 0) location.reload();
  window.addEventListener("pageshow", async ({ persisted }) => {
    if (!persisted) return;
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`${base}/visit`, { method: "POST", headers, body: JSON.stringify({ token }) }).catch(() => null);
    if (answer && answer.status >= 400 && answer.status < 500 && answer.status !== 429) location.reload();
  });
}

/** Load only the mode that the owner has chosen, and only the enabled feedback. */
async function start() {
  const facts = readFacts();
  recheckOnReturn(facts);
  try {
    const [{ Mode }, makeParts] = await Promise.all([import(`./modes/${facts.viewerMode}.js`), loadParts(facts)]);
    new Viewer(facts, Mode, makeParts).measure();
  } catch (error) {
    delete byId("pages").dataset.mode; // the pages rendered by the server can be read without scripts
    throw error;
  }
}

start();
