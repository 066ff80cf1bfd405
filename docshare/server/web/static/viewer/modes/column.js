/**
 * The position of each page of a column. Positions are measured from the top of the whole document. Browsers cannot
 * scroll beyond some ten million pixels, so only a section of a longer column is laid out, which moves with the reader.
 */

/** @typedef {{above: number, below: number, gap: number, gutter: number}} Space  CSS pixels */

const LONGEST = 8_000_000;

export class Column {
  /**
   * @param {import("../sizes.js").Sizes} sizes
   * @param {number} [longest]  CSS pixels
   */
  constructor(sizes, longest = LONGEST) {
    this.sizes = sizes;
    this.longest = longest;
    /** Top of each page; one more entry for the end of the last. Index 0 is unused. */
    this.tops = new Float64Array(sizes.total + 2);
    this.base = 0;
  }

  /**
   * @param {(size: import("../sizes.js").Size) => number} scale  CSS pixels per point
   * @param {Space} space
   * @param {number} clientWidth
   */
  lay(scale, space, clientWidth) {
    this.space = space;
    this.boxes = this.sizes.runs.map(({ last, size }) => {
      const width = Math.max(1, Math.round(size.w * scale(size)));
      return { last, width, height: Math.max(1, Math.round((width * size.h) / size.w)) };
    });
    this.widest = 0;
    let page = 1;
    let top = space.above;
    for (const { last, width, height } of this.boxes) {
      this.widest = Math.max(this.widest, width);
      for (; page <= last; page += 1) {
        this.tops[page] = top;
        top += height + space.gap;
      }
    }
    this.width = Math.max(clientWidth, this.widest + 2 * space.gutter);
    this.tops[page] = top;
    this.whole = top - space.gap + space.below;
    this.extent = Math.min(this.whole, this.longest);
    this.base = this.clamp(this.base);
  }

  /** @param {number} base */
  clamp(base) {
    return Math.round(Math.min(Math.max(0, base), this.whole - this.extent));
  }

  /** Lay out the section around the position `top` (from the top of the whole document). */
  centre(top) {
    if (top < this.base + this.extent / 4 || top > this.base + (this.extent * 3) / 4) {
      this.base = this.clamp(top - this.extent / 2);
    }
  }

  /**
   * Move the section when the reader approaches one of its ends.
   *
   * @param {number} y  of the window on the stage
   * @param {number} height  of the window
   * @returns {number} by how much all elements of the stage moved down
   */
  recentre(y, height) {
    const near = 10 * height;
    const atTop = y < near && this.base > 0;
    const atEnd = y + height > this.extent - near && !this.endsHere;
    if (!atTop && !atEnd) return 0;
    const before = this.base;
    this.base = this.clamp(before + y - this.extent / 2);
    return before - this.base;
  }

  /** Whether the end of the stage is the end of the document. */
  get endsHere() {
    return this.base + this.extent >= this.whole;
  }

  /** Top of a page from the top of the whole document. */
  top(page) {
    return this.tops[page];
  }

  /**
   * @param {number} page
   * @returns {import("../page.js").Place} on the stage
   */
  place(page) {
    const run = this.sizes.runAt(page);
    const { width, height } = this.boxes[run];
    return { left: Math.round((this.width - width) / 2), top: this.tops[page] - this.base, width, height };
  }

  /**
   * The page at height `y` of the stage; the space above a page belongs to it.
   *
   * @param {number} y
   */
  at(y) {
    const wanted = y + this.base;
    let low = 1;
    let high = this.sizes.total;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] - this.space.gap < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
