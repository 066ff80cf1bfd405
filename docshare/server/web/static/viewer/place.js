/**
 * Remembers where the reader is in the entry of the window's history, so that reloading, going back, and returning from
 * a link inside the document lead to the same place. Browsers cannot do this alone: most pages do not exist yet then.
 */

import { pageOfHash } from "./links.js";

const SETTLED = 250; // ms without moving

/**
 * @typedef {object} Place
 * @property {number} page
 * @property {number} down  how much of the page is above the window, as a fraction of its height
 */

/**
 * @param {import("./modes/standard.js").Mode} mode
 * @param {number} start  page to open when nothing is remembered
 * @returns {{follow: (page: number) => void, moved: () => void}} `follow` goes to a page in an entry of its own, so that
 *     Back returns; `moved` is to be called whenever the reader has moved
 */
export function keepPlace(mode, start) {
  history.scrollRestoration = "manual";
  const save = () => history.replaceState({ place: mode.place() }, "");
  const restore = () => {
    if (history.state?.place) mode.goToPlace(history.state.place);
    return Boolean(history.state?.place);
  };

  let timer = 0;
  const moved = () => {
    clearTimeout(timer);
    timer = setTimeout(save, SETTLED);
  };
  window.addEventListener("popstate", () => {
    clearTimeout(timer);
    restore();
  });
  window.addEventListener("hashchange", () => {
    const page = pageOfHash();
    if (page !== null && !history.state?.place) mode.goTo(page);
  });

  if (!restore()) {
    const wanted = pageOfHash() ?? start;
    if (wanted > 1) mode.goTo(wanted);
  }
  const follow = (page) => {
    clearTimeout(timer);
    save();
    history.pushState(null, "", `#page=${page}`);
    mode.goTo(page);
  };
  return { follow, moved };
}
