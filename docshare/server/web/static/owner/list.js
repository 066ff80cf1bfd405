/** The list of the library: search as you type, selection, and keys. Without scripts it is a form and links. */

import { byId } from "../viewer/dom.js";

const TYPING_MS = 200;
const chosen = new Set();

/** @type {XMLHttpRequest | undefined} */
let loading;

/**
 * Replace an element by the one of the page at an address.
 *
 * @param {string} address
 * @param {string} id  of the element
 * @param {() => void} prepare  what has to be done with new rows
 * @param {{ stays?: boolean }} options  stays: keep the page if the server does not send the element, or if the element
 *   has the focus when it does
 */
export function loadList(address, id, prepare, { stays = false } = {}) {
  const replaced = loading;
  const request = new XMLHttpRequest();
  loading = request; // before the abort, which ends the replaced request at once
  replaced?.abort();
  request.open("GET", address);
  request.responseType = "document";
  request.addEventListener("loadend", () => {
    if (loading !== request || (stays && document.getElementById(id)?.contains(document.activeElement))) return;
    const fresh = request.status === 200 && request.response?.getElementById(id);
    if (fresh) document.getElementById(id)?.replaceWith(document.adoptNode(fresh));
    else if (request.status && !stays) location.assign(address); // signed out, or no file is left
    document.getElementById("results")?.setAttribute("aria-busy", "false");
    prepare();
    if (fresh && id === "library") watchSearch(prepare);
    showSelection();
  });
  request.send();
}

/** @param {() => void} prepare */
export function startList(prepare) {
  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.closest("#chosen")) return;
    for (const box of target.id === "all" ? boxes() : [target]) select(box, target.checked);
    showSelection();
  });
  document.addEventListener("keydown", handleKey);
  watchSearch(prepare);
  showSelection();
}

/** @param {() => void} prepare */
function watchSearch(prepare) {
  const form = document.querySelector("form.seek");
  if (!form) return;
  let clock = 0;
  const search = () => {
    clearTimeout(clock);
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    const address = `/files${query.size ? `?${query}` : ""}`;
    history.replaceState(null, "", address);
    byId("results").setAttribute("aria-busy", "true");
    loadList(address, "results", () => {
      prepare();
      const count = document.querySelectorAll(".item").length;
      byId("status").textContent = byId("results").querySelector("#matches")?.textContent ?? `${count} files on this page.`;
    });
  };
  form.addEventListener("input", ({ target }) => {
    clearTimeout(clock);
    clock = setTimeout(search, target.type === "search" ? TYPING_MS : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  form.querySelector("button[type=submit]").hidden = true;
  byId("keys-hint").hidden = false;
}

/** @returns {HTMLInputElement[]} */
const boxes = () => [...document.querySelectorAll(".item-box")];

/** @param {HTMLInputElement} box @param {boolean} is */
function select(box, is) {
  box.checked = is;
  if (is) chosen.add(box.value);
  else chosen.delete(box.value);
}

/** Check the boxes of files that were selected before the list changed, and offer the actions for them. */
function showSelection() {
  const all = document.getElementById("all");
  if (!all) return;
  const here = new Set(boxes().map((box) => box.value));
  // A file that is not in the list any more is not part of the form.
  for (const value of [...chosen]) if (!here.has(value)) chosen.delete(value);
  for (const box of boxes()) {
    if (box.checked) chosen.add(box.value);
    box.checked = chosen.has(box.value);
  }
  all.closest("label").hidden = false;
  all.checked = chosen.size > 0 && chosen.size === here.size;
  all.indeterminate = chosen.size > 0 && !all.checked;
  for (const button of document.querySelectorAll("#chosen button[name=action]")) button.disabled = !chosen.size;
  const words = chosen.size ? `${chosen.size} selected` : "";
  if (byId("count").textContent !== words) byId("count").textContent = words;
}

/** @param {KeyboardEvent} event */
function handleKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !(target instanceof Element)) return;
  if (document.querySelector("dialog[open]")) return;
  const isBox = target.matches(".item-box");
  if (target.matches("input, select, textarea, [contenteditable]") && !isBox) return;
  const acted = act(key, target.closest(".item"), isBox, target.matches("button, summary"));
  if (acted) event.preventDefault();
}

/**
 * Return whether the key did something.
 *
 * @param {string} key
 * @param {Element | null} row  with the focus
 * @param {boolean} isBox  whether its check box has the focus
 * @param {boolean} isButton  whether a button has it
 */
function act(key, row, isBox, isButton) {
  if (key === "/" && document.getElementById("q")) return byId("q").focus() ?? true;
  if (key === "?") return byId("keys").showModal() ?? true;
  const step = { j: 1, k: -1, ArrowDown: row ? 1 : 0, ArrowUp: row ? -1 : 0 }[key];
  if (step) return move(row, step);
  if (row && (key === "x" || (key === " " && !isBox && !isButton))) {
    const box = row.querySelector(".item-box");
    select(box, !box.checked);
    showSelection();
    byId("status").textContent = `${row.querySelector("h2").textContent} ${box.checked ? "selected" : "not selected"}.`;
    return true;
  }
  return false;
}

/** Focus the link of another row; from outside of the list, of the first one. @param {Element | null} row */
function move(row, step) {
  const rows = [...document.querySelectorAll(".item")];
  const next = row ? rows[rows.indexOf(row) + step] : rows[0];
  next?.querySelector("h2 a").focus();
  return Boolean(next);
}
