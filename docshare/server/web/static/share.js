/** Sharing without an account: choose or drop a file, watch it go, get its link. */

import { byId } from "./viewer/dom.js";

const TOO_LATE_MS = 15 * 60 * 1000;

const most = Number(document.querySelector("main").dataset.most);
const parts = Object.fromEntries(
  ["drop", "file", "sending", "sending-words", "progress", "cancel", "alert", "done", "link", "copy", "another"].map(
    (id) => [id, byId(id)],
  ),
);

/** @type {XMLHttpRequest | null} */
let running = null;

/** @param {"drop" | "sending" | "done"} name  what is to be seen */
function show(name) {
  for (const id of ["drop", "sending", "done"]) parts[id].hidden = id !== name;
}

/** @param {string} words  empty takes them away */
function tell(words) {
  parts.alert.textContent = words;
}

/** @param {File | undefined} file */
function send(file) {
  if (!file || running) return;
  tell("");
  if (file.size > most && /\.pdf$/i.test(file.name)) {
    tell(`This file is too large: it has ${size(file.size)}, and at most ${size(most)} are possible.`);
    return;
  }
  show("sending");
  progress(0, file.size);
  const form = new FormData();
  form.append("file", file, file.name);
  // fetch does not tell how much of a body is sent.
  running = new XMLHttpRequest();
  running.open("POST", "/api/files");
  running.timeout = TOO_LATE_MS;
  running.responseType = "json";
  running.upload.addEventListener("progress", ({ loaded, total }) => progress(loaded, total));
  running.addEventListener("load", ({ target }) => finish(target.status, target.response));
  running.addEventListener("error", () => fail("The server did not answer. Is there a network?"));
  running.addEventListener("timeout", () => fail("The server did not answer in time."));
  running.addEventListener("abort", () => fail(""));
  running.send(form);
}

/**
 * @param {number} loaded  bytes
 * @param {number} total
 */
function progress(loaded, total) {
  const share = total ? Math.floor((loaded / total) * 100) : 0;
  parts.progress.value = share;
  // Word and PowerPoint files are converted once they are there, which takes a moment.
  parts["sending-words"].textContent = share < 100 ? `Sending… ${share} %` : "Making the link…";
}

/**
 * @param {number} status
 * @param {any} answer
 */
function finish(status, answer) {
  if (status !== 200 || !answer?.shareUrl) {
    fail(answer?.detail ?? "The server could not take this document.", answer?.hint);
    return;
  }
  running = null;
  parts.link.href = answer.shareUrl;
  parts.link.textContent = answer.shareUrl;
  byId("claim").textContent = answer.claimToken;
  byId("manage").textContent = answer.manageToken;
  byId("name").textContent = answer.shortId;
  show("done");
  parts.done.focus();
}

/**
 * @param {string} words
 * @param {string} [hint]
 */
function fail(words, hint = "") {
  running = null;
  show("drop");
  tell([words, hint].filter(Boolean).join(" "));
}

/** @param {number} bytes */
function size(bytes) {
  return bytes < 1024 * 1024 ? `${Math.floor(bytes / 1024)} KB` : `${Math.floor((bytes / 1024 / 1024) * 10) / 10} MB`;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(parts.link.href);
    parts.copy.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(parts.link);
    parts.copy.textContent = "Selected: press Ctrl+C";
  }
}

function again() {
  parts.file.value = "";
  parts.copy.textContent = "Copy the link";
  show("drop");
  parts.file.focus();
}

function listenToDrops() {
  const drop = parts.drop;
  const over = (is) => drop.classList.toggle("is-over", is);
  // Anywhere on the page: a file that misses the box would replace the page by itself.
  window.addEventListener("dragover", (event) => {
    event.preventDefault();
    over(event.dataTransfer?.types.includes("Files") ?? false);
  });
  window.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) over(false);
  });
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    over(false);
    if (!drop.hidden) send(event.dataTransfer?.files[0]);
  });
}

parts.file.addEventListener("change", () => {
  send(parts.file.files[0]);
  parts.file.value = "";
});
parts.drop.addEventListener("submit", (event) => event.preventDefault());
parts.cancel.addEventListener("click", () => running?.abort());
parts.copy.addEventListener("click", copy);
parts.another.addEventListener("click", again);
listenToDrops();
byId("without").hidden = true;
show("drop");
