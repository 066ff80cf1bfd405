/**
 * Measures reading and reports it. The rules are documented in docshare/server/rules/reading.py; the server accepts
 * claims only within the limits of its own clock. Nothing is stored on the reader's device.
 */

import { Outbox } from "./outbox.js";

const TICK_MS = 100;
const LONGEST_TICK_MS = 2_000; // a longer gap means that the computer was asleep
const ON_PAGE_MS = [1_000, 3_000, 6_000]; // times on a page after which to report
const ON_PAGE_EVERY_MS = 5_000; // and after each further one
const UNREPORTED_MS = 2_500; // a browser can be killed at any moment
const SEEN_MS = 1_000;
const COUNTS_AFTER_MS = 2_000; // the server counts nothing earlier
const AT_ONCE = 15; // below the limit of the server, so that a beacon is left for closing the page
const EVERY_MS = 1_000;
const ACTIVE_MS = 60_000;
const FRESH_MS = 10_000; // an input within this time belongs to the session that begins
const TURN_MS = 500; // a page shown for less was not turned to
const PAGES_PER_BEACON = 40;

const INPUTS = ["pointerdown", "pointermove", "keydown", "touchstart", "wheel", "click"];

/**
 * @typedef {object} Options
 * @property {string} token  the signed token of this load of the page
 * @property {string} beaconUrl
 * @property {number} pages  how many there are
 * @property {() => number[]} currentPages  the pages that the current time is added to
 */

/**
 * Start measuring once the page is actually visible.
 *
 * @param {Options} options
 * @returns {() => void} stops it
 */
export function startReading(options) {
  /** @type {Meter | undefined} */
  let meter;
  const begin = () => (meter = new Meter(options)).start();
  if (document.prerendering) document.addEventListener("prerenderingchange", begin, { once: true });
  else begin();
  return () => meter?.stop();
}

/** Return whether the browser loaded a page again that it had shown before. Its session may still be running. */
function isReload() {
  return ["reload", "back_forward"].includes(performance.getEntriesByType("navigation")[0]?.type);
}

/**
 * Return the time on a page after which it is reported again.
 *
 * @param {number} reports  how many there were for it
 */
function nextReport(reports) {
  const last = ON_PAGE_MS.length - 1;
  return ON_PAGE_MS[reports] ?? ON_PAGE_MS[last] + (reports - last) * ON_PAGE_EVERY_MS;
}

class Meter {
  /** @param {Options} options */
  constructor({ token, beaconUrl, pages, currentPages }) {
    this.token = token;
    this.shownPages = () => currentPages().filter((page) => page >= 1 && page <= pages);
    this.outbox = new Outbox(
      beaconUrl,
      () => this.beginNext(),
      () => this.stop(),
    );
    this.visible = document.visibilityState === "visible";
    this.pointer = null;
    this.touchedAt = -Infinity;
    this.part = -1;
    this.seq = 1;
  }

