/** The scale of pages: fitted to the window in one of three ways, or a fixed percentage. */

/** @typedef {"auto" | "width" | "page" | "percent"} Mode */
/** @typedef {{width: number, height: number}} Room  CSS pixels that one page may use */

// The maximum width of a page in mode "auto"; pages.css has the same value, so that nothing moves when scripts start.
const COLUMN = 960;
const COLUMN_WIDE = 1200;
export const PIXELS_PER_POINT = 96 / 72;
const LONGEST_SIDE = 16000; // browsers do not draw much larger elements
const LOWEST = 50;
const HIGHEST = 400;
const STEPS = [50, 67, 75, 90, 100, 110, 125, 150, 175, 200, 250, 300, 350, 400];

/** @typedef {(size: import("./sizes.js").Size, room: Room) => number} Auto  CSS pixels per point of a page */

/** Show the whole page at once. @type {Auto} */
export const whole = (size, room) => Math.min(room.width / size.w, room.height / size.h);

/** Fit the width of the window, up to a maximum. @type {Auto} */
export const column = (size, room) => Math.min(room.width, size.w > size.h ? COLUMN_WIDE : COLUMN) / size.w;

export class Zoom {
  /** @param {Auto} auto  how pages are fitted by default */
  constructor(auto) {
    this.auto = auto;
    /** @type {Mode} */
    this.mode = "auto";
    /** The last mode that was not a percentage. @type {Mode} */
    this.fitted = "auto";
    this.percent = 100;
  }

  /**
   * CSS pixels per point of a page.
   *
   * @param {import("./sizes.js").Size} size
   * @param {Room} room
   */
  scale(size, room) {
    return Math.min(this.choose(size, room), LONGEST_SIDE / size.h, LONGEST_SIDE / size.w);
  }

  /**
   * @param {import("./sizes.js").Size} size
   * @param {Room} room
   */
  choose(size, room) {
    switch (this.mode) {
      case "percent":
        return (this.percent / 100) * PIXELS_PER_POINT;
      case "page":
        return whole(size, room);
      case "width":
        return room.width / size.w;
      default:
        return this.auto(size, room);
    }
  }

  /**
   * The scale of a fitted page, in percent.
   *
   * @param {import("./sizes.js").Size} size
   * @param {Room} room
   */
  fittedPercent(size, room) {
    return (this.auto(size, room) / PIXELS_PER_POINT) * 100;
  }

  /**
   * The current scale of a page, in percent.
   *
   * @param {import("./sizes.js").Size} size
   * @param {Room} room
   */
  percentOf(size, room) {
    return (this.scale(size, room) / PIXELS_PER_POINT) * 100;
  }

  /** Whether others have pages of this size too: they are fitted to the window, or at one of the steps. */
  get isUsual() {
    return this.mode !== "percent" || STEPS.includes(this.percent);
  }

  /** @param {string} mode  any but "percent" */
  fit(mode) {
    this.mode = /** @type {Mode} */ (mode);
    this.fitted = this.mode;
  }

  /**
   * Set a fixed scale. On a phone the fitted page can be smaller than the lowest step; then that is the minimum.
   *
   * @param {number} percent
   * @param {number} [floor]
   */
  fix(percent, floor = LOWEST) {
    this.mode = "percent";
    this.percent = Math.min(HIGHEST, Math.max(Math.min(LOWEST, floor), percent));
  }

  /**
   * The next step up or down from the current scale.
   *
   * @param {number} percent  now
   * @param {1 | -1} direction
   */
  static step(percent, direction) {
    const beyond = direction > 0 ? STEPS.find((step) => step > percent + 0.5) : STEPS.findLast((step) => step < percent - 0.5);
    return beyond ?? (direction > 0 ? HIGHEST : LOWEST);
  }
}
