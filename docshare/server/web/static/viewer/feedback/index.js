/** The feedback that readers can leave, and the owner's hotspots. Only the parts that the facts allow are created. */

import { byId, make } from "../dom.js";
import { Annotating } from "./annotating.js";
import { Annotations } from "./annotations.js";
import { Hotspots } from "./hotspots.js";
import { Panel } from "./panel.js";
import { Receiving } from "./receiving.js";
import { Sheets } from "./sheets.js";
import { Store } from "./store.js";
import { Verdicts } from "./verdicts.js";
import { listenToWords } from "./words.js";

const PHONE = "(max-width: 760px)"; // as in feedback.css

/**
 * @param {any} viewer  the Viewer of main.js; its `mode` is not set yet
 * @returns {import("../parts.js").Part[]}
 */
export function makeFeedback(viewer) {
  const { facts } = viewer;
  const { notes, marks, annotations, receipt } = facts.feedback;
  const sheets = new Sheets();
  const placed = facts.hotspots.length > 0 ? [new Hotspots(facts, sheets)] : [];
  const left = notes || marks || annotations || receipt ? makeParts(viewer, new Store(facts), sheets) : [];
  return [sheets, ...placed, ...left];
}

/**
 * @param {any} viewer
 * @param {Store} store
 * @param {Sheets} sheets
 */
function makeParts(viewer, store, sheets) {
  const { notes, marks, annotations, receipt, owner } = store.allowed;
  const parts = [];
  listenToWords();
  keepTyped();
  if (annotations && !owner) parts.push(new Annotations(store, sheets), new Annotating(store, sheets));
  if (notes || annotations) parts.push(new Panel(store, sheets, wayOf(viewer)));
  if (marks) parts.push(new Verdicts(store, sheets));
  if (receipt) new Receiving(store);
  if (!owner) listKeys(marks, annotations);
  store.load();
  return parts;
}

/** Go to a page from the panel; on a phone the panel would cover that page, so it closes. */
function wayOf(viewer) {
  return (page, rect) => {
    if (matchMedia(PHONE).matches) byId("notes-close").click();
    viewer.mode.goTo(page, rect && { x: rect.x, y: rect.y, w: rect.width, h: rect.height });
  };
}

/** Warn readers who leave the page with unsaved text. */
function keepTyped() {
  window.addEventListener("beforeunload", (event) => {
    const fields = [byId("note-body"), byId("annotation-note")];
    if (fields.some((field) => field?.value.trim())) event.preventDefault();
  });
}

/** Add the keys for feedback to the list of keys. */
function listKeys(marks, annotations) {
  const list = document.querySelector("#help dl");
  const addRow = (words, keys) => {
    list.append(make("dt", {}, words), make("dd", {}, ...keys.map((key) => make("kbd", {}, key))));
  };
  if (marks) addRow("Pick, maybe, reject, no mark", ["1", "2", "3", "X"]);
  if (annotations) addRow("Annotate", ["A"]);
}
