/** Turns pages automatically, until any input or the last page. A button pauses and resumes it. */

import { byId, icon, make, setIcon } from "../dom.js";

const INPUTS = ["pointerdown", "keydown", "wheel", "touchstart"];

export class Autoplay {
  /**
   * @param {import("./paged.js").Paged} mode
   * @param {number} interval  ms per page
   */
  constructor(mode, interval) {
    this.mode = mode;
    this.interval = interval;
    this.button = make("button", { class: "tool", id: "pace", type: "button" }, icon("pause"));
    byId("page-next").after(this.button);
    this.button.addEventListener("click", () => this.press());
    for (const type of INPUTS) {
      window.addEventListener(type, (event) => this.onTouch(event), { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => this.wait());
    this.run(true);
  }

  /** @param {Event} event */
  onTouch(event) {
    const own = event.target instanceof Node && this.button.contains(event.target);
    const pressing = !(event instanceof KeyboardEvent) || event.key === " " || event.key === "Enter";
    if (this.running && event.isTrusted && !(own && pressing)) this.run(false);
  }

  press() {
    if (!this.running && this.atEnd) this.mode.goTo(1);
    this.run(!this.running);
  }

  get atEnd() {
    return this.mode.spread >= this.mode.spreads.last;
  }

  /** @param {boolean} running */
  run(running) {
    this.running = running;
    setIcon(this.button, running ? "pause" : "play");
    this.button.setAttribute("aria-label", running ? "Pause turning pages" : "Turn pages automatically");
    this.button.title = this.button.getAttribute("aria-label");
    this.wait();
  }

  wait() {
    clearTimeout(this.timer);
    if (this.running && document.visibilityState === "visible") this.timer = setTimeout(() => this.next(), this.interval);
  }

  next() {
    // A page that has not loaded cannot be read.
    const here = this.mode.views.get(this.mode.page);
    if (here.element.classList.contains("is-ready")) this.mode.turn(1);
    if (this.atEnd) this.run(false);
    else this.wait();
  }
}
