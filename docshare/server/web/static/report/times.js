/* Times in the time zone of the browser, which the page names. The server sends UTC. */

/**
 * Replace the text of `times` by the local time; the title keeps UTC.
 * @param {Iterable<HTMLTimeElement>} times
 * @param {HTMLElement} zone - Names the time zone of all times.
 */
export function showLocalTimes(times, zone) {
  for (const time of times) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.valueOf())) {
      time.title = `${time.textContent} UTC`;
      const words = moment.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
      time.textContent = words.replace("Sept", "Sep"); // the only month that the server writes in another way
    }
  }
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (name !== "UTC") {
    zone.textContent = `Times are in ${name.replaceAll("_", " ")}; days and hours in charts are UTC.`;
  }
}
