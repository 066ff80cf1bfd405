/** Share without an account: choose or drop a file, upload it, get its link. */

import { copyLink, send, takeDrops, tooLarge } from "./sending.js";
import { byId } from "./viewer/dom.js";

const most = Number(document.querySelector("main").dataset.most);
const parts = Object.fromEntries(
  ["intro", "drop", "file", "sending", "sending-words", "progress", "cancel", "alert", "done", "link", "copy", "another"].map(
    (id) => [id, byId(id)],
  ),
);

/** @type {{ cancel: () => void } | null} */
let running = null;

/** @param {"drop" | "sending" | "done"} name  the step to show */
function show(name) {
  for (const id of ["drop", "sending", "done"]) parts[id].hidden = id !== name;
  parts.intro.hidden = name !== "drop";
}

/** @param {string} words  an empty text removes the message */
function showMessage(words) {
  parts.alert.textContent = words;
}

/** @param {File | undefined} file */
async function share(file) {
  if (!file || running) return;
  const why = tooLarge(file, most);
  showMessage(why);
  if (why) return;
  show("sending");
  progress(0);
  const form = new FormData();
  form.append("file", file, file.name);
  const sending = send("/api/files", form, progress);
  running = sending;
  try {
    finish(await sending.answer);
  } catch (failure) {
    show("drop");
    showMessage(failure.message);
  }
  running = null;
}

/** @param {number} share  part that is sent, 0 to 1 */
function progress(share) {
  const percent = Math.floor(share * 100);
  parts.progress.value = percent;
  // Word and PowerPoint files are converted after the upload, which takes a moment.
  parts["sending-words"].textContent = percent < 100 ? `Sending… ${percent} %` : "Creating the link…";
}

/** @param {{ shareUrl: string, shortId: string, claimToken: string, manageToken: string }} made */
function finish(made) {
  parts.link.href = made.shareUrl;
  parts.link.textContent = made.shareUrl;
  byId("claim").textContent = made.claimToken;
  byId("manage").textContent = made.manageToken;
  byId("name").textContent = made.shortId;
  show("done");
  parts.done.focus();
}

function again() {
  parts.file.value = "";
  parts.copy.textContent = "Copy the link";
  show("drop");
  parts.file.focus();
}

parts.file.addEventListener("change", () => {
  share(parts.file.files[0]);
  parts.file.value = "";
});
parts.drop.addEventListener("submit", (event) => event.preventDefault());
parts.cancel.addEventListener("click", () => running?.cancel());
parts.copy.addEventListener("click", () => copyLink(parts.link, parts.copy));
parts.another.addEventListener("click", again);
takeDrops(parts.drop, (files) => {
  if (!parts.drop.hidden) share(files[0]);
});
byId("without").hidden = true;
show("drop");
