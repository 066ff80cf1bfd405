/** The feedback on this document that this reader may see. Listeners are called after every change. */

import { Refusal, ask } from "./ask.js";

/** @typedef {import("./rect.js").Rect} Rect */
/**
 * @typedef {{uuid: string, author: string, body: string, page?: number, public: boolean, mine: boolean,
 *   createdAt: string, identity?: string}} Note  without a page it refers to the whole document; `identity`, the
 *   name of its author, is for the owner only
 * @typedef {{uuid: string, page: number, rect: Rect, note: string, createdAt: string}} Annotation
 * @typedef {{name: string, confirmedAt: string}} Receipt
 */

export class Store {
  /** @param {import("../facts.js").Facts} facts */
  constructor({ base, feedback }) {
    this.base = base;
    this.allowed = feedback;
    /** @type {Note[]} */
    this.notes = [];
    /** @type {Annotation[]} */
    this.annotations = [];
    /** Marks as stored by the server; null for a removed one. @type {Map<number, string | null>} */
    this.marks = new Map();
    /** @type {Receipt | null} */
    this.receipt = null;
    /** The name that the reader entered. */
    this.name = "";
    /** @type {"loading" | "loaded" | "failed"} */
    this.state = "loading";
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  /** @param {() => void} listener */
  onChange(listener) {
    this.listeners.push(listener);
  }

  notify() {
    for (const listener of this.listeners) listener();
  }

  /** Load all feedback. Never rejects; `state` has the result. */
  async load() {
    this.state = "loading";
    this.notify();
    try {
      this.take(await ask("GET", `${this.base}/feedback`));
      this.state = "loaded";
    } catch {
      this.state = "failed";
    }
    this.notify();
  }

  /** Keep feedback that the reader has left since the request was sent. */
  take({ name, notes, marks, annotations, receipt }) {
    this.name ||= name ?? "";
    this.notes = merge(notes, this.notes);
    this.annotations = merge(annotations, this.annotations);
    this.marks = new Map([...Object.entries(marks).map(([page, mark]) => [Number(page), mark]), ...this.marks]);
    this.receipt ??= receipt ?? null;
  }

  /** @param {{body: string, author: string, page?: number, public: boolean}} note */
  async addNote(note) {
    const saved = await ask("POST", `${this.base}/notes`, note);
    this.notes = [...this.notes, saved];
    this.name = note.author;
    this.notify();
  }

  /** @param {Note} note */
  async removeNote(note) {
    await this.#remove(`notes/${note.uuid}`);
    this.notes = this.notes.filter((other) => other !== note);
    this.notify();
  }

  /**
   * @param {number} page
   * @param {string | null} mark
   */
  async mark(page, mark) {
    await ask("PUT", `${this.base}/marks/${page}`, { mark });
    this.marks.set(page, mark);
  }

  /** @param {{page: number, rect: Rect, note: string}} annotation */
  async addAnnotation(annotation) {
    const saved = await ask("POST", `${this.base}/annotations`, annotation);
    this.annotations = [...this.annotations, saved];
    this.notify();
  }

  /** @param {Annotation} annotation */
  async removeAnnotation(annotation) {
    await this.#remove(`annotations/${annotation.uuid}`);
    this.annotations = this.annotations.filter((other) => other !== annotation);
    this.notify();
  }

  /** @param {string} name */
  async confirm(name) {
    this.receipt = await ask("POST", `${this.base}/receipt`, { name });
    this.name = name;
    this.notify();
  }

  /**
   * Delete something; succeed if another window has deleted it already.
   *
   * @param {string} path
   */
  async #remove(path) {
    try {
      await ask("DELETE", `${this.base}/${path}`);
    } catch (error) {
      if (!(error instanceof Refusal && error.status === 404)) throw error;
    }
  }

  /**
   * Own annotations of a page, in the order of their numbers.
   *
   * @param {number} page
   */
  annotationsOf(page) {
    return this.annotations.filter((annotation) => annotation.page === page);
  }

  /** @param {number} page */
  notesOf(page) {
    return this.notes.filter((note) => note.page === page);
  }
}

/**
 * @template {{uuid: string}} T
 * @param {T[]} fresh
 * @param {T[]} own
 * @returns {T[]}
 */
function merge(fresh, own) {
  const known = new Set(fresh.map(({ uuid }) => uuid));
  return [...fresh, ...own.filter(({ uuid }) => !known.has(uuid))];
}
