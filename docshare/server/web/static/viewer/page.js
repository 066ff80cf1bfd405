/** One page on the screen: paper, image, text, links, and the message if it cannot be shown. */

import { icon, make } from "./dom.js";
import { makeLinks } from "./links.js";
import { WIDTHS, pause } from "./source.js";
import { makeTextLayer } from "./text.js";

/** @typedef {{left: number, top: number, width: number, height: number}} Place  CSS pixels */

const TRIES = 4;

export class PageView {
  /**
   * @param {number} number  from 1
   * @param {import("./source.js").Source} source
   * @param {import("./modes/standard.js").Hooks} hooks
   * @param {HTMLElement | null} made  the element rendered by the server for this page, if any
   */
  constructor(number, source, hooks, made) {
    this.number = number;
    this.source = source;
    this.hooks = hooks;
    this.size = source.sizes.of(number);
    this.element = made ?? make("article", { class: "page", "data-page": String(number) });
    this.element.setAttribute("aria-label", `Page ${number} of ${source.total}`);
    this.element.setAttribute("aria-posinset", String(number));
    this.element.setAttribute("aria-setsize", String(source.total));
    this.gone = false;
    /** @type {import("./pagetext.js").PageText | null} */
    this.text = null;
    /** @type {Text[]} */
    this.runs = [];
    this.cancelImage = () => {};
    this.showImage();
    this.showText();
    hooks.onPage(this);
  }

  /** @param {Place} place */
  put({ left, top, width, height }) {
    const style = this.element.style;
    style.left = `${left}px`;
    style.top = `${top}px`;
    style.width = `${width}px`;
    style.height = `${height}px`;
    style.setProperty("--unit", String(width / this.size.w));
    this.width = width;
    if (this.image) this.image.sizes = `${width}px`;
  }

  /** Remove the page and abort its requests. */
  drop() {
    this.gone = true;
    this.cancelImage();
    this.element.remove();
  }

  showImage() {
    const sent = this.element.querySelector("img");
    /** @type {HTMLImageElement} */
    this.image = sent ?? make("img", { class: "page-image is-coming", alt: "", draggable: "false", decoding: "async" });
    if (!sent) this.element.prepend(this.image);
    this.cancelImage = this.source.images.add(this.number, (signal) => this.loadImage(signal));
  }

  /** @param {AbortSignal} signal */
  async loadImage(signal) {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      if (await this.imageArrives(signal)) return this.source.waitForFirstPaint(this.image);
      const error = signal.aborted ? null : await this.source.whyNoImage(this.number, signal);
      if (signal.aborted) return;
      if (error && (error.unrenderable || error.outdated || attempt === TRIES)) {
        this.showTrouble(error);
        return;
      }
      if (attempt === TRIES) return;
      await pause(attempt);
    }
  }

  /**
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>}
   */
  imageArrives(signal) {
    const image = this.image;
    return new Promise((resolve) => {
      const settle = (shown) => {
        if (shown) this.imageShown();
        resolve(shown);
      };
      image.addEventListener("load", () => settle(true), { once: true });
      image.addEventListener("error", () => settle(false), { once: true });
      signal.addEventListener("abort", () => {
        image.removeAttribute("srcset");
        image.removeAttribute("src");
        resolve(false);
      });
      if (image.complete && image.naturalWidth > 0) settle(true);
      else this.ask(image);
    });
  }

  /** @param {HTMLImageElement} image */
  ask(image) {
    // The image in the HTML is loading already, unless it has failed.
    if (image.getAttribute("src") && !image.complete) return;
    image.sizes = `${this.width}px`;
    image.srcset = this.source.srcset(this.number);
    image.src = this.source.imageUrl(this.number, WIDTHS[1]);
  }

  imageShown() {
    this.element.classList.add("is-ready");
    this.image.classList.replace("is-coming", "is-shown");
    this.trouble?.remove();
  }

  /** @param {import("./source.js").PageError} error */
  showTrouble(error) {
    this.element.classList.add("is-ready");
    this.trouble?.remove();
    const words = error.unrenderable
      ? "This page cannot be shown."
      : error.outdated
        ? "This page is no longer available."
        : "This page did not load.";
    this.trouble = make("div", { class: "page-trouble" }, icon("broken"), make("p", {}, words));
    this.image.alt = "";
    if (!error.unrenderable && !error.outdated) {
      const again = make("button", { class: "button", type: "button" }, "Try again");
      again.addEventListener("click", () => this.tryAgain());
      this.trouble.append(again);
    }
    this.element.append(this.trouble);
  }

  tryAgain() {
    this.trouble.remove();
    this.element.classList.remove("is-ready");
    this.cancelImage = this.source.images.add(this.number, (signal) => this.loadImage(signal));
    if (!this.text) this.showText();
  }

  async showText() {
    let text;
    try {
      text = await this.source.text(this.number);
    } catch {
      return; // The image shows the error; a page without text can still be read.
    }
    if (this.gone) return;
    this.text = text;
    const { layer, runs } = makeTextLayer(text, this.size);
    this.runs = runs;
    this.image.alt = text.boxes.length > 0 ? "" : `Page ${this.number}, without readable text`;
    this.element.append(layer);
    if (text.links.length > 0) this.element.append(makeLinks(text.links, this.source.total, (page) => this.hooks.onFollow(page)));
    this.hooks.onText(this);
  }
}
