/** Draw a rectangle on the page by mouse, finger or keyboard; the form contains its four numbers, in percent. */

const SIDES = ["x", "y", "width", "height"];
const LEAST = 1; // percent: accidental movements draw nothing
const STEP = 1;
const FIRST = { x: 40, y: 45, width: 20, height: 10 };

const canvas = document.getElementById("canvas");
const draft = document.getElementById("draft");
const inputs = Object.fromEntries(SIDES.map((side) => [side, document.getElementById(side)]));

/** The rectangle in the form; null if it has none. */
function readRect() {
  const found = Object.fromEntries(SIDES.map((side) => [side, inputs[side].valueAsNumber]));
  return SIDES.every((side) => Number.isFinite(found[side])) ? found : null;
}

/** @param {{x: number, y: number, width: number, height: number}} rect */
function put(rect) {
  for (const side of SIDES) inputs[side].value = String(Math.round(rect[side] * 100) / 100);
  draw();
}

function draw() {
  const rect = readRect() ?? { x: 0, y: 0, width: 0, height: 0 };
  for (const side of SIDES) draft.setAttribute(side, String(Math.max(rect[side], 0)));
}

const within = (value, most) => Math.min(Math.max(value, 0), most);

/** @param {PointerEvent} event */
function place(event) {
  const box = canvas.getBoundingClientRect();
  return {
    x: within(((event.clientX - box.left) / box.width) * 100, 100),
    y: within(((event.clientY - box.top) / box.height) * 100, 100),
  };
}

/** @param {{x: number, y: number}} from @param {{x: number, y: number}} to */
function between(from, to) {
  return {
    x: Math.min(from.x, to.x),
    y: Math.min(from.y, to.y),
    width: Math.abs(from.x - to.x),
    height: Math.abs(from.y - to.y),
  };
}

function listenToPointer() {
  let start = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = place(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!start) return;
    const rect = between(start, place(event));
    if (rect.width >= LEAST && rect.height >= LEAST) put(rect);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => {
      start = null;
    });
  }
}

/** @param {KeyboardEvent} event */
function press(event) {
  const across = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key] ?? 0;
  const down = { ArrowUp: -STEP, ArrowDown: STEP }[event.key] ?? 0;
  if (!across && !down) return;
  event.preventDefault();
  const rect = readRect();
  if (!rect) {
    put(FIRST);
    return;
  }
  if (event.shiftKey) {
    put({
      ...rect,
      width: Math.max(LEAST, within(rect.width + across, 100 - rect.x)),
      height: Math.max(LEAST, within(rect.height + down, 100 - rect.y)),
    });
  } else {
    put({ ...rect, x: within(rect.x + across, 100 - rect.width), y: within(rect.y + down, 100 - rect.height) });
  }
}

if (canvas) {
  canvas.classList.add("is-drawn");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "group");
  canvas.setAttribute("aria-label", "Area of the hotspot");
  canvas.setAttribute("aria-describedby", "draw-help");
  canvas.addEventListener("keydown", press);
  listenToPointer();
  for (const input of Object.values(inputs)) input.addEventListener("input", draw);
  draw();
}
