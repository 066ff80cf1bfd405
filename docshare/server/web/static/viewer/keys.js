/** Keys without a modifier. Arrows up and down, page up and down and the space bar are left to the browser. */

/** @param {EventTarget} target */
function typing(target) {
  return target instanceof Element && target.closest("input, select, textarea, dialog") !== null;
}

/**
 * @param {Record<string, () => void>} actions  by `KeyboardEvent.key`
 */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target)) return;
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** Whether the arrows left and right scroll: the pages are wider than the window. */
export function scrollsSideways() {
  const root = document.documentElement;
  return root.scrollWidth > root.clientWidth + 1;
}
