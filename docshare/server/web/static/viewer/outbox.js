/** Delivers beacons: in order, with retries, and even after the page was closed. */

const RETRY_MS = 10_000;
const MOST_WAITING = 20;

const OVER = 409;
const isDelivered = (status) => status >= 200 && status < 300;
const askAgain = (status) => status === 0 || status === 408 || status === 429 || status >= 500;

export class Outbox {
  /**
   * @param {string} url
   * @param {() => void} onOver  the server has ended the session of the beacon
   * @param {() => void} onRefused  the server accepts no more beacons from this page
   */
  constructor(url, onOver, onRefused) {
    this.url = url;
    this.onOver = onOver;
    this.onRefused = onRefused;
    this.clear();
  }

  /** Whether too many beacons are pending; the caller then combines its reports. */
  get full() {
    return this.waiting.length >= MOST_WAITING;
  }

  /** Drop the pending beacons. */
  clear() {
    /** @type {{beacon: object, triedAt: number, inFlight: boolean}[]} */
    this.waiting = [];
  }

  /** @param {object} beacon */
  post(beacon) {
    this.#deliver(this.#add(beacon));
  }

  /**
   * Hand all beacons to the browser, which delivers them even if the page is closed. It does not report the result, so
   * a page that stays open delivers them again; the server accepts each beacon once.
   *
   * @param {object} beacon
   */
  leave(beacon) {
    this.#add(beacon);
    for (const { beacon } of this.waiting) navigator.sendBeacon(this.url, JSON.stringify(beacon));
  }

  /** Retry the oldest pending beacon when it is due. */
  retry() {
    const [oldest] = this.waiting;
    if (oldest && !oldest.inFlight && performance.now() - oldest.triedAt >= RETRY_MS) this.#deliver(oldest);
  }

  #add(beacon) {
    const entry = { beacon, triedAt: performance.now(), inFlight: false };
    this.waiting.push(entry);
    return entry;
  }

  async #deliver(entry) {
    entry.inFlight = true;
    entry.triedAt = performance.now();
    const status = await this.#send(JSON.stringify(entry.beacon));
    entry.inFlight = false;
    const place = this.waiting.indexOf(entry);
    if (place < 0 || askAgain(status)) return;
    if (status === OVER) {
      this.onOver();
    } else if (isDelivered(status)) {
      this.waiting.splice(place, 1);
      this.retry(); // beacons that failed in the same outage
    } else {
      this.onRefused();
    }
  }

  async #send(body) {
    const headers = { "Content-Type": "application/json" };
    try {
      return (await fetch(this.url, { method: "POST", body, headers, keepalive: true })).status;
    } catch {
      return 0;
    }
  }
}
