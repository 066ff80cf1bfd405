/** The toolbar: page field, zoom, full screen, help, and the progress line. */

import { byId, icon, make, oncePerFrame, setIcon } from "./dom.js";

const TITLE_WIDTH = 80; // CSS pixels: a title that is cut off earlier says nothing
/** In this order they go to the menu. The others open a panel below their button. */
const FOLDABLE = ["print", "fullscreen", "visit-open", "download"];

/**
 * @typedef {object} Actions
 * @property {(page: number) => void} goTo
 * @property {(direction: 1 | -1) => void} turn
 * @property {(direction: 1 | -1) => void} zoomStep
 * @property {(choice: string) => void} zoomChoose  "auto", "width", "page" or a percentage
 * @property {() => void} openFind
 */

export class Toolbar {
  /**
   * @param {Actions} actions
   * @param {number} total  pages
   */
  constructor(actions, total) {
    this.actions = actions;
    this.total = total;
    this.field = byId("page-number");
    this.level = byId("zoom-level");
    /** The text of the field: the number of the page, or "2-3" for a spread. */
    this.shown = "1";
    this.listen();
    this.listenToFullscreen();
    if ("popover" in HTMLElement.prototype) this.foldTools();
  }

  listen() {
    byId("page-previous").addEventListener("click", () => this.actions.turn(-1));
    byId("page-next").addEventListener("click", () => this.actions.turn(1));
    byId("zoom-out").addEventListener("click", () => this.actions.zoomStep(-1));
    byId("zoom-in").addEventListener("click", () => this.actions.zoomStep(1));
    byId("find-open").addEventListener("click", () => this.actions.openFind());
    byId("help-open").addEventListener("click", () => this.help());
    byId("help-close").addEventListener("click", () => byId("help").close());
    this.level.addEventListener("change", () => this.actions.zoomChoose(this.level.value));
    this.field.addEventListener("focus", () => this.field.select());
    this.field.addEventListener("change", () => this.onEntry());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.field.value = this.shown;
      if (event.key === "Enter" || event.key === "Escape") this.field.blur();
    });
  }

  listenToFullscreen() {
    const button = byId("fullscreen");
    button.hidden = !document.fullscreenEnabled;
    button.addEventListener("click", () => {
      if (document.fullscreenElement) document.exitFullscreen();
      else document.documentElement.requestFullscreen();
    });
    document.addEventListener("fullscreenchange", () => {
      const full = document.fullscreenElement !== null;
      setIcon(button, full ? "shrink" : "grow");
      button.setAttribute("aria-label", full ? "Leave full screen" : "Full screen");
      button.title = button.getAttribute("aria-label");
    });
  }

  /** Where the tools leave no room for the title, move some of them to a menu. */
  foldTools() {
    const menu = make("div", { class: "more", id: "more", popover: "" });
    const attributes = { class: "tool", id: "more-open", type: "button", popovertarget: "more", title: "More tools" };
    const button = make("button", { ...attributes, "aria-label": "More tools" }, icon("more"));
    // Closing first returns the focus to the button, where panels and dialogs return it later.
    menu.addEventListener("click", () => menu.hidePopover(), { capture: true });
    const bar = document.querySelector(".bar-tools");
    const title = document.querySelector(".bar h1");
    const shown = FOLDABLE.map(byId).filter((tool) => tool && !tool.hidden);
    const tools = shown.map((tool) => tool.closest("form") ?? tool); // a button submits the form that it is in
    const homes = tools.map((tool) => {
      const home = document.createComment("");
      tool.before(home);
      return home;
    });
    const lacksRoom = () => title.clientWidth < Math.min(TITLE_WIDTH, title.scrollWidth);
    let width = 0;
    const fold = () => {
      if (width === window.innerWidth) return; // only the height changes when a keyboard opens
      width = window.innerWidth;
      homes.forEach((home, place) => home.after(tools[place]));
      menu.remove();
      button.remove();
      for (const tool of tools) {
        if (!lacksRoom()) return;
        bar.append(button);
        bar.after(menu);
        menu.append(tool);
      }
    };
    fold();
    window.addEventListener("resize", oncePerFrame(fold));
  }

  /** For pages that are read from right to left: the next page is on the left. */
  mirror() {
    const [back, on] = [byId("page-previous"), byId("page-next")];
    back.before(on);
    back.parentElement.append(back);
    setIcon(on, "previous");
    setIcon(back, "next");
    on.title = "Next page (←)";
    back.title = "Previous page (→)";
    byId("progress").classList.add("is-mirrored");
  }

  help() {
    byId("help").showModal();
  }

  focusPage() {
    this.field.focus();
  }

  onEntry() {
    const page = Number(this.field.value.split("-")[0]);
    if (Number.isInteger(page) && page >= 1) this.actions.goTo(page);
    this.field.value = this.shown;
  }

  /**
   * @param {import("./modes/standard.js").Position} position
   * @param {import("./zoom.js").Mode} mode
   */
  show({ pages, hasPrevious, hasNext, percent }, mode) {
    const [first, last] = [pages[0], pages.at(-1)];
    this.shown = first === last ? String(first) : `${first}-${last}`;
    if (document.activeElement !== this.field) this.field.value = this.shown;
    byId("page-previous").disabled = !hasPrevious;
    byId("page-next").disabled = !hasNext;
    byId("progress").style.transform = `scaleX(${this.total > 1 ? (last - 1) / (this.total - 1) : 1})`;
    this.showZoom(Math.round(percent), mode);
  }

  /**
   * Show the choice in the list; a percentage that is not in it gets an entry of its own.
   *
   * @param {number} percent
   * @param {import("./zoom.js").Mode} mode
   */
  showZoom(percent, mode) {
    const wanted = mode === "percent" ? String(percent) : mode;
    const own = this.level.querySelector("[data-own]");
    if (own && own.value !== wanted) own.remove();
    if (![...this.level.options].some((option) => option.value === wanted)) {
      const option = make("option", { value: wanted, "data-own": "" }, `${percent}%`);
      this.level.append(option);
    }
    this.level.value = wanted;
  }
}
