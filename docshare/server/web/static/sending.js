/** Uploads with progress, and helpers for them: drops anywhere on a page, sizes as text, copying links. */

const TOO_LATE_MS = 15 * 60 * 1000;

/** The browser does not keep a chosen file while it loads another page. */
export const SIGNED_OUT = "You are no longer signed in. Reload this page, sign in, and choose the file again.";

/** Why an upload failed. ``message`` is for people, empty if they canceled it; ``status`` is 0 without a response. */
class Failure extends Error {
  /**
   * @param {string} words
   * @param {number} [status]
   */
  constructor(words, status = 0) {
    super(words);
    this.status = status;
  }
}

/**
 * @param {string} address
 * @param {FormData} form
 * @param {(share: number) => void} progress  called with the part that is sent: 0 to 1
 * @param {Record<string, string>} [headers]
 * @returns {{ answer: Promise<any>, cancel: () => void }} the JSON of the response, or a ``Failure``
 */
export function send(address, form, progress, headers = {}) {
  // fetch does not report upload progress.
  const request = new XMLHttpRequest();
  const answer = new Promise((resolve, reject) => {
    const fail = (words) => () => reject(new Failure(words));
    request.open("POST", address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.timeout = TOO_LATE_MS;
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => progress(total ? loaded / total : 0));
    request.addEventListener("load", () => {
      const { status, response } = request;
      if (status === 200 && response) resolve(response);
      else reject(new Failure(describe(response), status));
    });
    request.addEventListener("error", fail("The server did not answer. Check your connection and try again."));
    request.addEventListener("timeout", fail("The server did not answer in time."));
    request.addEventListener("abort", fail(""));
    request.send(form);
  });
  return { answer, cancel: () => request.abort() };
}

/** @param {any} problem  the body of the response */
function describe(problem) {
  if (!problem?.detail) return "The upload failed.";
  return [problem.detail, problem.hint].filter(Boolean).join(" ");
}

/**
 * @param {File} file
 * @param {number} most  bytes of a PDF
 * @returns {string} why the server would reject it, or ""
 */
export function tooLarge(file, most) {
  // Word and PowerPoint files have limits of their own, which only the server knows.
  if (file.size <= most || !/\.pdf$/i.test(file.name)) return "";
  return `This file is ${size(file.size)}; the limit is ${size(most)}.`;
}

/**
 * @param {number} bytes
 * @returns {string} "108 B", "9.9 kB", "312 kB", "2 GB": as `format_size` of the server writes it
 */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let shown = bytes / 1024;
  while (units.length > 1 && Math.round(shown) >= 1024) {
    shown /= 1024;
    units.shift();
  }
  const tenths = Math.round(shown * 10) / 10;
  return `${tenths < 10 ? tenths : Math.round(shown)} ${units[0]}`;
}

/**
 * Accept drops anywhere on the page: a file dropped beside the target would replace the page.
 *
 * @param {Element} place  highlighted while something can be dropped
 * @param {(files: File[]) => void} take
 */
export function takeDrops(place, take) {
  const over = (is) => place.classList.toggle("is-over", is);
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
    take([...(event.dataTransfer?.files ?? [])]);
  });
}

/**
 * @param {HTMLAnchorElement} link
 * @param {Element} button  shows the result
 */
export async function copyLink(link, button) {
  try {
    await navigator.clipboard.writeText(link.href);
    button.textContent = "Copied";
  } catch {
    getSelection()?.selectAllChildren(link);
    button.textContent = "Selected: press Ctrl+C";
  }
}