  start() {
    this.tickedAt = performance.now();
    this.beginSession(this.tickedAt);
    this.listening = new AbortController();
    const { signal } = this.listening;
    for (const type of INPUTS) {
      window.addEventListener(type, (event) => this.onInput(event), { capture: true, passive: true, signal });
    }
    const onVisibility = () => (document.visibilityState === "visible" ? this.show() : this.hide());
    document.addEventListener("visibilitychange", onVisibility, { signal });
    window.addEventListener("pagehide", () => this.close(), { signal });
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  stop() {
    this.listening.abort();
    clearInterval(this.timer);
    this.outbox.clear();
  }

  /** Opening the page and returning to it start activity, since somebody just did that. They are not input. */
  beginSession(now, actedAt = now) {
    if (this.seq > 0) this.part += 1; // a session without a beacon never existed
    this.seq = 0;
    this.outbox.clear();
    this.beganAt = this.sentAt = now;
    this.actedAt = actedAt;
    this.reading = false;
    this.inputReported = this.countable = false;
    this.stay = { pages: "", ms: 0, reports: 0 };
    /** @type {Map<number, number>} */
    this.reported = new Map();
    this.lead = this.turnedTo = [];
    this.visibleMs = this.turns = this.backTurns = 0;
    this.input = false;
    /** @type {Map<number, {ms: number, views: number, back: number}>} */
    this.claims = new Map();
  }

  /** Only the server ends a session; an input after the end belongs to the next session. */
  beginNext() {
    const now = performance.now();
    this.beginSession(now, this.actedAt);
    this.input = now - this.touchedAt < FRESH_MS;
    if (this.input) this.outbox.post(this.beacon(now));
  }

  tick() {
    const now = performance.now();
    const lapsed = this.book(now);
    this.notePage(now);
    if ((lapsed || this.isDue(now)) && !this.outbox.full) this.outbox.post(this.beacon(now));
    else this.outbox.retry();
  }

  isDue(now) {
    if (this.claims.size >= PAGES_PER_BEACON) return true;
    if (!this.reading || this.seq >= AT_ONCE + (now - this.beganAt) / EVERY_MS) return false;
    return (
      now - this.sentAt >= UNREPORTED_MS ||
      this.stay.ms >= nextReport(this.stay.reports) ||
      (this.inputReported && !this.countable && now - this.beganAt >= COUNTS_AFTER_MS) ||
      [...this.claims].some(([page, { ms }]) => this.becomesSeen(page, ms))
    );
  }

  becomesSeen(page, ms) {
    const before = this.reported.get(page) ?? 0;
    return before < SEEN_MS && before + Math.floor(ms) >= SEEN_MS;
  }

  /** Add the time since the last tick; returns whether the reader became inactive in it. */
  book(now) {
    const passed = Math.min(now - this.tickedAt, LONGEST_TICK_MS);
    const active = this.visible ? Math.min(passed, this.actedAt + ACTIVE_MS - this.tickedAt) : 0;
    const wasReading = this.reading;
    this.tickedAt = now;
    this.reading = active > 0;
    if (this.visible) this.visibleMs += passed;
    if (this.reading) {
      const pages = this.shownPages();
      for (const page of pages) this.claim(page).ms += active / pages.length;
      if (String(pages) !== this.stay.pages) this.stay = { pages: String(pages), ms: 0, reports: 0 };
      this.stay.ms += active;
    }
    return wasReading && !this.reading;
  }

  /** Record a turn once a page, or the pages of a spread, were the most visible for half a second. */
  notePage(now) {
    if (!this.visible) return;
    const lead = this.shownPages();
    if (String(lead) !== String(this.lead)) {
      this.lead = lead;
      this.leadSince = now;
    }
    if (lead.length === 0 || String(lead) === String(this.turnedTo) || now - this.leadSince < TURN_MS) return;
    this.turnTo(lead);
  }

  turnTo(lead) {
    const [from] = this.turnedTo;
    const back = lead[0] < from;
    for (const page of lead.filter((page) => !this.turnedTo.includes(page))) {
      const claim = this.claim(page);
      claim.views += 1;
      if (back) claim.back += 1;
    }
    if (from !== undefined && from !== lead[0]) {
      this.turns += 1;
      if (back) this.backTurns += 1;
    }
    this.turnedTo = lead;
  }

  claim(page) {
    if (!this.claims.has(page)) this.claims.set(page, { ms: 0, views: 0, back: 0 });
    return this.claims.get(page);
  }

  /** Return the next report and reset the measured times. */
  beacon(now) {
    const pages = [...this.claims].slice(0, PAGES_PER_BEACON);
    for (const [page, { ms }] of pages) {
      this.claims.delete(page);
      this.reported.set(page, (this.reported.get(page) ?? 0) + Math.floor(ms));
    }
    while (this.stay.ms >= nextReport(this.stay.reports)) this.stay.reports += 1;
    const beacon = {
      token: this.token,
      part: this.part,
      seq: this.seq,
      ageMs: Math.round(now - this.beganAt),
      visible: this.visible,
      visibleMs: Math.ceil(this.visibleMs),
      input: this.input,
      turns: this.turns,
      backTurns: this.backTurns,
      pages: pages.map(([page, { ms, views, back }]) => ({ page, ms: Math.floor(ms), views, back })),
    };
    if (this.part === 0 && isReload()) beacon.reload = true;
    this.seq += 1;
    this.sentAt = now;
    this.inputReported ||= this.input;
    this.countable ||= this.inputReported && now - this.beganAt >= COUNTS_AFTER_MS;
    this.visibleMs = this.turns = this.backTurns = 0;
    this.input = false;
    return beacon;
  }

  onInput(event) {
    if (!event.isTrusted || !this.visible || !this.hasMoved(event)) return;
    const now = performance.now();
    this.book(now);
    const news = !this.inputReported || now - this.actedAt >= ACTIVE_MS;
    this.actedAt = this.touchedAt = now;
    this.input = true;
    if (news && !this.outbox.full) this.outbox.post(this.beacon(now));
  }

  /** Browsers report a resting pointer again when the page scrolls under it; only a changed position is a movement. */
  hasMoved(event) {
    if (event.type !== "pointermove") return true;
    const before = this.pointer;
    this.pointer = [event.screenX, event.screenY];
    return before !== null && (before[0] !== event.screenX || before[1] !== event.screenY);
  }

  hide() {
    if (this.visible) this.leave({});
  }

  /** Report the closing of the page, which ends the session sooner than a hidden page. */
  close() {
    if (this.visible || this.seq > 0) this.leave({ closing: true });
  }

  leave(how) {
    const now = performance.now();
    this.book(now);
    const somebody = this.reading || this.seq > 0;
    this.visible = this.reading = false;
    if (somebody) this.outbox.leave({ ...this.beacon(now), ...how });
  }

  show() {
    if (this.visible) return;
    const now = performance.now();
    this.visible = true;
    this.tickedAt = now;
    if (this.seq === 0) this.beginSession(now);
    else this.outbox.post(this.beacon(now));
    this.actedAt = now;
  }
}
