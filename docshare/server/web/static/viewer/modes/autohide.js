/** Hides the toolbar while nobody uses it. Keys and screen readers can still reach it; any input shows it again. */

import { byId } from "../dom.js";

const AWAY_AFTER = 2_500; // ms
const INPUTS = ["pointerdown", "touchstart", "keydown", "focusin"];

export function hideWhenIdle() {
  const bar = document.querySelector(".bar");
  const hovering = window.matchMedia("(hover: hover)");
  let timer = 0;
  const isUsed = () =>
    (hovering.matches && bar.matches(":hover")) ||
    bar.querySelector(":focus-visible") !== null ||
    document.querySelector("dialog[open]") !== null ||
    document.body.dataset.tool !== undefined ||
    !byId("find").hidden;
  const come = () => {
    bar.classList.remove("is-away");
    clearTimeout(timer);
    timer = setTimeout(go, AWAY_AFTER);
  };
  const go = () => {
    if (isUsed()) come();
    else bar.classList.add("is-away");
  };
  for (const type of INPUTS) window.addEventListener(type, come, { capture: true, passive: true });
  window.addEventListener(
    "pointermove",
    (event) => {
      // Browsers report a resting pointer again when something moves under it.
      if (event.movementX !== 0 || event.movementY !== 0) come();
    },
    { passive: true },
  );
  come();
}
