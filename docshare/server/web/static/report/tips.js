/* Tips beside the pointer without delay. Browsers show the same text (the `title` elements of the charts) later. */

const AWAY = 14; // pixels between pointer and tip

/**
 * Show the text of the part of `charts` under the pointer.
 * @param {Iterable<SVGElement>} charts
 */
export function showTips(charts) {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  for (const chart of charts) {
    const words = takeTitles(chart);
    chart.addEventListener("pointermove", (event) => {
      const part = event.target.closest(".tipped");
      tip.hidden = !words.has(part);
      if (!tip.hidden) {
        tip.textContent = words.get(part);
        place(tip, event);
      }
    });
    chart.addEventListener("pointerleave", () => {
      tip.hidden = true;
    });
  }
}

/**
 * Remove the titles from a chart, because the browser would show them too. The name of the chart itself stays.
 * @param {SVGElement} chart
 * @returns {Map<Element, string>} The text of each part.
 */
function takeTitles(chart) {
  const words = new Map();
  for (const part of chart.querySelectorAll(".tipped")) {
    const title = part.querySelector("title");
    words.set(part, title.textContent);
    title.remove();
  }
  return words;
}

/**
 * Place `tip` beside the pointer, inside the window.
 * @param {HTMLElement} tip
 * @param {PointerEvent} event
 */
function place(tip, event) {
  const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const above = event.clientY - tip.offsetHeight - AWAY;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + AWAY, right))}px`;
  tip.style.top = `${above < 8 ? event.clientY + AWAY : above}px`;
}
