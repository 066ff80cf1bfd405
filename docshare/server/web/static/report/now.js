/* Keeps the number of readers up to date while the page is visible. */

const EVERY_MS = 15_000;

/**
 * Fetch the number of current readers periodically, and show it in `box`.
 * @param {HTMLElement | null} box - Contains `#now-words`; null if the plan does not include the number.
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
        const text = `${count} reading now`;
        if (words.textContent !== text) { // a status is announced whenever it is written
          words.textContent = text;
        }
        box.classList.toggle("is-live", count > 0);
      }
    }
  }, EVERY_MS);
}

/**
 * @param {string} address
 * @returns {Promise<number | null>} Null if there was no response: signed out, or offline. The last number stays.
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
