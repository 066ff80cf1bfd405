/* Keeps the number of readers up to date while somebody looks at the page. */

const EVERY_MS = 15_000;

/**
 * Ask now and then how many are reading, and show it in `box`.
 * @param {HTMLElement | null} box - Holds `#now-words`; null where the plan does not tell.
 */
export function watchReaders(box) {
  if (box === null) {
    return;
  }
  const words = box.querySelector("#now-words");
  const address = `${window.location.pathname}/now`;
  window.setInterval(async () => {
    if (document.visibilityState === "visible") {
      const count = await ask(address);
      if (count !== null) {
        words.textContent = `${count} reading now`;
        box.classList.toggle("is-live", count > 0);
      }
    }
  }, EVERY_MS);
}

/**
 * @param {string} address
 * @returns {Promise<number | null>} Null where no number came: signed out, or no network. The last one stays.
 */
async function ask(address) {
  try {
    const answer = await fetch(address);
    const count = answer.ok ? (await answer.json()).activeReaders : null;
    return Number.isInteger(count) ? count : null;
  } catch {
    return null;
  }
}
