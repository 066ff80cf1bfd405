/** Searches the whole document. The server finds the pages; the matches on a page are found in its text. */

import { fold } from "./pagetext.js";

/**
 * @typedef {object} Hit
 * @property {number} page
 * @property {number} place  on the page, from 0
 */

/**
 * @typedef {object} Match  of words in the text of a page
 * @property {number} box  index of the box it begins in
 * @property {number} from  first character in that box
 * @property {number} length  in characters of the page's whole text
 */

/**
 * @typedef {object} Passage  a listed hit with its context
 * @property {Hit} hit
 * @property {string} before
 * @property {string} match
 * @property {string} after
 */

const MOST_LISTED = 200;

export class Search {
  /**
   * @param {import("./source.js").Source} source
   * @param {() => void} onNews  more pages were searched, or the search has failed
   */
  constructor(source, onNews) {
    this.source = source;
    this.onNews = onNews;
    this.control = new AbortController();
    this.clear();
  }

  clear() {
    this.control.abort();
    this.control = new AbortController();
    this.words = "";
    this.count = 0;
    this.searched = 0;
    this.unread = 0;
    this.done = true;
    /** @type {import("./source.js").PageError | null} */
    this.error = null;
    /** @type {Map<number, number>} hits of each page with any, in the order of the pages */
    this.counts = new Map();
    /** @type {Passage[]} */
    this.passages = [];
  }

  /** Let the server read the document, which takes longer than searching it. */
  prepare() {
    this.source.find("", 1, this.control.signal).catch(() => {});
  }

  /**
   * Search all pages. A long document needs several requests.
   *
   * @param {string} typed
   */
  async look(typed) {
    this.clear();
    this.words = fold(typed).trim().replace(/ +/g, " ");
    if (!this.words) return;
    this.done = false;
    const { signal } = this.control;
    for (let next = 1; next && !signal.aborted; ) {
      try {
        const answer = await this.source.find(typed, next, signal);
        if (!signal.aborted) this.add(answer);
        next = answer.next;
      } catch (error) {
        if (signal.aborted) return;
        this.error = error;
        this.done = true;
        this.onNews();
        return;
      }
    }
  }

  /** @param {import("./source.js").Found} answer */
  add({ count, pages, passages, unread, next }) {
    this.count += count;
    this.unread += unread;
    this.searched = next ? next - 1 : this.source.total;
    this.done = !next;
    for (const [page, hits] of pages) this.counts.set(page, hits);
    for (const [page, place, before, match, after] of passages.slice(0, MOST_LISTED - this.passages.length)) {
      this.passages.push({ hit: { page, place }, before, match, after });
    }
    this.onNews();
  }

  /**
   * The hit after (or before) one, wrapping around; without one, the first from `page` on.
   *
   * @param {Hit | null} hit
   * @param {1 | -1} direction
   * @param {number} page
   * @returns {Hit | null}
   */
  beside(hit, direction, page) {
    const pages = [...this.counts.keys()];
    if (pages.length === 0) return null;
    if (hit) {
      const place = hit.place + direction;
      if (place >= 0 && place < this.counts.get(hit.page)) return { page: hit.page, place };
    }
    const from = hit ? hit.page + direction : page;
    const target =
      direction > 0
        ? (pages.find((number) => number >= from) ?? pages[0])
        : (pages.findLast((number) => number <= from) ?? pages.at(-1));
    return { page: target, place: direction > 0 ? 0 : this.counts.get(target) - 1 };
  }

  /**
   * The ordinal of a hit, from 1.
   *
   * @param {Hit} hit
   */
  ordinal(hit) {
    let before = 0;
    for (const [page, hits] of this.counts) if (page < hit.page) before += hits;
    return before + hit.place + 1;
  }
}

/**
 * @param {import("./pagetext.js").PageText} text
 * @param {string} words  folded
 * @returns {Match[]}
 */
export function findAll(text, words) {
  const found = [];
  let box = 0;
  for (let at = words ? text.folded.indexOf(words) : -1; at >= 0; at = text.folded.indexOf(words, at + words.length)) {
    while (box + 1 < text.starts.length && text.starts[box + 1] <= at) box += 1;
    found.push({ box, from: at - text.starts[box], length: words.length });
  }
  return found;
}
