/** Searches the whole document, page by page, as the texts arrive. */

import { fold } from "./pagetext.js";

/**
 * @typedef {object} Hit
 * @property {number} page
 * @property {number} box  index of the box it begins in
 * @property {number} from  first character in that box
 * @property {number} length  in characters of the page's whole text
 */

const MOST = 5000;

export class Search {
  /**
   * @param {import("./source.js").Source} source
   * @param {(search: Search) => void} onNews  more pages were searched
   */
  constructor(source, onNews) {
    this.source = source;
    this.onNews = onNews;
    this.run = 0;
    this.clear();
  }

  clear() {
    this.run += 1;
    this.words = "";
    this.count = 0;
    this.searched = 0;
    this.unread = 0;
    this.done = true;
    /** @type {Map<number, Hit[]>} */
    this.hits = new Map();
  }

  /** Whether there are more hits than the limit. */
  get full() {
    return this.count >= MOST;
  }

  /**
   * Search all pages, beginning at `start`.
   *
   * @param {string} typed
   * @param {number} start
   */
  async look(typed, start) {
    this.clear();
    this.words = fold(typed).trim().replace(/ +/g, " ");
    if (!this.words) return;
    this.done = false;
    const run = this.run;
    const total = this.source.total;
    let next = 0;
    const walk = async () => {
      while (next < total && !this.full && run === this.run) {
        const page = ((start - 1 + next++) % total) + 1;
        await this.lookAt(page, run);
      }
    };
    await Promise.all([walk(), walk(), walk()]);
    if (run !== this.run) return;
    this.done = true;
    this.onNews(this);
  }

  /**
   * @param {number} page
   * @param {number} run
   */
  async lookAt(page, run) {
    let found = [];
    let unread = 0;
    try {
      found = findAll(await this.source.text(page), this.words, page);
    } catch {
      unread = 1;
    }
    if (run !== this.run) return;
    this.searched += 1;
    this.unread += unread;
    this.count += found.length;
    if (found.length > 0) this.hits.set(page, found);
    this.onNews(this);
  }

  /** Pages with hits, in order. */
  pages() {
    return [...this.hits.keys()].sort((a, b) => a - b);
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
    const pages = this.pages();
    if (pages.length === 0) return null;
    if (hit) {
      const same = this.hits.get(hit.page)?.[this.hits.get(hit.page).indexOf(hit) + direction];
      if (same) return same;
    }
    const from = hit ? hit.page + direction : page;
    const target =
      direction > 0
        ? (pages.find((number) => number >= from) ?? pages[0])
        : (pages.findLast((number) => number <= from) ?? pages.at(-1));
    return this.hits.get(target).at(direction > 0 ? 0 : -1);
  }

  /**
   * The ordinal of a hit, from 1.
   *
   * @param {Hit} hit
   */
  place(hit) {
    let before = 0;
    for (const [page, hits] of this.hits) if (page < hit.page) before += hits.length;
    return before + this.hits.get(hit.page).indexOf(hit) + 1;
  }
}

/**
 * @param {import("./pagetext.js").PageText} text
 * @param {string} words  folded
 * @param {number} page
 * @returns {Hit[]}
 */
export function findAll(text, words, page) {
  const hits = [];
  let box = 0;
  for (let at = text.folded.indexOf(words); at >= 0 && hits.length < MOST; at = text.folded.indexOf(words, at + words.length)) {
    while (box + 1 < text.starts.length && text.starts[box + 1] <= at) box += 1;
    hits.push({ page, box, from: at - text.starts[box], length: words.length });
  }
  return hits;
}
