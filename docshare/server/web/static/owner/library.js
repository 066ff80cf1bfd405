/** The library: uploads chosen and dropped files, a few at a time, and copies links. The list works without scripts. */

import { SIGNED_OUT, copyLink, send, takeDrops, tooLarge } from "../sending.js";
import { byId, make } from "../viewer/dom.js";
import { loadList, startList } from "./list.js";

const AT_ONCE = 2;
const OFFICE = /\.(docx|pptx|ppt)$/i;

const { csrf, most } = byId("upload").dataset;
const chooser = byId("file");
const list = byId("uploads");

/** @typedef {{ file: File, row: HTMLElement, words: HTMLElement, bar: HTMLProgressElement, ways: HTMLElement,
 *   cancel: () => void, clock?: number }} Upload */

/** @type {Upload[]} */
const waiting = [];
let running = 0;

/** @param {File[]} files */
function add(files) {
  for (const file of files) {
    const upload = draw(file);
    list.append(upload.row);
    const why = tooLarge(file, Number(most));
    if (why) fail(upload, why);
    else waiting.push(upload);
  }
  list.hidden = !list.children.length;
  startMore();
}

/**
 * @param {File} file
 * @returns {Upload}
 */
function draw(file) {
  const words = make("span", { class: "sent-words soft" }, "Waiting");
  const bar = make("progress", { max: "1", value: "0", "aria-label": `Progress of ${file.name}` });
  const stop = make("button", { class: "button small", type: "button", "aria-label": `Cancel ${file.name}` }, "Cancel");
  const ways = make("span", { class: "sent-ways" }, stop);
  const row = make("li", { class: "sent" }, make("span", { class: "sent-name" }, file.name), bar, words, ways);
  const upload = { file, row, words, bar, ways, cancel: () => leave(upload) };
  stop.addEventListener("click", () => upload.cancel());
  return upload;
}

function startMore() {
  while (running < AT_ONCE && waiting.length) start(waiting.shift());
}

/** @param {Upload} upload */
async function start(upload) {
  running += 1;
  const form = new FormData();
  form.append("file", upload.file, upload.file.name);
  const sending = send("/api/account/files", form, (share) => progress(upload, share), { "X-CSRF-Token": csrf });
  upload.cancel = sending.cancel;
  try {
    finish(upload, await sending.answer);
  } catch (failure) {
    if (failure.status === 401) fail(upload, SIGNED_OUT);
    else if (failure.message) fail(upload, failure.message);
    else leave(upload);
  }
  running -= 1;
  startMore();
  if (!running) refresh();
}

/**
 * @param {Upload} upload
 * @param {number} share  0 to 1
 */
function progress(upload, share) {
  upload.bar.value = share;
  // Word and PowerPoint files are converted after the upload, which takes a moment.
  clearInterval(upload.clock);
  if (share < 1) {
    upload.words.textContent = `Sending, ${Math.floor(share * 100)} %`;
    return;
  }
  const stage = OFFICE.test(upload.file.name) ? "Converting to PDF" : "Creating the link";
  const since = performance.now();
  upload.words.textContent = stage;
  upload.clock = setInterval(() => {
    upload.words.textContent = `${stage}, ${Math.round((performance.now() - since) / 1000)} s`;
  }, 1000);
}

/**
 * @param {Upload} upload
 * @param {{ uuid: string, shareUrl: string, message: string, leftOut?: string[], warning?: string }} made
 */
function finish({ file, words, bar, ways, clock }, made) {
  clearInterval(clock);
  const link = make("a", { href: made.shareUrl }, made.shareUrl);
  const copy = make("button", { class: "button small primary", type: "button", "aria-label": `Copy the link of ${file.name}` });
  copy.textContent = "Copy";
  copy.addEventListener("click", () => copyLink(link, copy));
  bar.remove();
  words.replaceChildren(link);
  for (const note of [made.leftOut && made.message, made.warning].filter(Boolean)) {
    words.append(make("span", { class: "soft" }, ` ${note}`));
  }
  const settings = make("a", { class: "button small", href: `/files/${made.uuid}` }, "Settings");
  settings.setAttribute("aria-label", `Settings of ${file.name}`);
  ways.replaceChildren(copy, settings);
  announce(`${file.name} is shared.`);
}

/**
 * @param {Upload} upload
 * @param {string} why
 */
function fail(upload, why) {
  const { file, words, bar, ways, clock } = upload;
  clearInterval(clock);
  const remove = make("button", { class: "button small", type: "button", "aria-label": `Remove ${file.name} from this list` });
  remove.textContent = "Remove";
  remove.addEventListener("click", () => leave(upload));
  bar.remove();
  words.className = "sent-words wrong";
  words.textContent = why;
  ways.replaceChildren(remove);
  announce(`${file.name} was not shared. ${why}`);
}

/** @param {Upload} upload */
function leave(upload) {
  const at = waiting.indexOf(upload);
  if (at >= 0) waiting.splice(at, 1);
  const had = upload.row.contains(document.activeElement);
  clearInterval(upload.clock);
  upload.row.remove();
  list.hidden = !list.children.length;
  if (had) chooser.focus();
}

/** @param {string} words  for screen readers */
function announce(words) {
  byId("status").textContent = words;
}

/**
 * Reload the list of files, unless one of its elements has the focus, or a search is in progress, which this would
 * cancel. The page stays, with the reasons of failed uploads.
 */
function refresh() {
  const library = byId("library");
  if (library.contains(document.activeElement) || library.querySelector("[aria-busy='true']")) return;
  loadList(location.href, "library", offerCopies, { stays: true });
}

function offerCopies() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copyLink(button.parentElement.querySelector("a"), button));
  }
}

function addChosen() {
  add([...chooser.files]);
  chooser.value = "";
}

chooser.addEventListener("change", addChosen);
addChosen(); // those chosen before this script had started
takeDrops(byId("drop"), add);
window.addEventListener("beforeunload", (event) => {
  if (running || waiting.length) event.preventDefault();
});
offerCopies();
startList(offerCopies);
byId("without").hidden = true;
byId("drop").hidden = false;
