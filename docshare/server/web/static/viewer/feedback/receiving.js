/** "I have received this": a form under the toolbar, replaced by a short confirmation after it was sent. */

import { byId, make, setIcon } from "../dom.js";
import { Card } from "./card.js";
import { dateText } from "./dates.js";
import { sendBy } from "./sending.js";

export class Receiving {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    this.button = byId("receipt-open");
    this.form = byId("receipt-form");
    this.name = byId("receipt-name");
    const at = () => this.button.getBoundingClientRect();
    this.card = new Card(byId("receipt"), at, () => this.close(), { hangs: true });
    this.button.addEventListener("click", () => (this.card.isOpen ? this.close() : this.open()));
    byId("receipt-close").addEventListener("click", () => this.close());
    store.onChange(() => this.show());
    if (this.form) sendBy(this.form, () => this.missing(), () => this.send());
  }

  open() {
    this.card.open();
    this.button.setAttribute("aria-expanded", "true");
    const first = this.form && !this.form.hidden ? this.name : byId("receipt-title");
    first.focus({ preventScroll: true });
  }

  close() {
    this.card.close();
    this.button.setAttribute("aria-expanded", "false");
    this.button.focus({ preventScroll: true });
  }

  missing() {
    if (this.name.value.trim()) return "";
    this.name.focus();
    return "Enter your name.";
  }

  async send() {
    await this.store.confirm(this.name.value.trim());
    byId("receipt-title").focus({ preventScroll: true });
  }

  show() {
    const { receipt, name } = this.store;
    if (this.form) this.name.value ||= name;
    if (!receipt) return;
    if (this.form) this.form.hidden = true; // an owner may have confirmed before signing in
    byId("receipt-title").textContent = "Receipt confirmed";
    const when = make("time", { datetime: receipt.confirmedAt }, dateText(receipt.confirmedAt));
    byId("receipt-words").replaceChildren("Received by ", make("bdi", {}, receipt.name), " on ", when, ".");
    const words = `Received on ${dateText(receipt.confirmedAt)}`;
    setIcon(this.button, "received");
    byId("receipt-label").textContent = "Received";
    this.button.setAttribute("aria-label", words);
    this.button.title = words;
    this.button.classList.add("is-done");
    this.card.follow();
  }
}
