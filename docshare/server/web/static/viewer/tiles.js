/**
 * Tiles over the visible pages: squares of a grid over the page, of which only those in the window are loaded. The image
 * of the whole page stays below them, so a page is first blurred, then sharp.
 *
 * A page of a usual size has tiles of exactly that size, which the browser does not scale. While two fingers zoom, the
 * size can be any, so tiles of the next of a few levels are scaled down; the server has rendered these more often.
 */

import { make } from "./dom.js";
import { loadImage } from "./images.js";
import { Queue } from "./queue.js";
import { PIXELS_PER_POINT } from "./zoom.js";

const SETTLED = 150; // ms without movement before tiles are requested
const AT_ONCE = 3;
const NEARLY = 0.97; // a level that is this much smaller than the page is not visibly blurred
const ALIKE = 0.004; // relative difference of sizes up to which the tiles are shown pixel for pixel
const ROUNDING = 0.002; // CSS pixels

/** @typedef {import("./page.js").PageView} PageView */
/** @typedef {{name: string, side: number, wide: number, tall: number}} Grid  sides of a tile and of the page in pixels */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Area  columns and rows, without the last */

export class Tiles {
  /**
   * @param {import("./source.js").Source} source
   * @param {import("./zoom.js").Zoom} zoom
   */
  constructor(source, zoom) {
    this.source = source;
    this.zoom = zoom;
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
    if (!this.layers.has(view)) this.layers.set(view, new Layer(view, this.source, this.zoom, this.queue));
    this.layers.get(view).load();
  }
}

/** The tiles of one page. */
class Layer {
  /**
   * @param {PageView} view
   * @param {import("./source.js").Source} source
   * @param {import("./zoom.js").Zoom} zoom
   * @param {Queue} queue
   */
  constructor(view, source, zoom, queue) {
    this.view = view;
    this.source = source;
    this.zoom = zoom;
    this.queue = queue;
    this.element = make("div", { class: "page-tiles", "aria-hidden": "true" });
    /** Requested tiles by path, with the function that cancels the request. @type {Map<string, Tile>} */
    this.tiles = new Map();
    view.image.after(this.element);
  }

  /** @returns {Grid} of exactly the size of the page, or of the smallest level that is sharp, or of the largest */
  chooseGrid() {
    const needed = this.view.width * window.devicePixelRatio;
    const grids = this.source.facts.tiles.levels.map((level) => this.makeLevel(level));
    const exact = Math.round(needed);
    if (this.zoom.isUsual && exact <= grids.at(-1).wide) return this.makeGrid(`${exact}w`, exact);
    return grids.find(({ wide }) => wide >= needed * NEARLY) ?? grids.at(-1);
  }

  /**
   * The server computes the same in docshare/server/rules/tiles.py.
   *
   * @param {number} level
   * @returns {Grid}
   */
  makeLevel(level) {
    const { levels, longest } = this.source.facts.tiles;
    const { w, h } = this.view.size;
    const scale = Math.min((level / 100) * PIXELS_PER_POINT, (longest * level) / levels[0] / Math.max(w, h));
    return this.makeGrid(String(level), Math.max(1, Math.floor(w * scale + 0.5)));
  }

  /**
   * @param {string} name
   * @param {number} wide
   * @returns {Grid}
   */
  makeGrid(name, wide) {
    const { side, large } = this.source.facts.tiles;
    const { w, h } = this.view.size;
    return { name, side: wide <= large ? large : side, wide, tall: Math.max(1, Math.floor((wide * h) / w + 0.5)) };
  }

  /**
   * Show tiles pixel for pixel where their grid has the size of the page but for a fraction of a pixel: scaling by that
   * fraction, or moving by a part of a pixel, would blur them.
   *
   * @param {Grid} grid
   */
  fit({ wide }) {
    const density = window.devicePixelRatio;
    const fit = wide / (this.view.width * density);
    const isExact = Math.abs(fit - 1) < ALIKE;
    const place = this.view.element.getBoundingClientRect();
    const align = (start) => `${isExact ? (Math.round(start * density) - start * density) / density : 0}px`;
    this.element.style.setProperty("--fit", String(isExact ? fit : 1));
    this.element.style.left = align(place.left);
    this.element.style.top = align(place.top);
  }

  /**
   * @param {Grid} grid
   * @returns {Area} the tiles in the window
   */
  visibleArea({ side, wide, tall }) {
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
    const path = `${grid.name}/${column}-${row}`;
    if (this.tiles.has(path)) return;
    const tile = new Tile(grid, column, row, this.view.size);
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
    if (tiles.every(({ isShown, grid }) => isShown || grid.name !== tile.grid.name)) this.dropOtherGrids(tile.grid);
  }

  /** Remove the tiles of other grids, which this grid covers now. @param {Grid} grid */
  dropOtherGrids({ name }) {
    for (const [path, { grid }] of this.tiles) if (grid.name !== name) this.dropTile(path);
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
  dropDistant({ name }, area) {
    for (const [path, tile] of this.tiles) {
      if (tile.grid.name === name ? !isWithin(tile, area, 1) : !tile.isShown) this.dropTile(path);
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
   * @param {import("./sizes.js").Size} size  of the page, in points
   */
  constructor(grid, column, row, size) {
    this.grid = grid;
    this.column = column;
    this.row = row;
    this.isShown = false;
    this.cancel = () => {};
    this.image = make("img", { class: "page-tile", alt: "", draggable: "false" });
    // Relative to the page, so that they follow it when the zoom changes. Browsers round such lengths down.
    const put = (property, pixels) => {
      this.image.style[property] = `calc(var(--unit) * var(--fit) * ${(pixels * size.w) / grid.wide}px + ${ROUNDING}px)`;
    };
    const { side } = grid;
    put("left", column * side);
    put("top", row * side);
    put("width", Math.min(side, grid.wide - column * side));
    put("height", Math.min(side, grid.tall - row * side));
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
