/** Shows a reader what is recorded of their visit, and lets them choose not to be measured. Loaded only on use. */

import { icon, make } from "./dom.js";

const STYLE = new URL("./visit.css", import.meta.url).href;
const HELD = "This holds until you close or reload this page: nothing is stored on your device.";
const GPC = "To choose for all visits, turn on Global Privacy Control in your browser.";
const LINKS = {
  shared: "A link for everybody",
  personal: "A link for one recipient; only the owner sees its label",
  invitation: "Your invitation",
};

/**
 * @typedef {object} Recorded
 * @property {string} since  ISO 8601
 * @property {number} timeMs
 * @property {{page: number, timeMs: number}[]} pages
 * @property {string} deviceType
 * @property {string} browser
 * @property {string} [country]  two letters
 * @property {string} source
 * @property {string} [referrer]
 * @property {string} [email]
 * @property {string} [name]
 *
 * @typedef {object} Visit  what the server has recorded of this load of the page
 * @property {boolean} owner
 * @property {boolean} choice
 * @property {boolean} declined
 * @property {number} earlier  ended sessions of this load
 * @property {"shared" | "personal" | "invitation"} link
 * @property {{reports: number, readerKey: number}} keptDays
 * @property {Recorded} [recorded]
 *
 * @typedef {{facts: import("./facts.js").Facts, stopMeasuring: () => void}} Measured  the Viewer of main.js
 */

/** @param {Measured} viewer */
export function openVisit(viewer) {
  if (document.querySelector(".visit")) return;
  loadStyle();
  new Panel(viewer).load();
}

/**
 * Tell the server that this visit is not measured, once somebody sees the page.
 *
 * @param {import("./facts.js").Facts} facts
 */
export function declineVisit(facts) {
  if (document.visibilityState === "visible") askServer(facts, true);
  else document.addEventListener("visibilitychange", () => declineVisit(facts), { once: true });
}

function loadStyle() {
  if (document.querySelector(`link[href="${STYLE}"]`)) return;
  document.head.append(make("link", { rel: "stylesheet", href: STYLE }));
}

/**
 * @param {import("./facts.js").Facts} facts
 * @param {boolean} decline
 * @returns {Promise<Visit | null>} null if the server did not answer as expected
 */
async function askServer({ base, token }, decline) {
  const headers = { "Content-Type": "application/json" };
  try {
    const answer = await fetch(`${base}/visit`, { method: "POST", headers, body: JSON.stringify({ token, decline }) });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

class Panel {
  /** @param {Measured} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.content = make("div", { role: "status" });
    const close = make("button", { class: "tool", type: "button", "aria-label": "Close", title: "Close (Esc)" }, icon("close"));
    close.addEventListener("click", () => this.element.close());
    this.element = make(
      "dialog",
      { class: "help visit", "aria-labelledby": "visit-title" },
      make("header", {}, make("h2", { id: "visit-title" }, "What is recorded of this visit"), close),
      this.content,
    );
    this.element.addEventListener("close", () => this.element.remove());
    document.body.append(this.element);
    this.element.showModal();
  }

  async load() {
    const visit = await askServer(this.viewer.facts, false);
    if (visit) this.show(visit);
    else this.showTrouble("The server did not answer.", () => this.load());
  }

  async decline() {
    const { facts } = this.viewer;
    this.viewer.stopMeasuring();
    facts.optedOut = true;
    window[`ga-disable-${facts.viewerSettings.ga4Id}`] = true;
    const visit = await askServer(facts, true);
    if (visit) this.show(visit);
    else this.showTrouble("Nothing more is recorded, but the existing records could not be deleted.", () => this.decline());
  }

  /** @param {Visit} visit */
  show(visit) {
    const { recorded, declined, earlier } = visit;
    const parts = [];
    if (visit.owner) parts.push(paragraph("This document is yours. Your own reading is not recorded."));
    else if (declined) parts.push(paragraph("This visit is not measured. Its records are deleted; the owner sees only how many visits were not measured."));
    else if (recorded) parts.push(paragraph("The owner of this document sees how it is read. Of this visit, the server has recorded:"), list(visit, recorded));
    else parts.push(paragraph("Nothing has been recorded yet."));
    if (earlier > 0) parts.push(paragraph(earlier === 1 ? "One earlier visit on this page had ended. It stays recorded." : `${earlier} earlier visits on this page had ended. They stay recorded.`));
    if (!visit.owner && !declined) parts.push(paragraph(describeRetention(visit)), ...this.offerChoice(visit));
    if (declined) parts.push(paragraph(`${HELD} ${GPC}`));
    this.content.replaceChildren(...parts);
  }

  /** @param {Visit} visit */
  offerChoice({ choice }) {
    if (!choice) return [paragraph("The owner measures all visits of this link.")];
    const button = make("button", { class: "button", type: "button" }, "Do not measure this visit");
    button.addEventListener("click", () => {
      button.disabled = true;
      this.decline();
    });
    return [button, paragraph(`${HELD} ${GPC}`)];
  }

  /**
   * @param {string} words
   * @param {() => void} retry
   */
  showTrouble(words, retry) {
    const again = make("button", { class: "button", type: "button" }, "Try again");
    again.addEventListener("click", retry);
    this.content.replaceChildren(make("p", { role: "alert" }, words), again);
  }
}

/** @param {string} words */
function paragraph(words) {
  return make("p", {}, words);
}

/** @param {Visit} visit */
function describeRetention({ keptDays: { reports, readerKey } }) {
  return (
    `The visit is kept as long as the document; the reports it was computed from are deleted after ${reports} days. ` +
    "Your address is not stored: a keyed hash of it and of your browser recognizes a second visit, until its key is " +
    `replaced after ${readerKey} days.`
  );
}

/**
 * @param {Visit} visit
 * @param {Recorded} recorded
 */
function list({ link }, recorded) {
  const pages = recorded.pages.filter(({ timeMs }) => timeMs >= 500);
  const rows = {
    Since: new Date(recorded.since).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }),
    "Time read": seconds(recorded.timeMs),
    Pages: pages.map(({ page, timeMs }) => `${page} (${seconds(timeMs)})`).join(", ") || "None yet",
    Device: `${recorded.deviceType}, ${recorded.browser}`,
    Country: recorded.country ?? "Not known",
    "Opened by": LINKS[link],
    "Came from": recorded.referrer ?? "Not known",
    Reader: [recorded.name, recorded.email].filter(Boolean).join(", ") || "Not known",
  };
  return make("dl", {}, ...Object.entries(rows).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

/** @param {number} ms */
function seconds(ms) {
  const total = Math.round(ms / 1000);
  return total < 60 ? `${total} s` : `${Math.floor(total / 60)} min ${total % 60} s`;
}
