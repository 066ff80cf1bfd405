/** The magazine: spreads that fill the window, without anything around them. The toolbar appears on input. */

import { Paged } from "./paged.js";
import { hideWhenIdle } from "./autohide.js";

const FADE = 180; // ms

export class Mode extends Paged {
  /** @type {Animation[]} */
  fading = [];

  /** The previously shown pages. @type {import("../page.js").PageView[]} */
  passing = [];

  /** @param {ConstructorParameters<typeof Paged>} parts */
  constructor(...parts) {
    super(...parts);
    hideWhenIdle();
  }

  pairs() {
    return this.pairsFit();
  }

  depart() {
    const old = this.shown;
    return () => {
      this.passing = old.flatMap((page) => this.views.get(page) ?? []);
      this.fading = this.shown.map((page) =>
        this.views.get(page).element.animate({ opacity: [0, 1] }, { duration: FADE, easing: "ease-out" }),
      );
      for (const { element } of this.passing) element.classList.add("is-passing");
      this.fading[0].onfinish = () => this.settle();
    };
  }

  settle() {
    for (const fading of this.fading) fading.cancel();
    for (const { element } of this.passing) element.classList.remove("is-passing");
    this.fading = [];
    this.passing = [];
  }
}
