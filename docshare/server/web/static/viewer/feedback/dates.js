/** Moments, in the reader's own language and time zone. */

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** @param {string} instant  as the server writes it */
export function dateText(instant) {
  return DATE.format(new Date(instant));
}

/** @param {string} instant */
export function whenText(instant) {
  return MOMENT.format(new Date(instant));
}
