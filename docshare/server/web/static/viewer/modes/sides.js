/** The arrows beside the pages. The toolbar has the same for keys and screen readers, so these are for pointers only. */

import { icon, make } from "../dom.js";

const NARROWEST = 44; // CSS pixels

export class Sides {
  /** @param {(side: -1 | 1) => void} turn  to the left or to the right */
  constructor(turn) {
    this.elements = [this.make("previous", "side-left", () => turn(-1)), this.make("next", "side-right", () => turn(1))];
  }

  /**
   * @param {string} name  of the icon
   * @param {string} kind
   * @param {() => void} turn
   */
  make(name, kind, turn) {
    const side = make("button", { class: `side ${kind}`, type: "button", tabindex: "-1", "aria-hidden": "true" }, icon(name));
    side.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays where it is
    side.addEventListener("click", turn);
    return side;
  }

  /**
   * @param {import("./board.js").Lay} lay
   * @param {import("./board.js").Frame} frame
   * @param {boolean[]} ends  which of the two lead nowhere
   */
  show(lay, frame, ends) {
    const rooms = [lay.left, frame.width - lay.right];
    this.elements.forEach((side, index) => {
      side.hidden = ends[index] || rooms[index] < NARROWEST;
      side.style.width = `${rooms[index]}px`;
    });
  }
}
