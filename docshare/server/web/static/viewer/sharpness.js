/** Decides which pages are sharper with tiles than with their images, and loads tiles for them. */

import { WIDTHS } from "./source.js";

const SMALLEST = 320; // CSS pixels: the text of a smaller page is not read

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
   * Whether a page is larger than its images, or has tiles of exactly its size: text is visibly blurred even where an
   * image of 800 pixels is scaled to 793. Readers who save data see that only if they have chosen a percentage.
   *
   * @param {import("./page.js").PageView} view
   */
  needsTiles({ width }) {
    if (width * window.devicePixelRatio > WIDTHS[1]) return true;
    const isSaving = this.zoom.mode !== "percent" && navigator.connection?.saveData;
    return this.zoom.isUsual && width >= SMALLEST && !isSaving;
  }

  async load(mode) {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      await this.source.firstShown;
      const { Tiles } = await import("./tiles.js");
      this.tiles = new Tiles(this.source, this.zoom);
      this.update(mode);
    } catch (error) {
      console.debug("tiles are not available", error);
      this.isLoading = false;
    }
  }
}
