/** The appearance of a share page: a preview that follows the form, presets, images uploaded in place. */

import { send } from "../sending.js";

const TYPING_MS = 350;
const SIGNED_OUT = "You are no longer signed in. Save to sign in without losing your changes, and choose the image again.";
/** The sizes of the pretended window; a phone is cut where the preview is not high enough. */
const WINDOWS = { desktop: { width: 1280, low: 0, high: Infinity }, phone: { width: 390, low: 500, high: 780 } };

const form = document.querySelector(".looks-form");
const panel = document.querySelector(".looks-preview");
const control = (name) => form.elements[name];
const csrf = form.elements.csrf.value;

/** Show only the fields that have an effect, and those that have to be corrected. */
function showFields() {
  for (const field of form.querySelectorAll("[data-when]")) {
    const { when, is } = field.dataset;
    const { value } = control(when);
    const hasEffect = is ? is.split(" ").includes(value) : value.trim();
    field.hidden = !hasEffect && !field.querySelector(".field-error");
    field.classList.remove("is-idle"); // from the server, for the time before this script
  }
  for (const section of form.querySelectorAll("section")) {
    section.hidden = !section.querySelector("[data-field]:not([hidden])");
  }
}

/** Mark the preset whose values the form has. */
function showPreset() {
  const hasValue = ([name, value]) => (control(name).type === "checkbox" ? control(name).checked === Boolean(value) : control(name).value === value);
  let chosen = "none; these are your own values";
  for (const button of form.querySelectorAll("[data-values]")) {
    const isChosen = Object.entries(JSON.parse(button.dataset.values)).every(hasValue);
    button.setAttribute("aria-pressed", String(isChosen));
    if (isChosen) chosen = button.textContent;
  }
  const now = form.querySelector("[data-preset-now]");
  if (now) now.textContent = `Chosen: ${chosen}.`;
}

/** Show the errors beside their controls, as the server does. @param {Record<string, string>} errors  by id */
function showErrors(errors) {
  for (const words of form.querySelectorAll(".field-error")) words.remove();
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    const described = input.getAttribute("aria-describedby")?.replace(`${input.id}-error`, "").trim();
    if (described) input.setAttribute("aria-describedby", described);
    else input.removeAttribute("aria-describedby");
  }
  for (const [id, message] of Object.entries(errors)) {
    const input = document.getElementById(id);
    const words = Object.assign(document.createElement("p"), { id: `${id}-error`, textContent: message });
    words.className = "field-error";
    const place = input.type === "checkbox" ? input.nextElementSibling : input;
    place.after(words);
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", `${words.id} ${input.getAttribute("aria-describedby") ?? ""}`.trim());
  }
  showFields();
}

