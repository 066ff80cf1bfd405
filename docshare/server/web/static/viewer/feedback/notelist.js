/** The feedback on the document, page by page: notes, and the reader's own annotations. */

import { byId, icon, make } from "../dom.js";
import { whenText } from "./dates.js";
import { showSuccess, showFailure } from "./words.js";

const WHOLE = 0; // instead of a page number

export class NoteList {
  /**
   * @param {import("./store.js").Store} store
   * @param {(page: number, rect?: import("./rect.js").Rect) => void} goTo
   * @param {() => void} refocus  called when the focused element was removed
   */
  constructor(store, goTo, refocus) {
    this.store = store;
    this.goTo = goTo;
    this.refocus = refocus;
    this.element = byId("notes-list");
    store.onChange(() => this.show());
  }

  show() {
    const { store } = this;
    if (store.state === "loading") return;
    const groups = store.state === "failed" ? [this.failure()] : [];
    const things = this.byPage();
    for (const page of [...things.keys()].sort((a, b) => a - b)) groups.push(this.group(page, things.get(page)));
    const nothing = make("p", { class: "notes-none" }, icon("note"), "No notes yet");
    this.element.replaceChildren(...(groups.length > 0 ? groups : [nothing]));
  }

  /** @returns {Map<number, HTMLElement[]>} */
  byPage() {
    const things = new Map();
    const add = (page, element) => things.set(page, [...(things.get(page) ?? []), element]);
    for (const note of this.store.notes) add(note.page ?? WHOLE, this.note(note));
    const numbers = new Map();
    for (const annotation of this.store.annotations) {
      const number = (numbers.get(annotation.page) ?? 0) + 1;
      numbers.set(annotation.page, number);
      add(annotation.page, this.annotation(annotation, number));
    }
    return things;
  }

  /**
   * @param {number} page
   * @param {HTMLElement[]} items
   */
  group(page, items) {
    const heading = make("h3", {}, page === WHOLE ? "The whole document" : this.way(`Page ${page}`, page));
    const list = make("ul", {}, ...items);
    return make("section", { class: "notes-group", "data-about": String(page) }, heading, list);
  }

  /**
   * @param {string} words
   * @param {number} page
   * @param {import("./rect.js").Rect} [rect]
   */
  way(words, page, rect) {
    const button = make("button", { class: "notes-way", type: "button" }, words);
    button.addEventListener("click", () => this.goTo(page, rect));
    return button;
  }

  /** @param {import("./store.js").Note} note */
  note(note) {
    const author = make("bdi", { class: "note-author" }, note.author);
    const head = make("div", { class: "note-head" }, author, when(note.createdAt));
    const item = make("li", { class: "note" }, head);
    if (note.identity) item.append(make("small", {}, make("bdi", {}, note.identity)));
    item.append(make("p", { dir: "auto" }, note.body));
    if (!note.public) item.append(make("small", {}, icon("eye"), "Only the owner sees this"));
    if (note.mine) head.append(this.remover("note", item, () => this.store.removeNote(note)));
    return item;
  }

  /**
   * @param {import("./store.js").Annotation} annotation
   * @param {number} number
   */
  annotation(annotation, number) {
    const way = this.way(`Annotation ${number}`, annotation.page, annotation.rect);
    const head = make("div", { class: "note-head" }, way, when(annotation.createdAt));
    const item = make("li", { class: "note" }, head, make("p", { dir: "auto" }, annotation.note));
    head.append(this.remover("annotation", item, () => this.store.removeAnnotation(annotation)));
    return item;
  }

  /**
   * @param {string} kind
   * @param {HTMLElement} item
   * @param {() => Promise<void>} remove
   */
  remover(kind, item, remove) {
    const words = { "aria-label": `Delete ${kind}`, title: "Delete" };
    const button = make("button", { class: "tool note-delete", type: "button", ...words }, icon("delete"));
    const run = async () => {
      item.classList.add("is-leaving");
      try {
        await remove();
        this.refocus();
        showSuccess(`Deleted your ${kind}`);
      } catch (refusal) {
        item.classList.remove("is-leaving");
        showFailure(`Your ${kind} could not be deleted.`, refusal, run);
      }
    };
    button.addEventListener("click", run);
    return button;
  }

  failure() {
    const again = make("button", { class: "button", type: "button" }, "Try again");
    again.addEventListener("click", () => this.store.load());
    return make("div", { class: "notes-failed" }, make("p", {}, "Earlier notes could not be loaded."), again);
  }

  /** @param {number} page */
  reveal(page) {
    this.element.querySelector(`[data-about="${page}"]`)?.scrollIntoView({ block: "start" });
  }
}

/** @param {string} instant */
function when(instant) {
  return make("time", { datetime: instant }, whenText(instant));
}
