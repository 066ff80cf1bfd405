/** The table of contents: nested lists of links. Lists below an entry are created when it is opened. */

import { icon, make } from "../dom.js";

const MOST_OPEN = 60; // entries; a longer table of contents begins with its highest level

/**
 * @typedef {object} Entry
 * @property {string} title
 * @property {number | null} page  null for a mere heading
 * @property {Entry | null} parent
 * @property {Entry[]} children
 * @property {HTMLElement} [item]  exists once the list with it was opened
 * @property {HTMLElement} [link]
 * @property {HTMLElement} [list]  of its children
 * @property {HTMLButtonElement} [toggle]
 */

export class Outline {
  /**
   * @param {[number, number | null, string][]} rows  level from 0, page, and title
   * @param {(page: number) => void} follow
   */
  constructor(rows, follow) {
    this.follow = follow;
    this.entries = buildTree(rows);
    this.list = make("ul", { class: "outline-list", role: "list" });
    this.element = make("div", { class: "outline", id: "outline" }, this.list);
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    /** @type {Map<Element, Entry>} */
    this.byRow = new Map();
    const roots = this.entries.filter(({ parent }) => !parent);
    this.list.append(...roots.map((entry) => this.makeItem(entry)));
    const opened = rows.length <= MOST_OPEN ? this.entries : roots.length === 1 ? roots : [];
    for (const entry of opened) if (entry.children.length > 0) this.expand(entry, true);
  }

  /**
   * Mark the section of a page, or the closest entry above it that can be seen.
   *
   * @param {number} page
   * @param {boolean} [isOpened]  scroll in any case
   */
  show(page, isOpened = false) {
    this.page = page;
    let current = null;
    for (const entry of this.entries) {
      if (entry.page !== null && entry.page <= page && entry.page >= (current?.page ?? 1)) current = entry;
    }
    while (current && !isSeen(current)) current = current.parent;
    if (current === this.current && !isOpened) return;
    this.current?.link.removeAttribute("aria-current");
    current?.link.setAttribute("aria-current", "true");
    this.current = current;
    current?.link.scrollIntoView({ block: "nearest" });
  }

  focus() {
    (this.current?.link ?? this.element.querySelector("a"))?.focus({ preventScroll: true });
  }

  /** @param {Entry} entry */
  makeItem(entry) {
    const words = make("bdi", { class: "outline-words" }, entry.title);
    if (entry.page === null) {
      entry.link = make("span", { class: "outline-entry" }, words);
    } else {
      const number = make("span", { class: "outline-page" }, make("span", { class: "quiet" }, ", page "), String(entry.page));
      entry.link = make("a", { class: "outline-entry", href: `#page=${entry.page}` }, words, number);
      entry.link.addEventListener("click", (event) => this.onClick(event, entry.page));
    }
    const row = make("div", { class: "outline-row" }, entry.link);
    this.byRow.set(row, entry);
    if (entry.children.length > 0) row.prepend(this.makeToggle(entry));
    entry.item = make("li", {}, row);
    return entry.item;
  }

  /**
   * @param {MouseEvent} event
   * @param {number} page
   */
  onClick(event, page) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.follow(page);
  }

  /**
   * Up and down move between the entries, left and right close and open them.
   *
   * @param {KeyboardEvent} event
   */
  onKey(event) {
    const entry = this.byRow.get(event.target.closest(".outline-row"));
    if (!entry || event.ctrlKey || event.metaKey || event.altKey) return;
    const seen = this.entries.filter((each) => each.item && isSeen(each));
    const at = seen.indexOf(entry);
    const isOpen = entry.list && !entry.list.hidden;
    const actions = {
      ArrowDown: () => seen[at + 1],
      ArrowUp: () => seen[at - 1],
      Home: () => seen[0],
      End: () => seen.at(-1),
      ArrowRight: () => (isOpen || !entry.toggle ? entry.children[0] : this.expand(entry, true)),
      ArrowLeft: () => (isOpen ? this.expand(entry, false) : entry.parent),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    const next = actions[event.key]();
    if (next) (next.page === null ? next.toggle : next.link).focus();
    this.show(this.page);
  }

  /** @param {Entry} entry */
  makeToggle(entry) {
    const attributes = { class: "outline-toggle", type: "button", "aria-expanded": "false", "aria-label": `Sections of ${entry.title}` };
    entry.toggle = make("button", attributes, icon("next"));
    entry.toggle.addEventListener("click", () => {
      this.expand(entry, entry.toggle.getAttribute("aria-expanded") === "false");
      this.show(this.page);
    });
    return entry.toggle;
  }

  /**
   * @param {Entry} entry
   * @param {boolean} isOpen
   */
  expand(entry, isOpen) {
    if (!entry.list) {
      entry.list = make("ul", { class: "outline-list", role: "list" }, ...entry.children.map((child) => this.makeItem(child)));
      entry.item.append(entry.list);
    }
    entry.list.hidden = !isOpen;
    entry.toggle.setAttribute("aria-expanded", String(isOpen));
  }
}

/**
 * @param {[number, number | null, string][]} rows
 * @returns {Entry[]} all of them, in reading order
 */
function buildTree(rows) {
  /** @type {Entry[]} */
  const above = [];
  return rows.map(([level, page, title]) => {
    above.length = level;
    const parent = above.at(-1) ?? null;
    const entry = { title, page, parent, children: [] };
    parent?.children.push(entry);
    above.push(entry);
    return entry;
  });
}

/** Whether the lists around an entry are open. @param {Entry} entry */
function isSeen({ parent }) {
  for (let above = parent; above; above = above.parent) if (!above.list || above.list.hidden) return false;
  return true;
}
