/** Areas of the pages that open a link or play a recording. */

import { icon, make } from "../dom.js";
import { Player } from "./player.js";
import { put } from "./rect.js";
import { findSpot } from "./spots.js";
import { tap } from "./taps.js";

/**
 * @typedef {{uuid: string, page: number, rect: import("./rect.js").Rect, label: string, url?: string,
 *   audio?: string}} Hotspot  either `url`, the link to open, or `audio`, the URL of the recording
 */

export class Hotspots {
  /**
   * @param {import("../facts.js").Facts} facts
   * @param {import("./sheets.js").Sheets} sheets
   */
  constructor(facts, sheets) {
    this.facts = facts;
    this.sheets = sheets;
    this.player = new Player(() => this.showPlaying());
    /** Width of a page when its dots were placed. @type {WeakMap<import("../page.js").PageView, number>} */
    this.widths = new WeakMap();
  }

  /** @param {import("../page.js").PageView} view */
  onPage(view) {
    const here = this.facts.hotspots.filter(({ page }) => page === view.number);
    if (here.length === 0) return;
    this.sheets.fill(view, "page-hotspots", here.map((hotspot) => this.show(hotspot)).filter(Boolean));
    this.showPlaying();
  }

  /** @param {import("../page.js").PageView} view */
  onText(view) {
    const { offsetWidth: w, offsetHeight: h } = view.element;
    this.widths.set(view, w);
    const texts = view.text.boxes.map((box) => ({ x: box.x * w, y: box.y * h, w: box.w * w, h: box.h * h }));
    for (const element of view.element.querySelectorAll(".hotspot")) {
      const area = { x: element.offsetLeft, y: element.offsetTop, w: element.offsetWidth, h: element.offsetHeight };
      const dot = element.firstElementChild.offsetWidth;
      element.dataset.spot = findSpot(area, texts, { w, h }, dot, element.localName === "button");
    }
  }

  /** Place the dots again after zooming, and stop a recording when its page leaves the screen: its button does too. */
  onMove() {
    for (const view of this.sheets.shown) {
      if (this.widths.has(view) && this.widths.get(view) !== view.element.offsetWidth) this.onText(view);
    }
    const playing = this.facts.hotspots.find(({ audio }) => audio && this.player.plays(audio));
    if (playing && !this.sheets.of(playing.page)) this.player.pause();
  }

  /**
   * @param {Hotspot} hotspot
   * @returns {HTMLElement | null}
   */
  show(hotspot) {
    const element = hotspot.audio ? this.recording(hotspot) : this.link(hotspot);
    if (element) put(element, hotspot.rect);
    return element;
  }

  /** @param {Hotspot} hotspot */
  link(hotspot) {
    if (!URL.canParse(hotspot.url)) return null;
    const url = new URL(hotspot.url);
    if (url.protocol !== "https:") return null;
    const attributes = {
      class: "hotspot",
      href: url.href,
      target: "_blank",
      rel: "noopener noreferrer nofollow",
      title: url.href,
      "aria-label": hotspot.label,
    };
    const anchor = make("a", attributes, dot("open"));
    anchor.addEventListener("click", () => tap(this.facts, hotspot.uuid));
    return anchor;
  }

  /** @param {Hotspot} hotspot */
  recording({ uuid, label, audio }) {
    const button = make("button", { class: "hotspot", type: "button" }, dot("play"));
    button.dataset.audio = audio;
    button.dataset.label = label;
    button.addEventListener("click", () => {
      if (this.player.plays(audio)) {
        this.player.pause();
        return;
      }
      this.player.play(audio);
      tap(this.facts, uuid);
    });
    return button;
  }

  showPlaying() {
    for (const view of this.sheets.shown) {
      for (const button of view.element.querySelectorAll("[data-audio]")) this.showState(button);
    }
  }

  /** @param {HTMLElement} button */
  showState(button) {
    const { audio, label } = button.dataset;
    const plays = this.player.plays(audio);
    const broken = this.player.broken.has(audio);
    const words = broken ? `${label} could not be played. Try again` : `${plays ? "Pause" : "Play"} ${label}`;
    button.setAttribute("aria-label", words);
    button.title = words;
    button.classList.toggle("is-playing", plays);
    button.classList.toggle("is-broken", broken);
    button.replaceChildren(dot(broken ? "again" : plays ? "pause" : "play"));
  }
}

/** @param {string} name  of an icon */
function dot(name) {
  return make("span", { class: "hotspot-dot" }, icon(name));
}