class Preview {
  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.stage = panel.querySelector("[data-stage]");
    this.state = panel.querySelector("[data-state]");
    this.warnings = panel.querySelector("[data-warnings]");
    this.frame = this.stage.querySelector("iframe");
    /** @type {{width: number, low: number, high: number}} */
    this.window = WINDOWS.desktop;
    this.shown = "";
    this.checking = new AbortController();
    this.timer = 0;
    const widths = panel.querySelector(".looks-widths");
    widths.hidden = false;
    this.buttons = [...widths.querySelectorAll("button")];
    for (const button of this.buttons) button.addEventListener("click", () => this.resize(button.dataset.width));
    this.resize(matchMedia("(max-width: 900px)").matches ? "phone" : "desktop");
    new ResizeObserver(() => this.fit()).observe(this.stage);
  }

  /** @param {keyof WINDOWS} name */
  resize(name) {
    this.window = WINDOWS[name];
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button.dataset.width === name));
    this.fit();
  }

  fit() {
    const { clientWidth, clientHeight } = this.stage;
    const { width, low, high } = this.window;
    const height = Math.min(high, Math.max(low, (clientHeight * width) / clientWidth));
    const scale = Math.min(1, clientHeight / height, clientWidth / width);
    this.stage.style.setProperty("--frame-width", `${width}px`);
    this.stage.style.setProperty("--frame-height", `${height}px`);
    this.stage.style.setProperty("--frame-scale", String(scale));
    this.stage.classList.add("is-scaled");
  }

  refreshSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), TYPING_MS);
  }

  async refresh() {
    clearTimeout(this.timer);
    this.checking.abort();
    this.checking = new AbortController();
    const { signal } = this.checking;
    try {
      const body = new URLSearchParams(new FormData(form));
      const headers = { Accept: "application/json" };
      const response = await fetch(form.dataset.preview, { method: "POST", body, headers, signal });
      if (!response.ok) throw new Error(String(response.status));
      this.show(await response.json());
    } catch (error) {
      if (error.name === "AbortError") return;
      const isSignedOut = error.message === "403";
      this.announce(isSignedOut ? "You are no longer signed in. Save to sign in again without losing your changes." : "The server did not answer.");
    }
  }

  /** @param {{preview?: string, warnings?: string[], errors?: Record<string, string>, message?: string}} answer */
  show({ preview, warnings, errors, message }) {
    showErrors(errors ?? {});
    if (!preview) {
      this.announce(message);
      return;
    }
    this.announce(preview.includes("?") ? "The preview shows changes that are not saved yet." : "");
    const items = warnings.map((words) => Object.assign(document.createElement("li"), { textContent: words }));
    this.warnings.replaceChildren(...items);
    this.warnings.hidden = !items.length;
    this.load(preview);
  }

  /** @param {string} words */
  announce(words) {
    if (this.state.textContent !== words) this.state.textContent = words;
  }

  /**
   * Load the share page behind the current one, which stays visible until then. A new frame, unlike a new address of
   * the old one, adds no entry to the history.
   *
   * @param {string} address
   */
  load(address) {
    if (address === this.shown) return;
    this.shown = address;
    const page = parseInt(this.frame.contentDocument?.getElementById("page-number")?.value, 10);
    for (const waiting of this.stage.querySelectorAll(".is-loading")) waiting.remove();
    const next = this.frame.cloneNode();
    next.src = page > 1 ? `${address}${address.includes("?") ? "&" : "?"}page=${page}` : address;
    next.classList.add("is-loading");
    next.inert = true;
    next.addEventListener("load", () => {
      if (!next.isConnected) return;
      this.frame.remove();
      this.frame = next;
      next.inert = false;
      next.classList.remove("is-loading");
    });
    this.stage.append(next);
  }
}

const preview = panel && new Preview(panel);

/** A field was changed, by hand or by this script. @param {boolean} [isTyping] */
function update(isTyping = false) {
  showFields();
  showPreset();
  if (isTyping) preview?.refreshSoon();
  else preview?.refresh();
}

/** @param {Record<string, string>} values */
function fill(values) {
  for (const [name, value] of Object.entries(values)) {
    if (control(name).type === "checkbox") control(name).checked = Boolean(value);
    else control(name).value = value;
  }
  update();
}

for (const button of form.querySelectorAll("[data-values]")) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    fill(JSON.parse(button.dataset.values));
  });
}

/**
 * Make the uploaded image the choice of its field, and the only one of its kind.
 *
 * @param {string} kind
 * @param {string} assetId
 */
function useImage(kind, assetId) {
  const label = `The uploaded ${kind}`;
  for (const name of ["viewerSettings.logo.assetId", "viewerSettings.background.assetId"]) {
    const select = control(name);
    const known = [...select.options].find((option) => option.text === label);
    if (known) known.value = assetId;
    else select.add(new Option(label, assetId));
  }
  const chosen = { [`viewerSettings.${kind}.assetId`]: assetId };
  fill(kind === "background" ? { "viewerSettings.background.type": "image", ...chosen } : chosen);
}

/** @param {HTMLElement} place */
function uploads(place) {
  const input = place.querySelector("input");
  const words = place.querySelector("[role=status]");
  const bar = place.querySelector("progress");
  const kind = place.dataset.uploadKind;
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (!file) return;
    const body = new FormData();
    body.set("kind", kind);
    body.set("file", file);
    bar.hidden = false;
    words.textContent = "Sending…";
    const progress = (share) => {
      bar.value = share;
    };
    try {
      const address = `/api/account/files/${panel.dataset.uuid}/assets`;
      const { assetId } = await send(address, body, progress, { "X-CSRF-Token": csrf }).answer;
      words.textContent = "Uploaded. Save to show it to readers.";
      useImage(kind, assetId);
    } catch (failure) {
      words.textContent = failure.status === 401 ? SIGNED_OUT : failure.message;
    }
    bar.hidden = true;
    input.value = "";
  });
  place.hidden = false;
}

form.addEventListener("input", (event) => {
  if (event.target.type !== "file") update(true);
});
if (panel) for (const place of form.querySelectorAll("[data-upload-kind]")) uploads(place);
showFields();
