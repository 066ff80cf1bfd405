/** Where the dot of a hotspot stands: in its area, or beside it if it would cover text there. */

/** @typedef {{x: number, y: number, w: number, h: number}} Box  CSS pixels, from the top left of the page */

const GAP = 4; // CSS pixels, as in feedback-hotspots.css
const SPOTS = ["inside", "right", "left", "above", "below"];

/**
 * @param {Box} area
 * @param {number} dot  width and height
 * @param {boolean} isCentered  whether the dot inside is in the center of the area, otherwise in its upper right corner
 * @returns {Record<string, Box>}
 */
function placesOf(area, dot, isCentered) {
  const [right, bottom] = [area.x + area.w, area.y + area.h];
  const middle = area.y + (area.h - dot) / 2;
  const at = (x, y) => ({ x, y, w: dot, h: dot });
  return {
    inside: isCentered ? at(area.x + (area.w - dot) / 2, middle) : at(right - dot, area.y),
    right: at(right + GAP, middle),
    left: at(area.x - GAP - dot, middle),
    above: at(right - dot, area.y - GAP - dot),
    below: at(right - dot, bottom + GAP),
  };
}

/**
 * @param {Box} one
 * @param {Box} other
 */
function overlap(one, other) {
  const across = Math.min(one.x + one.w, other.x + other.w) - Math.max(one.x, other.x);
  const down = Math.min(one.y + one.h, other.y + other.h) - Math.max(one.y, other.y);
  return Math.max(0, across) * Math.max(0, down);
}

/**
 * @param {Box} area  of the hotspot
 * @param {Box[]} texts
 * @param {{w: number, h: number}} page
 * @param {number} dot  width and height of the dot
 * @param {boolean} isCentered
 * @returns {string} the first of SPOTS that covers least text; the dot stays on the page
 */
export function findSpot(area, texts, page, dot, isCentered) {
  const places = placesOf(area, dot, isCentered);
  const onPage = SPOTS.filter((spot) => overlap(places[spot], { x: 0, y: 0, ...page }) === dot * dot);
  const covered = (spot) => texts.reduce((sum, text) => sum + overlap(places[spot], text), 0);
  const [best] = onPage.sort((one, other) => covered(one) - covered(other)); // sorting is stable
  return best ?? "inside";
}
