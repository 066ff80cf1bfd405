/** Dates and times in the reader's language and time zone. */

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** @param {string} instant  in the format of the server */
export function dateText(instant) {
  return DATE.format(new Date(instant));
}

/** @param {string} instant */
export function whenText(instant) {
  return MOMENT.format(new Date(instant));
}
