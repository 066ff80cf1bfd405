/** Decides which pages are sharper with tiles than with their images, and loads tiles for them. */

import { WIDTHS } from "./source.js";
import { PIXELS_PER_POINT } from "./zoom.js";

const ALIKE = 0.004; // a level this close to the size of the page needs no scaling

export class Sharpness {
  /**
   * @param {import("./source.js").Source} source
   * @param {import("./zoom.js").Zoom} zoom
   */
  constructor(source, zoom) {
    this.source = source;
    this.zoom = zoom;
    this.isLoading = false;
    /** @type {import("./tiles.js").Tiles | null} */
    this.tiles = null;
  }

  /** @param {import("./modes/standard.js").Mode | import("./modes/paged.js").Paged} mode */
  update(mode) {
    const views = [...mode.visible().keys()].map((page) => mode.views.get(page)).filter((view) => view && this.needsTiles(view));
    this.tiles?.update(views);
    if (views.length > 0 && !this.tiles) this.load(mode);
  }

  /**
   * Whether a page is larger than its images, or has a level of exactly its size: text is visibly blurred even where an
   * image of 800 pixels is scaled to 793. Only a reader who chose a percentage expects that; fitted pages load less.
   *
   * @param {import("./page.js").PageView} view
   */
  needsTiles({ width, size }) {
    const pixels = width * window.devicePixelRatio;
    if (pixels > WIDTHS[1]) return true;
    const percent = (100 * pixels) / size.w / PIXELS_PER_POINT;
    return this.zoom.mode === "percent" && this.source.facts.tiles.levels.some((level) => Math.abs(level / percent - 1) < ALIKE);
  }

  async load(mode) {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      const { Tiles } = await import("./tiles.js");
      this.tiles = new Tiles(this.source);
      this.update(mode);
    } catch (error) {
      console.debug("tiles are not available", error);
      this.isLoading = false;
    }
  }
}
