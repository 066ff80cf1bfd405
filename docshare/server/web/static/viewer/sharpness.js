/** Decides which pages are larger than their images, and loads tiles for them. */

import { WIDTHS } from "./source.js";

// A page that is fitted to the window may be a little larger than its image: tiles for every page of every reader with a
// dense screen would cost a lot for what is hardly visible.
const FITTED = 1.25;

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
    const views = [...mode.visible().keys()].map((page) => mode.views.get(page)).filter((view) => view && this.isLarge(view));
    this.tiles?.update(views);
    if (views.length > 0 && !this.tiles) this.load(mode);
  }

  /** @param {import("./page.js").PageView} view */
  isLarge({ width }) {
    const most = this.zoom.mode === "percent" ? WIDTHS[1] : WIDTHS[1] * FITTED;
    return width * window.devicePixelRatio > most;
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
