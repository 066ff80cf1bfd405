/** The arrows beside the pages, for pointers only: the toolbar has the same buttons for keys and screen readers. */

import { icon, make } from "../dom.js";

const NARROWEST = 44; // CSS pixels

export class Sides {
  /** @param {(side: -1 | 1) => void} turn  called with left or right */
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
    side.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus
    side.addEventListener("click", turn);
    return side;
  }

  /**
   * @param {import("./layout.js").Lay} lay
   * @param {import("./layout.js").Frame} frame
   * @param {boolean[]} ends  whether there is nothing to turn to on each side
   */
  show(lay, frame, ends) {
    const rooms = [lay.left, frame.width - lay.right].map((room) => room - frame.beside);
    this.elements.forEach((side, index) => {
      side.hidden = ends[index] || rooms[index] < NARROWEST;
      side.style.width = `${rooms[index]}px`;
    });
  }
}
