/** Presentation: one page at a time on a black screen, in full screen where the browser allows it. Loaded only on use. */

import { icon, make, oncePerFrame } from "./dom.js";
import { PageView } from "./page.js";

const STYLE = new URL("./presentation.css", import.meta.url).href;
const IDLE = 2_500; // ms until the pointer hides
const BACK = 1 / 3; // of the width of a touch screen, where a tap goes back
const SWIPE = 40; // CSS pixels
const SILENCE = 180; // ms that separate two pushes of a wheel

/**
 * @typedef {object} Presented  the Viewer of main.js
 * @property {import("./source.js").Source} source
 * @property {import("./modes/standard.js").Mode} mode
 * @property {import("./sharpness.js").Sharpness} sharpness
 * @property {Presentation | null} presentation
 * @property {(page: number) => void} goTo
 */

/** @param {Presented} viewer */
export async function present(viewer) {
  if (viewer.presentation) return;
  const presentation = new Presentation(viewer);
  viewer.presentation = presentation;
  await Promise.all([loadStyle(), presentation.enterFullscreen()]);
  presentation.open();
}

/** @returns {Promise<void>} */
function loadStyle() {
  if (document.querySelector(`link[href="${STYLE}"]`)) return Promise.resolve();
  const link = make("link", { rel: "stylesheet", href: STYLE });
  return new Promise((resolve) => {
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => resolve());
    document.head.append(link);
  });
}

