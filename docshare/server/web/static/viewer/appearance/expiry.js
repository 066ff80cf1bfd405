/** Shows when the link expires: on its last day, in the reader's local time, and after it has ended. */

import { byId, formatPlural } from "../dom.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LONGEST_WAIT = DAY; // timers overflow after 24 days

/** @param {import("../facts.js").Facts} facts */
export function watchExpiry({ expiresAt, servedAt }) {
  const ends = Date.parse(expiresAt);
  // The reader's clock may be wrong, but it runs at the same speed as the server's.
  const ahead = Date.now() - Date.parse(servedAt);
  const update = () => {
    const left = ends + ahead - Date.now();
    const pill = byId("expiry");
    pill.hidden = left >= DAY;
    if (left <= 0) {
      showEnd(pill, ends);
      return;
    }
    if (left < DAY) pill.textContent = words(left, ends);
    setTimeout(update, waitFor(left));
  };
  update();
}

/**
 * @param {number} left  ms until the end
 * @param {number} ends  ms since 1970
 */
function words(left, ends) {
  if (left >= HOUR) return `Available until ${moment(ends)}`;
  return `Ends in ${formatPlural(Math.ceil(left / MINUTE), "minute")}`;
}

/** @param {number} ends */
function moment(ends) {
  return new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "numeric", minute: "2-digit" }).format(ends);
}

/**
 * Time until the text changes next: when the last day or the last hour begins, then each minute.
 *
 * @param {number} left
 */
function waitFor(left) {
  if (left > DAY) return Math.min(left - DAY + 1, LONGEST_WAIT);
  return left > HOUR ? left - HOUR + 1 : (left % MINUTE || MINUTE) + 1;
}

/**
 * @param {HTMLElement} pill
 * @param {number} ends
 */
function showEnd(pill, ends) {
  pill.setAttribute("role", "alert");
  pill.classList.add("has-ended");
  pill.textContent = `This link ended at ${moment(ends)}. The pages that are still shown will not load again.`;
}
