/** Loads images that a page can be read without, with a few attempts. */

import { pause } from "./source.js";

const TRIES = 3;

/**
 * @param {HTMLImageElement} image
 * @param {{src: string, srcset?: string}} address
 * @param {import("./source.js").Source} source
 * @param {AbortSignal} signal  empties the image
 * @returns {Promise<boolean>} whether the image has loaded
 */
export async function loadImage(image, address, source, signal) {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    if (await hasLoaded(image, address, signal)) return true;
    const error = signal.aborted ? null : await source.whyNotLoaded(address.src, signal);
    if (error?.unrenderable || error?.outdated || attempt === TRIES) return false;
    await pause(attempt);
  }
  return false;
}

/**
 * @param {HTMLImageElement} image
 * @param {{src: string, srcset?: string}} address
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
function hasLoaded(image, { src, srcset }, signal) {
  return new Promise((resolve) => {
    image.onload = () => resolve(true);
    image.onerror = () => resolve(false);
    signal.addEventListener("abort", () => {
      image.removeAttribute("srcset");
      image.removeAttribute("src");
      resolve(false);
    });
    if (srcset) image.srcset = srcset;
    image.src = src;
  });
}
