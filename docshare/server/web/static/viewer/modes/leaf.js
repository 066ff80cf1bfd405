/**
 * One leaf of a book during its turn. Only copies of the pages are animated; the pages themselves are already in their
 * new position, invisible, with their text, links and focus.
 */

import { make } from "../dom.js";

const LEFT_OUT = ".page-text, .page-links, audio, video, form";

/** @typedef {{element: HTMLElement, left: number, top: number, width: number, height: number}} Face  on the stage */
/** @typedef {{spine: number, faces: [Face | null, Face | null]}} Opening  an open book, its left and its right page */

/**
 * @param {import("../page.js").PageView} view
 * @param {import("../page.js").Place} place
 * @returns {Face}
 */
export function copyFace(view, place) {
  const element = /** @type {HTMLElement} */ (view.element.cloneNode(true));
  for (const part of element.querySelectorAll(LEFT_OUT)) part.remove();
  for (const name of ["data-page", "aria-label", "aria-posinset", "aria-setsize"]) element.removeAttribute(name);
  for (const part of element.querySelectorAll("[id]")) part.removeAttribute("id");
  element.classList.remove("is-aside");
  const image = element.querySelector(".page-image");
  // The image file on the screen is available immediately; a srcset would be evaluated again.
  image.removeAttribute("srcset");
  image.decoding = "sync"; // or the leaf would be blank while the browser decodes the copy
  if (view.image.currentSrc && view.image.complete) image.src = view.image.currentSrc;
  else image.remove();
  return { element, left: place.left, top: place.top, width: place.width, height: place.height };
}

export class Leaf {
  /**
   * @param {HTMLElement} stage
   * @param {Opening} from
   * @param {Opening} to
   * @param {boolean} leftwards  the leaf turns from right to left
   */
  constructor(stage, from, to, leftwards) {
    this.stage = stage;
    this.leftwards = leftwards;
    this.shift = { from: from.spine, to: to.spine };
    const [front, back] = leftwards ? [from.faces[1], to.faces[0]] : [from.faces[0], to.faces[1]];
    const [before, after] = leftwards ? [from.faces[0], to.faces[1]] : [from.faces[1], to.faces[0]];
    const [sideBefore, sideAfter] = leftwards ? ["left", "right"] : ["right", "left"];
    this.lying = this.flat(before, sideBefore, "before");
    this.bared = this.flat(after, sideAfter, "after");
    this.leaf = make("div", { class: "leaf" });
    const paper = front ?? back;
    this.front = this.side(front, paper, sideAfter);
    this.back = this.side(back, paper, sideBefore);
    this.back.classList.add("is-back");
    this.leaf.append(this.back, this.front);
    this.book = make("div", { class: "book" }, ...[this.lying, this.bared].filter(Boolean), this.leaf);
    this.scene = make("div", { class: "book-scene", "aria-hidden": "true" }, this.book);
    this.scene.inert = true;
    stage.append(this.scene);
    stage.classList.add("is-turning");
    this.show(0);
  }

  /**
   * A page that does not move.
   *
   * @param {Face | null} face
   * @param {string} side  of the spine
   * @param {string} name
   */
  flat(face, side, name) {
    return face && this.put(make("div", { class: `face is-${side} is-${name}` }, face.element), face, side);
  }

  /**
   * One side of the leaf; where there is no page, the other side shines through, as through thin paper.
   *
   * @param {Face | null} face
   * @param {Face} paper  the other side
   * @param {string} side  its side before (front) or after (back) the turn
   */
  side(face, paper, side) {
    const element = make("div", { class: `face is-${side}` }, face ? face.element : paper.element.cloneNode(true));
    if (!face) element.classList.add("is-plain");
    return this.put(element, face ?? paper, side);
  }

  /**
   * @param {HTMLElement} element
   * @param {Face} face
   * @param {string} side
   */
  put(element, { top, width, height }, side) {
    element.append(make("i", { class: "face-shade" }));
    element.style.left = `${side === "left" ? -width : 0}px`;
    element.style.top = `${top}px`;
    element.style.width = `${width}px`;
    element.style.height = `${height}px`;
    return element;
  }

  /** @param {number} done  from 0 to 1 */
  show(done) {
    this.done = done;
    const { from, to } = this.shift;
    this.book.style.transform = `translateX(${from + (to - from) * done}px)`;
    this.leaf.style.transform = `rotateY(${180 * done * (this.leftwards ? -1 : 1)}deg)`;
    const lift = Math.sin(Math.PI * done);
    const past = Math.max(0, 2 * done - 1);
    shade(this.front, done);
    shade(this.back, 1 - done);
    shade(this.bared, Math.min(1, lift + 0.2) * (1 - past));
    shade(this.lying, lift * past);
    // A side without a page fades out at the back of the leaf, and fades in at its front.
    for (const side of [this.front, this.back]) {
      if (side.classList.contains("is-plain")) side.style.opacity = String(side === this.back ? 1 - past : Math.min(1, 2 * done));
    }
  }

  /**
   * Animate the rest of the turn, to the end or back.
   *
   * @param {number} end  0 or 1
   * @param {number} duration  ms of a whole turn
   */
  run(end, duration) {
    const begin = this.done;
    const rest = Math.max(1, duration * Math.abs(end - begin));
    // A leaf released by a finger is already moving.
    const ease = begin === 0 ? (t) => t * t * (3 - 2 * t) : (t) => 1 - (1 - t) ** 2;
    let began = 0;
    const step = (now) => {
      began ||= now;
      const passed = Math.min(1, (now - began) / rest);
      this.show(begin + (end - begin) * ease(passed));
      if (passed < 1) this.frame = requestAnimationFrame(step);
      else this.drop();
    };
    this.frame = requestAnimationFrame(step);
  }

  drop() {
    cancelAnimationFrame(this.frame);
    this.scene.remove();
    this.stage.classList.remove("is-turning");
  }
}

/**
 * @param {HTMLElement | null} face
 * @param {number} strength  from 0 to 1
 */
function shade(face, strength) {
  if (face) /** @type {HTMLElement} */ (face.lastElementChild).style.opacity = String(strength);
}
