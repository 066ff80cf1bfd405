/** Where pages come from: addresses, page texts, and the queues that keep loading within bounds. */

import { Queue } from "./queue.js";
import { readPageText } from "./pagetext.js";
import { Sizes } from "./sizes.js";

/** @typedef {import("./pagetext.js").PageText} PageText */

export const WIDTHS = [800, 1600];
const IMAGES_AT_ONCE = 4;
const TEXTS_AT_ONCE = 3;
const TEXTS_KEPT = 400;
const TRIES = 4;

/** The server's answer to a request for a page: `status` is 0 when nobody answered. */
export class PageError extends Error {
  /** @param {number} status */
  constructor(status) {
    super(`page answered ${status}`);
    this.status = status;
  }

  /** The page itself is at fault; asking again helps nobody. */
  get unrenderable() {
    return this.status === 422;
  }

  /** The link has ended, asks for something again, or the document was replaced. */
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
    /** The page the reader is on; what is nearest to it loads first, ahead before behind. */
    this.focus = facts.start;
    const rank = (page) => (page >= this.focus ? page - this.focus : (this.focus - page) * 1.5);
    this.images = new Queue(IMAGES_AT_ONCE, rank);
    this.texts = new Queue(TEXTS_AT_ONCE, rank);
    /** @type {Map<number, Promise<PageText>>} */
    this.known = new Map();
    /** @type {(error: PageError) => void} */
    this.onOutdated = () => {};
  }

  /**
   * @param {number} page
   * @param {number} width  one of WIDTHS
   */
  imageUrl(page, width) {
    return `${this.facts.base}/pages/${page}-${width}.jpg?v=${this.facts.version}`;
  }

  /** @param {number} page */
  srcset(page) {
    return WIDTHS.map((width) => `${this.imageUrl(page, width)} ${width}w`).join(", ");
  }

  /**
   * Why an image did not come: an image element does not say.
   *
   * @param {number} page
   * @param {AbortSignal} signal
   * @returns {Promise<PageError | null>} null if it would come now
   */
  async whyNoImage(page, signal) {
    try {
      const answer = await fetch(this.imageUrl(page, WIDTHS[0]), { signal });
      return answer.ok ? null : this.failed(answer.status);
    } catch {
      return this.failed(0);
    }
  }

  /**
   * The text of a page, asked for once while it is remembered. Rejects with a PageError.
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
    for (let attempt = 1; ; attempt += 1) {
      let status = 0;
      try {
        const answer = await fetch(`${this.facts.base}/text/${page}.json?v=${this.facts.version}`);
        if (answer.ok) return readPageText(await answer.json());
        status = answer.status;
      } catch {
        // Nobody answered: try again as for a busy server.
      }
      if ((status > 0 && status < 500) || attempt === TRIES) throw this.failed(status);
      await pause(attempt);
    }
  }

  /** @param {number} status */
  failed(status) {
    const error = new PageError(status);
    if (error.outdated) this.onOutdated(error);
    return error;
  }
}

/**
 * Wait before the next try: 0.5 s, 1 s, 2 s.
 *
 * @param {number} attempt  the one that failed, from 1
 */
export function pause(attempt) {
  return new Promise((resolve) => setTimeout(resolve, 250 * 2 ** attempt));
}
