/** Sizes of all pages, stored as runs of equal pages so that a document of thousands stays small. */

/** @typedef {{w: number, h: number}} Size  in points */

export class Sizes {
  /** @param {[number, number, number][]} runs  [pages, width, height] */
  constructor(runs) {
    /** @type {{last: number, size: Size}[]} */
    this.runs = [];
    let last = 0;
    for (const [count, w, h] of runs) {
      last += count;
      this.runs.push({ last, size: { w, h } });
    }
    this.total = last;
  }

  /**
   * @param {number} page  from 1
   * @returns {Size}
   */
  of(page) {
    return this.runs[this.runAt(page)].size;
  }

  /**
   * @param {number} page
   * @returns {number} index of its run
   */
  runAt(page) {
    let low = 0;
    let high = this.runs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.runs[middle].last < page) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
