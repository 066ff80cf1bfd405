/** The form for a new note. */

import { byId } from "../dom.js";
import { sendBy } from "./sending.js";
import { showSuccess } from "./words.js";

export class NoteForm {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    this.form = byId("note-form");
    this.body = byId("note-body");
    this.author = byId("note-author");
    /** The page that the note will refer to. */
    this.page = 1;
    /** The page the reader is on. */
    this.current = 1;
    sendBy(this.form, () => this.missing(), () => this.send());
    this.form.elements.about[0].addEventListener("click", () => this.about(this.current));
    store.onChange(() => {
      this.author.value ||= store.name;
    });
  }

  /**
   * Once text is entered, the note keeps the page it was started for.
   *
   * @param {number} page
   */
  showPage(page) {
    this.current = page;
    if (!this.body.value.trim()) this.about(page);
  }

  /** @param {number} page */
  about(page) {
    this.page = page;
    byId("note-page").textContent = `Page ${page}`;
  }

  missing() {
    const empty = [this.body, this.author].find((field) => !field.value.trim());
    empty?.focus();
    if (!empty) return "";
    return empty === this.body ? "Write something first." : "Enter your name, so that the owner knows who wrote it.";
  }

  async send() {
    const { about, seen } = this.form.elements;
    const typed = this.body.value;
    const anchor = about.value === "page" ? { page: this.page } : {};
    const seenByAll = seen?.value === "everybody";
    await this.store.addNote({
      body: typed.trim(),
      author: this.author.value.trim(),
      ...anchor,
      public: seenByAll,
    });
    if (this.body.value === typed) this.body.value = "";
    this.showPage(this.current);
    this.body.focus();
    showSuccess("Note saved");
  }
}
