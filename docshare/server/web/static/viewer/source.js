/** The source of pages: URLs, page texts, and the queues that limit concurrent requests. */

import { Queue } from "./queue.js";
import { readPageText } from "./pagetext.js";
import { Sizes } from "./sizes.js";

/** @typedef {import("./pagetext.js").PageText} PageText */

/**
 * @typedef {object} Found  where words occur
 * @property {number} count
 * @property {[number, number][]} pages  [page, hits]
 * @property {[number, number, string, string, string][]} passages  [page, place on it, before, match, after]
 * @property {number} unread  pages that could not be read
 * @property {number | null} next  the page to continue at
 */

export const WIDTHS = [800, 1600];
const IMAGES_AT_ONCE = 4;
const TEXTS_AT_ONCE = 3;
const FIRST_ALONE_MS = 3_000;
const TEXTS_KEPT = 400;
const TRIES = 4;

/** A failed request for a page: `status` is 0 without a response. */
export class PageError extends Error {
  /** @param {number} status */
  constructor(status) {
    super(`page answered ${status}`);
    this.status = status;
  }

  /** Whether the page itself cannot be rendered, so that a retry does not help. */
  get unrenderable() {
    return this.status === 422;
  }

  /** Whether the link has ended or requires access again, or the document was replaced. */
  get outdated() {
    return this.status === 403 || this.status === 404 || this.status === 410;
  }
}

export class Source {
  /** @param {import("./facts.js").Facts} facts */
  constructor(facts) {
    this.facts = facts;
    this.sizes = new Sizes(facts.sizes);
    this.total = this.sizes.total;
    /** Set the current page; the nearest pages load first, those ahead before those behind. */
    this.focus = facts.start;
    const rank = (page) => (page >= this.focus ? page - this.focus : (this.focus - page) * 1.5);
    this.images = new Queue(1, rank);
    this.texts = new Queue(0, rank);
    this.loadFirstAlone();
    /** @type {Map<number, Promise<PageText>>} */
    this.known = new Map();
    /** @type {(error: PageError) => void} */
    this.onOutdated = () => {};
  }

  /** Leave a slow connection to the page that the reader looks at, for a limited time. */
  loadFirstAlone() {
    let tell = () => {};
    /** Resolves when others may be loaded. @type {Promise<void>} */
    this.firstShown = new Promise((resolve) => {
      tell = resolve;
    });
    const end = () => {
      tell();
      clearTimeout(timer);
      this.images.onEnd = () => {};
      this.images.widen(IMAGES_AT_ONCE);
      this.texts.widen(TEXTS_AT_ONCE);
    };
    const timer = setTimeout(end, FIRST_ALONE_MS);
    this.images.onEnd = end;
  }

  /**
   * Wait until the first image is painted: the browser decodes it before that, and other requests would delay it.
   *
   * @param {HTMLImageElement} image  has loaded
   */
  async waitForFirstPaint(image) {
    if (this.images.limit > 1) return;
    await image.decode().catch(() => {});
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  }

  /**
   * @param {number} page
   * @param {number} width  one of WIDTHS
   */
  imageUrl(page, width) {
    return `${this.facts.base}/pages/${page}-${width}.jpg?v=${this.facts.version}`;
  }

  /**
   * @param {number} page
   * @param {string} path  of the tile: "grid/column-row"
   */
  tileUrl(page, path) {
    return `${this.facts.base}/tiles/${page}/${path}.jpg?v=${this.facts.version}`;
  }

  /** @param {number} page */
  srcset(page) {
    return WIDTHS.map((width) => `${this.imageUrl(page, width)} ${width}w`).join(", ");
  }

  /**
   * Find out why an image failed to load, which an image element does not report.
   *
   * @param {number} page
   * @param {AbortSignal} signal
   * @returns {Promise<PageError | null>} null if it can be loaded now
   */
  whyNoImage(page, signal) {
    return this.whyNotLoaded(this.imageUrl(page, WIDTHS[0]), signal);
  }

  /**
   * @param {string} url  of an image
   * @param {AbortSignal} signal
   * @returns {Promise<PageError | null>} null if it can be loaded now
   */
  async whyNotLoaded(url, signal) {
    try {
      const answer = await fetch(url, { signal });
      return answer.ok ? null : this.makeError(answer.status);
    } catch {
      return this.makeError(0);
    }
  }

  /**
   * Return the text of a page, requested once while it is cached. Rejects with a PageError.
   *
   * @param {number} page
   * @returns {Promise<PageText>}
   */
  text(page) {
    let text = this.known.get(page);
    if (text) {
      this.known.delete(page);
    } else {
      text = this.askText(page);
      text.catch(() => this.known.delete(page));
    }
    this.known.set(page, text);
    if (this.known.size > TEXTS_KEPT) this.known.delete(this.known.keys().next().value);
    return text;
  }

  /** @param {number} page */
  askText(page) {
    return new Promise((resolve, reject) => {
      this.texts.add(page, () => this.fetchText(page).then(resolve, reject));
    });
  }

  /** @param {number} page */
  async fetchText(page) {
    return readPageText(await this.fetchJson(`text/${page}.json?v=${this.facts.version}`));
  }

  /**
   * Find words in the pages from `start` on. Rejects with a PageError.
   *
   * @param {string} typed
   * @param {number} start
   * @param {AbortSignal} signal
   * @returns {Promise<Found>}
   */
  find(typed, start, signal) {
    const asked = new URLSearchParams({ q: typed, v: this.facts.version, from: String(start) });
    return this.fetchJson(`search?${asked}`, signal);
  }

  /**
   * Fetch what is below the address of the document, with a few attempts while the server is busy.
   *
   * @param {string} path
   * @param {AbortSignal} [signal]
   */
  async fetchJson(path, signal) {
    for (let attempt = 1; ; attempt += 1) {
      let status = 0;
      try {
        const answer = await fetch(`${this.facts.base}/${path}`, { signal });
        if (answer.ok) return await answer.json();
        status = answer.status;
      } catch {
        // No response: retry as for a busy server.
      }
      if (signal?.aborted || (status > 0 && status < 500) || attempt === TRIES) throw this.makeError(status);
      await pause(attempt);
    }
  }

  /** @param {number} status */
  makeError(status) {
    const error = new PageError(status);
    if (error.outdated) this.onOutdated(error);
    return error;
  }
}

/**
 * Wait before the next attempt: 0.5 s, 1 s, 2 s.
 *
 * @param {number} attempt  the one that failed, from 1
 */
export function pause(attempt) {
  return new Promise((resolve) => setTimeout(resolve, 250 * 2 ** attempt));
}
