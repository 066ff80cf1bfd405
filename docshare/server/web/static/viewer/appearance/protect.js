/**
 * Soft deterrents enabled by the owner. They apply to pages only and can be bypassed; keys, links, forms and screen
 * readers work as usual. The style sheet of the file handles printing and selecting.
 */

const FREE = "a, button, input, textarea, select, [contenteditable]"; // keep menu and selection

/** @param {{contextMenu: boolean, select: boolean, blurOnLeave: boolean}} protection */
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

/** Inside a frame the page starts without the focus, so only losing the focus counts, not its absence. */
function watchLeaving() {
  const show = (away) => document.documentElement.classList.toggle("is-elsewhere", away);
  window.addEventListener("blur", () => show(true));
  window.addEventListener("focus", () => show(false));
  document.addEventListener("visibilitychange", () => show(document.hidden || !document.hasFocus()));
}
