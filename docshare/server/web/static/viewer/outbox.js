/** Delivers beacons: in order, again until answered, and past the end of the page. */

const RETRY_MS = 10_000;
const MOST_WAITING = 20;

const OVER = 409;
const delivered = (status) => status >= 200 && status < 300;
const askAgain = (status) => status === 0 || status === 408 || status === 429 || status >= 500;

export class Outbox {
  /**
   * @param {string} url
   * @param {() => void} onOver  the server has ended the session of a beacon
   * @param {() => void} onRefused  the server wants no beacon of this page any more
   */
  constructor(url, onOver, onRefused) {
    this.url = url;
    this.onOver = onOver;
    this.onRefused = onRefused;
    this.clear();
  }

  /** Enough is unanswered already: better to wait and say more at once. */
  get full() {
    return this.waiting.length >= MOST_WAITING;
  }

  /** Forget what is unanswered. */
  clear() {
    /** @type {{beacon: object, triedAt: number, flying: boolean}[]} */
    this.waiting = [];
  }

  /** @param {object} beacon */
  post(beacon) {
    this.#deliver(this.#add(beacon));
  }

  /**
   * The page may be gone in a moment: hand everything to the browser, which delivers it without us. Nobody tells
   * whether it did, so what comes back to a page that lives on is delivered again; the server takes each once.
   *
   * @param {object} beacon
   */
  leave(beacon) {
    this.#add(beacon);
    for (const { beacon } of this.waiting) navigator.sendBeacon(this.url, JSON.stringify(beacon));
  }

  /** Try the oldest unanswered beacon again when it is time. */
  retry() {
    const [oldest] = this.waiting;
    if (oldest && !oldest.flying && performance.now() - oldest.triedAt >= RETRY_MS) this.#deliver(oldest);
  }

  #add(beacon) {
    const letter = { beacon, triedAt: performance.now(), flying: false };
    this.waiting.push(letter);
    return letter;
  }

  async #deliver(letter) {
    letter.flying = true;
    letter.triedAt = performance.now();
    const status = await this.#send(JSON.stringify(letter.beacon));
    letter.flying = false;
    const place = this.waiting.indexOf(letter);
    if (place < 0 || askAgain(status)) return;
    if (status === OVER) {
      this.onOver();
    } else if (delivered(status)) {
      this.waiting.splice(place, 1);
      this.retry(); // what waited through the same outage
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
