/**
 * Tiles over the visible pages at a high zoom: squares of a grid that is fixed for each level, of which only those in the
 * window are loaded. The image of the whole page stays below them, so a page is first blurred, then sharp.
 */

import { make } from "./dom.js";
import { loadImage } from "./images.js";
import { Queue } from "./queue.js";
import { PIXELS_PER_POINT } from "./zoom.js";

const SETTLED = 150; // ms without movement before tiles are requested
const AT_ONCE = 3;
const NEARLY = 0.97; // a level that is this much smaller than the page is not visibly blurred
const ALIKE = 0.004; // relative difference of sizes up to which the tiles are shown pixel for pixel

/** @typedef {import("./page.js").PageView} PageView */
/** @typedef {{level: number, wide: number, tall: number}} Grid  pixels of the page at that level */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Area  columns and rows, without the last */

export class Tiles {
  /** @param {import("./source.js").Source} source */
  constructor(source) {
    this.source = source;
    this.queue = new Queue(AT_ONCE, (distance) => distance);
    /** @type {Map<PageView, Layer>} */
    this.layers = new Map();
  }

  /**
   * Drop the tiles that are not needed any more, and load those in the window once it has stopped moving.
   *
   * @param {PageView[]} views  visible pages that are larger than their images
   */
  update(views) {
    for (const [view, layer] of this.layers) {
      if (views.includes(view)) layer.cancelHidden();
      else this.remove(view, layer);
    }
    clearTimeout(this.timer);
    if (views.length > 0) this.timer = setTimeout(() => views.forEach((view) => this.load(view)), SETTLED);
  }

  /**
   * @param {PageView} view
   * @param {Layer} layer
   */
  remove(view, layer) {
    layer.drop();
    this.layers.delete(view);
  }

  /** @param {PageView} view */
  load(view) {
    if (view.gone) return;
    if (!this.layers.has(view)) this.layers.set(view, new Layer(view, this.source, this.queue));
    this.layers.get(view).load();
  }
}

/** The tiles of one page. */
class Layer {
  /**
   * @param {PageView} view
   * @param {import("./source.js").Source} source
   * @param {Queue} queue
   */
  constructor(view, source, queue) {
    this.view = view;
    this.source = source;
    this.queue = queue;
    this.element = make("div", { class: "page-tiles", "aria-hidden": "true" });
    /** Requested tiles by path, with the function that cancels the request. @type {Map<string, Tile>} */
    this.tiles = new Map();
    view.image.after(this.element);
  }

  /** @returns {Grid} of the smallest level that is sharp, or of the largest */
  chooseGrid() {
    const needed = this.view.width * window.devicePixelRatio * NEARLY;
    const grids = this.source.facts.tiles.levels.map((level) => this.makeGrid(level));
    return grids.find(({ wide }) => wide >= needed) ?? grids.at(-1);
  }

  /**
   * The server computes the same in docshare/server/rules/tiles.py.
   *
   * @param {number} level
   * @returns {Grid}
   */
  makeGrid(level) {
    const { levels, longest } = this.source.facts.tiles;
    const { w, h } = this.view.size;
    const scale = Math.min((level / 100) * PIXELS_PER_POINT, (longest * level) / levels[0] / Math.max(w, h));
    const wide = Math.max(1, Math.floor(w * scale + 0.5));
    return { level, wide, tall: Math.max(1, Math.floor((wide * h) / w + 0.5)) };
  }

  /**
   * Show tiles pixel for pixel where their level has the size of the page but for a fraction of a pixel: scaling by that
   * fraction would blur them. The size is relative to the page, so that they follow it when the zoom changes.
   *
   * @param {Grid} grid
   */
  fit({ wide, tall }) {
    const { w, h } = this.view.size;
    const width = this.view.width * window.devicePixelRatio;
    const [across, down] = [wide / width, (tall * w) / (width * h)];
    const isExact = Math.max(Math.abs(across - 1), Math.abs(down - 1)) < ALIKE;
    this.element.style.width = `${isExact ? 100 * across : 100}%`;
    this.element.style.height = `${isExact ? 100 * down : 100}%`;
  }

