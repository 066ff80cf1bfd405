/** The sidebar: small pictures of the pages and the table of contents. On phones it is a sheet. Loaded only on use. */

import { byId, icon, make } from "../dom.js";
import { Outline } from "./outline.js";
import { Thumbnails } from "./thumbnails.js";

const STYLE = new URL("./sidebar.css", import.meta.url).href;
const AWAY = 12; // CSS pixels between the sidebar and the pages
const SCROLLING_KEYS = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "];

/**
 * @typedef {object} Reading  the Viewer of main.js
 * @property {import("../source.js").Source} source
 * @property {import("../modes/standard.js").Mode} mode
 * @property {import("../parts.js").Part[]} parts
 * @property {(page: number) => void} goTo
 * @property {(page: number) => void} onFollow
 * @property {() => void} present
 */

/** @type {Promise<Sidebar> | null} */
let made = null;

/**
 * Open the sidebar, or close it.
 *
 * @param {Reading} viewer
 */
export async function toggleSidebar(viewer) {
  made ??= loadStyle().then(() => new Sidebar(viewer));
  const sidebar = await made;
  if (sidebar.element.hidden) sidebar.open();
  else sidebar.close();
}

/** @returns {Promise<void>} */
function loadStyle() {
  const link = make("link", { rel: "stylesheet", href: STYLE });
  return new Promise((resolve) => {
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => resolve());
    document.head.append(link);
  });
}

class Sidebar {
  /** @param {Reading} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.button = byId("sidebar-open");
    this.thumbnails = new Thumbnails(viewer.source, (page) => this.choose(() => viewer.goTo(page)));
    /** @type {Outline | null} */
    this.outline = null;
    this.tabs = [makeTab("Pages", "thumbnails"), makeTab("Contents", "outline")];
    this.tablist = make("div", { class: "sidebar-tabs", role: "tablist", "aria-label": "Pages and contents" }, ...this.tabs);
    this.title = make("h2", { class: "sidebar-title" }, "Pages");
    this.body = make("div", { class: "sidebar-body" }, this.thumbnails.element);
    this.element = make(
      "aside",
      { class: "sidebar", id: "sidebar", "aria-label": "Pages and contents", hidden: "" },
      make("header", {}, this.title, this.tablist, ...this.makeTools()),
      this.body,
    );
    this.tablist.hidden = true;
    document.querySelector("main").before(this.element);
    this.button.setAttribute("aria-controls", "sidebar");
    viewer.parts.push(this);
    this.listen();
  }

  /** @returns {HTMLElement[]} */
  makeTools() {
    const present = make("button", { class: "tool sidebar-present", type: "button", "aria-label": "Presentation", title: "Presentation" }, icon("present"));
    const close = make("button", { class: "tool", type: "button", "aria-label": "Close", title: "Close (Esc)" }, icon("close"));
    present.addEventListener("click", () => this.viewer.present());
    close.addEventListener("click", () => this.close());
    return [present, close];
  }

  listen() {
    this.tabs.forEach((tab, index) => {
      tab.addEventListener("click", () => this.select(index));
      tab.addEventListener("keydown", (event) => {
        if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
        event.preventDefault();
        this.select(1 - index);
        this.tabs[1 - index].focus();
      });
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      if (SCROLLING_KEYS.includes(event.key)) event.stopPropagation(); // they scroll the sidebar and turn no page
    });
  }

  open() {
    this.element.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.makeRoom();
    this.shown.show(this.viewer.mode.pages[0], true);
    this.shown.focus();
    if (!this.outline) this.loadOutline();
  }

  close() {
    this.element.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    this.makeRoom();
    this.button.focus({ preventScroll: true });
  }

  /** The part of the sidebar that is shown. */
  get shown() {
    return this.thumbnails.element.hidden ? this.outline : this.thumbnails;
  }

  /** Add the table of contents, if the document has one. */
  async loadOutline() {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      const entries = await this.viewer.source.fetchJson(`outline.json?v=${this.viewer.source.facts.version}`);
      this.outline = new Outline(entries, (page) => this.choose(() => this.viewer.onFollow(page)));
      if (entries.length > 0) this.showTabs();
    } catch (error) {
      console.debug("the table of contents is not available", error);
    } finally {
      this.isLoading = false;
    }
  }

  showTabs() {
    this.body.append(this.outline.element);
    for (const { element } of [this.thumbnails, this.outline]) {
      element.setAttribute("role", "tabpanel");
      element.setAttribute("aria-labelledby", `${element.id}-tab`);
    }
    this.title.hidden = true;
    this.tablist.hidden = false;
    this.select(0, false); // the reader may have moved on in the pictures while it was loading
  }

  /**
   * @param {number} index  of the tab
   * @param {boolean} [isOpened]  scroll to the page that the reader is on
   */
  select(index, isOpened = true) {
    this.tabs.forEach((tab, each) => {
      tab.setAttribute("aria-selected", String(each === index));
      tab.tabIndex = each === index ? 0 : -1;
    });
    this.thumbnails.element.hidden = index !== 0;
    this.outline.element.hidden = index !== 1;
    this.shown.show(this.viewer.mode.pages[0], isOpened);
  }

  /**
   * Go to what the reader has chosen; a sheet would cover it.
   *
   * @param {() => void} go
   */
  choose(go) {
    if (this.isSheet) this.close();
    go();
  }

  get isSheet() {
    return window.matchMedia("(max-width: 760px)").matches;
  }

  /** @param {import("../modes/standard.js").Position} position */
  onMove({ page }) {
    if (this.element.hidden) return;
    this.makeRoom();
    this.shown.show(page);
  }

  /** Move the pages out from under the sidebar, as far as there is room on their other side. */
  makeRoom() {
    const { stage, views, page } = this.viewer.mode;
    const free = (document.documentElement.clientWidth - (views.get(page)?.width ?? 0)) / 2;
    const { hidden, offsetLeft, offsetWidth } = this.element;
    const covered = hidden || this.isSheet ? 0 : offsetLeft + offsetWidth + AWAY - free;
    const shift = Math.round(Math.max(0, Math.min(covered, free - AWAY)));
    stage.style.setProperty("--sidebar-shift", `${shift}px`);
    stage.parentElement.style.overflowX = shift > 0 ? "clip" : ""; // or the window would scroll sideways
  }
}

/**
 * @param {string} name
 * @param {string} controlled  id of its panel
 */
function makeTab(name, controlled) {
  const attributes = { class: "sidebar-tab", type: "button", role: "tab", id: `${controlled}-tab`, "aria-controls": controlled };
  return make("button", attributes, name);
}
