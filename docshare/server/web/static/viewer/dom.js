/** Small helpers for creating elements; text is always set as text, never as markup. */

const SVG = "http://www.w3.org/2000/svg";
const SPRITE = new URL("../icons.svg", import.meta.url).href;

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 * @returns {any} an element of that kind
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** @param {string} name  of a symbol in icons.svg */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${SPRITE}#${name}`);
  svg.append(use);
  return svg;
}

/**
 * Show another icon in a button rendered by the server.
 *
 * @param {Element} button
 * @param {string} name
 */
export function setIcon(button, name) {
  button.querySelector("use").setAttribute("href", `${SPRITE}#${name}`);
}

/**
 * @param {string} id
 * @returns {any} the element of the template, of any type
 */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Return a number with its noun: "1 page", "2 pages".
 *
 * @param {number} count
 * @param {string} noun  in the singular
 */
export function formatPlural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Combine all calls within one frame into one.
 *
 * @param {() => void} run
 */
export function oncePerFrame(run) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      run();
    });
  };
}

/** Whether the browser's own pinch zoom is in use. */
export function isMagnified() {
  return (window.visualViewport?.scale ?? 1) > 1.01;
}

/**
 * Return whether a pointer or key belongs to a control, or to a tool of the reader.
 *
 * @param {EventTarget} target
 */
export function isBusy(target) {
  const interactive = "a, button, input, select, textarea, label, summary, audio, video, form, [data-part]";
  return document.body.dataset.tool !== undefined || (target instanceof Element && target.closest(interactive) !== null);
}
