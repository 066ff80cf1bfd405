/** Assigns pages to spreads. Spreads are counted from 0. */

export class Spreads {
  /**
   * @param {number} total  pages
   * @param {{double: boolean, coverAlone: boolean, rtl: boolean}} order
   */
  constructor(total, { double, coverAlone, rtl }) {
    this.total = total;
    this.double = double;
    this.rtl = rtl;
    this.step = double ? 2 : 1;
    /** Number of empty positions before page 1. */
    this.skipped = double && coverAlone ? 1 : 0;
    this.last = this.of(total);
  }

  /**
   * @param {number} page
   * @returns {number} the spread that contains it
   */
  of(page) {
    return Math.floor((page - 1 + this.skipped) / this.step);
  }

  /**
   * @param {number} spread
   * @returns {number[]} its pages, ascending; none if the spread does not exist
   */
  pages(spread) {
    return this.slots(spread)
      .filter((page) => page !== null)
      .sort((a, b) => a - b);
  }

  /**
   * @param {number} spread
   * @returns {[number | null, number | null]} the pages to the left and to the right of the spine; for single pages the
   *     spine is the edge that they turn around
   */
  slots(spread) {
    const first = spread * this.step + 1 - this.skipped;
    const pair = (this.double ? [first, first + 1] : [0, first]).map((page) => (page >= 1 && page <= this.total ? page : null));
    return /** @type {[number | null, number | null]} */ (this.rtl ? pair.reverse() : pair);
  }
}
