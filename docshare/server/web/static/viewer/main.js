/** Starts the viewer: reads the facts, takes over the pages, and connects the parts. */

import { byId } from "./dom.js";
import { readFacts } from "./facts.js";
import { Find } from "./find.js";
import { listenToGestures } from "./gestures.js";
import { listenToKeys, scrollsSideways } from "./keys.js";
import { Standard } from "./modes/standard.js";
import { makeParts } from "./parts.js";
import { keepPlace } from "./place.js";
import { Source } from "./source.js";
import { watchSelection } from "./text.js";
import { Toolbar } from "./toolbar.js";
import { Zoom } from "./zoom.js";

const SIDEWAYS = 60; // CSS pixels that an arrow key scrolls

class Viewer {
  constructor() {
    this.facts = readFacts();
    this.source = new Source(this.facts);
    this.source.onOutdated = showOutdated;
    this.zoom = new Zoom();
    this.percent = 100;
    this.toolbar = new Toolbar(this, this.source.total);
    /** @type {import("./parts.js").Part[]} */
    this.parts = makeParts(this);
    const stage = byId("pages");
    this.mode = new Standard(stage, this.source, this.zoom, this);
    this.find = new Find(this.source, this.mode);
    this.follow = keepPlace(this.mode, this.facts.start);
    listenToGestures(stage, { percent: () => this.percent, zoomTo: (...wanted) => this.zoomTo(...wanted) });
    listenToKeys(this.keys());
    watchSelection();
  }

  /** @returns {Record<string, () => void>} */
  keys() {
    return {
      ArrowLeft: () => this.turn(-1),
      ArrowRight: () => this.turn(1),
      Home: () => this.mode.goTo(1),
      End: () => this.mode.goToEnd(),
      "+": () => this.zoomStep(1),
      "=": () => this.zoomStep(1),
      "-": () => this.zoomStep(-1),
      0: () => this.zoomChoose("auto"),
      f: () => this.find.open(),
      "/": () => this.find.open(),
      g: () => this.toolbar.focusPage(),
      "?": () => this.toolbar.help(),
    };
  }

  // What the mode tells.

  /** @param {import("./modes/standard.js").Position} position */
  onMove(position) {
    this.percent = position.percent;
    this.toolbar.show(position, this.zoom.mode);
    for (const part of this.parts) part.onMove?.(position);
  }

  /** @param {import("./page.js").PageView} view */
  onPage(view) {
    for (const part of this.parts) part.onPage?.(view);
  }

  /** @param {import("./page.js").PageView} view */
  onText(view) {
    this.find?.paintPage(view);
  }

  /** @param {number} page */
  onFollow(page) {
    this.follow(page);
  }

  // What the reader wants.

  /** @param {number} page */
  goTo(page) {
    this.mode.goTo(page);
  }

  /** @param {1 | -1} direction */
  turn(direction) {
    if (scrollsSideways()) window.scrollBy({ left: direction * SIDEWAYS, behavior: "instant" });
    else this.goTo(this.mode.page + direction);
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
   * @param {number} [x]  of the window, what stays where it is; the middle unless given
   * @param {number} [y]
   */
  zoomTo(percent, x, y) {
    const fitted = new Zoom().percentOf(this.source.sizes.of(this.mode.page), this.mode.room);
    this.mode.zoomed(() => this.zoom.fix(percent, fitted), x, y);
  }

  /** Reading works without being measured. */
  async measure() {
    try {
      const { startReading } = await import("./reading.js");
      startReading({
        token: this.facts.token,
        beaconUrl: this.facts.beaconUrl,
        pages: this.source.total,
        currentPages: () => this.mode.visible(),
      });
    } catch (error) {
      console.debug("reading is not measured", error);
    }
  }
}

function showOutdated() {
  const notice = byId("notice");
  if (!notice.hidden) return;
  notice.hidden = false;
  byId("notice-reload").addEventListener("click", () => location.reload());
}

new Viewer().measure();