class Presentation {
  /** @param {Presented} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.source = viewer.source;
    [this.page] = viewer.mode.pages;
    /** The page and its neighbors, which are hidden. @type {Map<number, PageView>} */
    this.views = new Map();
    this.isOwnFullscreen = false;
    this.sheet = make("div", { class: "presentation-sheet" });
    this.status = make("p", { class: "quiet", role: "status" });
    const close = make("button", { class: "tool", type: "button", "aria-label": "Leave the presentation", title: "Leave the presentation (Esc)" }, icon("close"));
    close.addEventListener("click", () => this.element.close());
    this.element = make("dialog", { class: "presentation", "aria-label": "Presentation", tabindex: "-1" }, this.sheet, close, this.status);
    this.control = new AbortController();
  }

  /** Enter full screen; a browser that refuses it shows the presentation in its window. */
  async enterFullscreen() {
    if (document.fullscreenElement || !document.fullscreenEnabled) return;
    try {
      await document.documentElement.requestFullscreen();
      this.isOwnFullscreen = true;
    } catch (error) {
      console.debug("full screen is not available", error);
    }
  }

  open() {
    // Inside main, where what the owner has set for the pages applies.
    this.viewer.mode.stage.parentElement.append(this.element);
    this.element.showModal();
    this.element.focus();
    this.listen();
    this.show(this.page);
    this.wake();
  }

  listen() {
    const { signal } = this.control;
    this.element.addEventListener("close", () => this.end());
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.sheet.addEventListener("click", (event) => this.onClick(event));
    this.sheet.addEventListener("pointerdown", (event) => {
      this.pressed = event;
      this.isSwiping = false;
    });
    this.sheet.addEventListener("pointerup", (event) => this.onRelease(event));
    this.element.addEventListener("wheel", (event) => this.onWheel(event), { passive: true });
    this.element.addEventListener("pointermove", (event) => {
      // Browsers report a resting pointer again when something moves under it.
      if (event.movementX !== 0 || event.movementY !== 0) this.wake();
    });
    window.addEventListener("resize", oncePerFrame(() => this.layOut()), { signal });
    document.addEventListener(
      "fullscreenchange",
      () => {
        if (this.isOwnFullscreen && !document.fullscreenElement) this.element.close();
      },
      { signal },
    );
  }

  /** Show the pointer and the button, for a while. */
  wake() {
    this.element.classList.remove("is-idle");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.element.classList.add("is-idle"), IDLE);
  }

  /** @param {number} wanted */
  show(wanted) {
    const { total } = this.source;
    this.page = Math.min(total, Math.max(1, wanted));
    this.source.focus = this.page;
    // A link on a page that disappears would take the focus with it, and the keys.
    if (document.activeElement?.closest(".page")) this.element.focus();
    const near = [this.page, this.page + 1, this.page - 1].filter((page) => page >= 1 && page <= total);
    for (const [page, view] of this.views) {
      if (near.includes(page)) continue;
      view.drop();
      this.views.delete(page);
    }
    for (const page of near) if (!this.views.has(page)) this.mount(page);
    for (const [page, view] of this.views) view.element.hidden = page !== this.page;
    this.status.textContent = `Page ${this.page} of ${total}`;
    this.layOut();
  }

  /** @param {number} page */
  mount(page) {
    const hooks = { onPage: () => {}, onText: () => {}, onMove: () => {}, onFollow: (target) => this.show(target) };
    const view = new PageView(page, this.source, hooks, null);
    this.views.set(page, view);
    this.sheet.append(view.element);
  }

  layOut() {
    const { clientWidth, clientHeight } = this.element;
    for (const view of this.views.values()) {
      const { w, h } = view.size;
      const scale = Math.min(clientWidth / w, clientHeight / h);
      const [width, height] = [w * scale, h * scale];
      view.put({ left: (clientWidth - width) / 2, top: (clientHeight - height) / 2, width, height });
    }
    this.viewer.sharpness.update(this);
  }

  /** The visible fraction of each page, as of a mode. */
  visible() {
    return new Map([[this.page, 1]]);
  }

  /** @param {1 | -1} direction  of reading */
  turn(direction) {
    this.show(this.page + direction);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isPressing = (event.key === " " || event.key === "Enter") && event.target.closest("a, button");
    if (isPressing) return;
    const right = this.viewer.mode.rtl ? -1 : 1;
    const actions = {
      ArrowRight: () => this.turn(right),
      ArrowLeft: () => this.turn(-right),
      ArrowDown: () => this.turn(1),
      ArrowUp: () => this.turn(-1),
      PageDown: () => this.turn(1),
      PageUp: () => this.turn(-1),
      " ": () => this.turn(event.shiftKey ? -1 : 1),
      Enter: () => this.turn(1),
      Backspace: () => this.turn(-1),
      Home: () => this.show(1),
      End: () => this.show(this.source.total),
      p: () => this.element.close(),
    };
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** @param {PointerEvent} event */
  onClick(event) {
    if (this.isSwiping || event.target.closest("a, button")) return;
    const isBack = event.pointerType === "touch" && event.clientX < this.element.clientWidth * BACK;
    if (event.pointerType === "touch") this.wake();
    this.turn(isBack ? -1 : 1);
  }

  /** @param {PointerEvent} event */
  onRelease(event) {
    if (event.pointerType !== "touch" || this.pressed?.pointerId !== event.pointerId) return;
    const [across, down] = [event.clientX - this.pressed.clientX, event.clientY - this.pressed.clientY];
    if (Math.abs(across) < SWIPE || Math.abs(across) < Math.abs(down)) return;
    this.isSwiping = true;
    this.turn(across < 0 !== this.viewer.mode.rtl ? 1 : -1);
  }

  /** Turn one page for each push of the wheel. @param {WheelEvent} event */
  onWheel(event) {
    const isNew = event.timeStamp - (this.wheeledAt ?? -Infinity) > SILENCE;
    this.wheeledAt = event.timeStamp;
    const delta = event.deltaY || event.deltaX;
    if (isNew && !event.ctrlKey && delta !== 0) this.turn(delta > 0 ? 1 : -1);
  }

  end() {
    const { viewer, page } = this;
    this.control.abort();
    clearTimeout(this.timer);
    for (const view of this.views.values()) view.drop();
    this.element.remove();
    viewer.presentation = null;
    if (!viewer.mode.pages.includes(page)) viewer.goTo(page);
    viewer.sharpness.update(viewer.mode);
    if (this.isOwnFullscreen && document.fullscreenElement) document.exitFullscreen();
  }
}
