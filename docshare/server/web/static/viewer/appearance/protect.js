/**
 * Soft deterrents that the owner asked for. They are about pages only and stop nobody who means it; keys, links, forms
 * and screen readers work as ever. What style sheets can do (printing, selecting) is in the file's own one.
 */

const FREE = "a, button, input, textarea, select, [contenteditable]"; // whose menu and text are the reader's

/** @param {{contextMenu: boolean, select: boolean, blurOnLeave: boolean}} wishes */
export function protect({ contextMenu, select, blurOnLeave }) {
  const pages = document.querySelector("main");
  if (contextMenu) pages.addEventListener("contextmenu", refuse);
  if (select) for (const type of ["copy", "cut", "dragstart"]) pages.addEventListener(type, refuse);
  if (blurOnLeave) watchLeaving();
}

/** @param {Event} event */
function refuse(event) {
  if (event.target instanceof Element && event.target.closest(FREE)) return;
  event.preventDefault();
}

/** Inside a frame the page starts without the focus, so only leaving counts and not being away. */
function watchLeaving() {
  const show = (away) => document.documentElement.classList.toggle("is-elsewhere", away);
  window.addEventListener("blur", () => show(true));
  window.addEventListener("focus", () => show(false));
  document.addEventListener("visibilitychange", () => show(document.hidden || !document.hasFocus()));
}
