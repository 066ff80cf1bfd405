/**
 * Starts printing. Only the pages near the reader exist as elements, so Ctrl+P and the button load all pages first;
 * that code is loaded only then. The browser's menu cannot wait: its print begins with a note about missing pages.
 */

import { byId, make } from "./dom.js";

/**
 * @param {import("./source.js").Source} source
 * @param {{views: Map<number, import("./page.js").PageView>}} mode
 */
export function listenToPrinting(source, mode) {
  if (source.facts.viewerSettings.protect.print) return; // the style sheet of the file prints a notice instead
  const printAll = () => loadAndPrint(source);
  byId("print").addEventListener("click", printAll);
  document.addEventListener("keydown", (event) => {
    if (!isPrintKey(event)) return;
    event.preventDefault();
    if (!document.querySelector(".print-dialog")) printAll();
  });
  const note = make("p", { class: "print-missing" });
  document.querySelector("main").before(note);
  window.addEventListener("beforeprint", () => {
    note.textContent = describeMissing(source.total, [...mode.views.values()]);
  });
}

/** @param {KeyboardEvent} event */
function isPrintKey({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  return key.toLowerCase() === "p" && ctrlKey !== metaKey && !altKey && !shiftKey;
}

/** @param {import("./source.js").Source} source */
async function loadAndPrint(source) {
  let sheets;
  try {
    sheets = await import("./sheets.js");
  } catch (error) {
    console.debug("only the loaded pages are printed", error);
    window.print();
    return;
  }
  sheets.printPages(source);
}

/**
 * @param {number} total  pages
 * @param {import("./page.js").PageView[]} views  the mounted pages
 * @returns {string} nothing if all pages are loaded
 */
function describeMissing(total, views) {
  const loaded = views.filter((view) => view.element.classList.contains("is-ready")).map((view) => view.number);
  if (loaded.length === total) return "";
  const isOne = loaded.length === 1;
  const pages = isOne ? `page ${loaded[0]}` : listRanges(loaded.sort((a, b) => a - b));
  return `Incomplete: only ${pages} of ${total} ${isOne ? "is" : "are"} printed. To print all pages, choose Print in the toolbar of the document.`;
}

/**
 * @param {number[]} pages  ascending
 * @returns {string} such as "pages 1-4, 7"
 */
function listRanges(pages) {
  /** @type {[number, number][]} */
  const ranges = [];
  for (const page of pages) {
    const range = ranges.at(-1);
    if (range && range[1] === page - 1) range[1] = page;
    else ranges.push([page, page]);
  }
  return `pages ${ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(", ")}`;
}