  /**
   * @param {Grid} grid
   * @returns {Area} the tiles in the window
   */
  visibleArea({ wide, tall }) {
    const { side } = this.source.facts.tiles;
    const { left, top, width, height } = this.view.element.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const scale = [wide / width / side, tall / height / side];
    const last = [Math.ceil(wide / side), Math.ceil(tall / side)];
    return {
      left: Math.max(0, Math.floor(-left * scale[0])),
      top: Math.max(0, Math.floor(-top * scale[1])),
      right: Math.min(last[0], Math.ceil((clientWidth - left) * scale[0])),
      bottom: Math.min(last[1], Math.ceil((clientHeight - top) * scale[1])),
    };
  }

  load() {
    if (!this.view.element.classList.contains("is-ready")) {
      this.view.image.addEventListener("load", () => this.load(), { once: true });
      return;
    }
    const grid = this.chooseGrid();
    this.fit(grid);
    const area = this.visibleArea(grid);
    const middle = [(area.left + area.right - 1) / 2, (area.top + area.bottom - 1) / 2];
    for (let row = area.top; row < area.bottom; row += 1) {
      for (let column = area.left; column < area.right; column += 1) {
        const distance = Math.hypot(column - middle[0], row - middle[1]);
        this.request(grid, column, row, distance);
      }
    }
    this.dropDistant(grid, area);
  }

  /**
   * @param {Grid} grid
   * @param {number} column
   * @param {number} row
   * @param {number} distance  from the middle of the window, in tiles
   */
  request(grid, column, row, distance) {
    const path = `${grid.level}/${column}-${row}`;
    if (this.tiles.has(path)) return;
    const tile = new Tile(grid, column, row, this.source.facts.tiles.side);
    this.tiles.set(path, tile);
    tile.cancel = this.queue.add(distance, async (signal) => {
      const address = { src: this.source.tileUrl(this.view.number, path) };
      if (await loadImage(tile.image, address, this.source, signal)) this.show(tile);
    });
  }

  /** @param {Tile} tile */
  show(tile) {
    this.element.append(tile.image);
    tile.isShown = true;
    const tiles = [...this.tiles.values()];
    if (tiles.every(({ isShown, grid }) => isShown || grid.level !== tile.grid.level)) this.dropOtherLevels(tile.grid);
  }

  /** Remove the tiles of other levels, which this level covers now. @param {Grid} grid */
  dropOtherLevels({ level }) {
    for (const [path, { grid }] of this.tiles) if (grid.level !== level) this.dropTile(path);
  }

  /** Cancel the requests for tiles that have left the window. */
  cancelHidden() {
    for (const [path, tile] of this.tiles) {
      if (!tile.isShown && !isWithin(tile, this.visibleArea(tile.grid), 0)) this.dropTile(path);
    }
  }

  /**
   * Free the memory of tiles that are more than one tile away from the window.
   *
   * @param {Grid} grid
   * @param {Area} area
   */
  dropDistant({ level }, area) {
    for (const [path, tile] of this.tiles) {
      if (tile.grid.level === level ? !isWithin(tile, area, 1) : !tile.isShown) this.dropTile(path);
    }
  }

  /** @param {string} path */
  dropTile(path) {
    const tile = this.tiles.get(path);
    tile.cancel();
    tile.image.remove();
    this.tiles.delete(path);
  }

  drop() {
    for (const path of [...this.tiles.keys()]) this.dropTile(path);
    this.element.remove();
  }
}

class Tile {
  /**
   * @param {Grid} grid
   * @param {number} column
   * @param {number} row
   * @param {number} side
   */
  constructor(grid, column, row, side) {
    this.grid = grid;
    this.column = column;
    this.row = row;
    this.isShown = false;
    this.cancel = () => {};
    this.image = make("img", { class: "page-tile", alt: "", draggable: "false" });
    const put = (property, pixels, whole) => {
      this.image.style[property] = `${(100 * pixels) / whole}%`;
    };
    put("left", column * side, grid.wide);
    put("top", row * side, grid.tall);
    put("width", Math.min(side, grid.wide - column * side), grid.wide);
    put("height", Math.min(side, grid.tall - row * side), grid.tall);
  }
}

/**
 * @param {Tile} tile
 * @param {Area} area
 * @param {number} margin  in tiles
 */
function isWithin({ column, row }, { left, top, right, bottom }, margin) {
  return column >= left - margin && column < right + margin && row >= top - margin && row < bottom + margin;
}
