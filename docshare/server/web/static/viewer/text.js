/** The text layer: selectable text over the page image, with each run stretched to its width in the image. */

import { make } from "./dom.js";

const FAMILY = '"Liberation Sans", Arial, Helvetica, sans-serif'; // as .page-text in pages.css
const FONT_SIZE = 32; // pixels, likewise; larger than the smallest font size that readers set in their browser
const pen = document.createElement("canvas").getContext("2d");
pen.font = `100px ${FAMILY}`;

/**
 * @param {import("./pagetext.js").PageText} text
 * @param {import("./sizes.js").Size} size  of the page, in points
 * @returns {{layer: HTMLElement, runs: Text[]}} `runs[i]` is the text node of box i
 */
export function makeTextLayer(text, size) {
  const layer = make("div", { class: "page-text" });
  const runs = [];
  for (const box of text.boxes) {
    if (box.lead === "\n") layer.append(make("br", { role: "presentation" }));
    const run = document.createTextNode(box.text);
    const span = make("span", {}, run);
    // Some screen readers copy by element, so a space between two words must belong to an element too.
    if (box.lead === " ") span.prepend(document.createTextNode(" "));
    fit(span, box, size);
    layer.append(span);
    runs.push(run);
  }
  layer.append(make("div", { class: "text-rest" }));
  layer.addEventListener("pointerdown", () => layer.classList.add("is-selecting"));
  return { layer, runs };
}

/**
 * Position a span at its box. Lengths are percentages and multiples of --unit, so zooming does not change them. All text
 * has one font size and is scaled, because browsers enlarge text that is smaller than the reader's smallest font size.
 *
 * @param {HTMLElement} span
 * @param {import("./pagetext.js").Box} box
 * @param {import("./sizes.js").Size} size
 */
function fit(span, box, size) {
  const upright = box.angle % 180 === 0;
  const length = upright ? box.w * size.w : box.h * size.h;
  const height = upright ? box.h * size.h : box.w * size.w;
  const natural = (pen.measureText(box.text).width * height) / 100;
  const stretch = natural > 0 ? length / natural : 1;
  const lead = box.lead === " " ? (pen.measureText(" ").width * height * stretch) / 100 : 0;
  const right = box.angle === 90 || box.angle === 180;
  const lower = box.angle === 180 || box.angle === 270;
  const turn = box.angle ? `rotate(${box.angle}deg) ` : "";
  const style = span.style;
  style.left = `${(box.x + (right ? box.w : 0)) * 100}%`;
  style.top = `${(box.y + (lower ? box.h : 0)) * 100}%`;
  const move = `translateX(calc(var(--unit) * ${(-lead).toFixed(3)}px))`;
  const scale = height / FONT_SIZE;
  const [across, down] = [scale * stretch, scale].map((factor) => `calc(var(--unit) * ${factor.toFixed(5)})`);
  style.transform = `${turn}${move} scale(${across}, ${down})`;
}

/**
 * Keep a selection by pointer steady between the lines. Runs are positioned freely, so the browser treats the gaps
 * between them as the start or the end of the whole page. While the pointer selects, an empty element covers the gaps
 * (.text-rest); in the order of the text it is placed where the selection ends.
 */
export function watchSelection() {
  /** @type {Range | null} */
  let before = null;
  const stop = () => {
    before = null;
    for (const layer of document.querySelectorAll(".is-selecting")) layer.classList.remove("is-selecting");
  };
  document.addEventListener("pointerup", stop);
  document.addEventListener("pointercancel", stop);
  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    if (!document.querySelector(".is-selecting") || selection.rangeCount === 0) return;
    const range = selection.getRangeAt(0);
    const backward = before !== null && range.compareBoundaryPoints(Range.START_TO_START, before) !== 0;
    moveRest(backward ? range.startContainer : range.endContainer, backward);
    before = range.cloneRange();
  });
}

/**
 * @param {Node} node  where the selection's moving end is
 * @param {boolean} backward  whether that is its start
 */
function moveRest(node, backward) {
  const run = (node instanceof Element ? node : node.parentElement)?.closest(".page-text > span");
  if (!run) return;
  const layer = run.parentElement;
  layer.classList.add("is-selecting");
  layer.insertBefore(layer.querySelector(".text-rest"), backward ? run : run.nextSibling);
}
