/** Keys without a modifier. Scrolling keys (arrows, page up and down, space) only work in modes that turn pages. */

/** @param {EventTarget} target */
function typing(target) {
  return target instanceof Element && target.closest("input, select, textarea, dialog") !== null;
}

/**
 * @param {Record<string, (event: KeyboardEvent) => unknown>} actions  by `KeyboardEvent.key`; `false` leaves the key to
 *     the browser
 */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target)) return;
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (action && action(event) !== false) event.preventDefault();
  });
}

/** Whether the arrows left and right scroll: the pages are wider than the window. */
export function scrollsSideways() {
  const root = document.documentElement;
  return root.scrollWidth > root.clientWidth + 1;
}
