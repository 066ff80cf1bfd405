/**
 * Stores the position of the reader in the window's history entry, so that reloading, going back, and returning from a
 * link inside the document restore it. Browsers cannot do this alone, because most pages are not mounted at that time.
 */

import { pageOfHash } from "./links.js";

/** The address that opens a page; it has no fragment until the reader leaves the first page. */
const addressOf = (page) => (page === 1 && !location.hash ? location.href : `#page=${page}`);

const SETTLED = 250; // ms without movement

/**
 * @typedef {object} Place
 * @property {number} page
 * @property {number} down  how much of the page is above the window, as a fraction of its height; -Infinity at the
 *     start of the document
 */

/**
 * @param {import("./modes/standard.js").Mode} mode
 * @param {number} start  page to open if no position is stored
 * @returns {{follow: (page: number) => void, saveSoon: () => void}} `follow` opens a page in a new history entry, so
 *     that Back returns; `saveSoon` must be called whenever the position changed
 */
export function keepPlace(mode, start) {
  history.scrollRestoration = "manual";
  const save = () => history.replaceState({ place: mode.place() }, "", addressOf(mode.pages[0]));
  const restore = () => {
    if (history.state?.place) mode.goToPlace(history.state.place);
    return Boolean(history.state?.place);
  };

  let timer = 0;
  const saveSoon = () => {
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
  saveSoon();
  const follow = (page) => {
    clearTimeout(timer);
    save();
    history.pushState(null, "", `#page=${page}`);
    mode.goTo(page);
  };
  return { follow, saveSoon };
}
