/** Paints the hits of a search over a page, at the position of the words in its text layer. */

import { make } from "./dom.js";

/**
 * @param {import("./page.js").PageView} view  with its text loaded
 * @param {import("./search.js").Match[]} hits  on this page
 * @param {import("./search.js").Match | null} current
 */
export function paintHits(view, hits, current) {
  view.element.querySelector(".page-hits")?.remove();
  if (hits.length === 0) return;
  const paper = view.element.getBoundingClientRect();
  const layer = make("div", { class: "page-hits", "aria-hidden": "true" });
  for (const hit of hits) {
    for (const box of rectsOf(view, hit)) {
      const mark = make("i", hit === current ? { class: "is-current" } : {});
      mark.style.left = `${((box.left - paper.left) / paper.width) * 100}%`;
      mark.style.top = `${((box.top - paper.top) / paper.height) * 100}%`;
      mark.style.width = `${(box.width / paper.width) * 100}%`;
      mark.style.height = `${(box.height / paper.height) * 100}%`;
      layer.append(mark);
    }
  }
  view.element.querySelector(".page-text").before(layer);
}

/**
 * @param {import("./page.js").PageView} view
 * @param {import("./search.js").Match} hit
 * @returns {DOMRect[]}
 */
function rectsOf(view, hit) {
  const { boxes, starts } = view.text;
  const begin = starts[hit.box] + hit.from;
  const end = begin + hit.length;
  const rects = [];
  for (let at = hit.box; at < boxes.length && starts[at] < end; at += 1) {
    const range = document.createRange();
    const size = boxes[at].text.length;
    const from = Math.max(0, begin - starts[at]);
    range.setStart(view.runs[at], Math.min(size, from));
    range.setEnd(view.runs[at], Math.min(size, end - starts[at]));
    rects.push(...range.getClientRects());
  }
  return rects.filter((rect) => rect.width > 0);
}
