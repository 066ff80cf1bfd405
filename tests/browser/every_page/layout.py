"""Faults of the layout of a page, measured in the browser."""

from playwright.sync_api import Page

_SETTLE = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
}"""
_FIND_CUT_TEXT = """() => {
  const found = [];
  const name = (node) => node.localName + (node.id ? "#" + node.id : "") +
    (typeof node.className === "string" && node.className ? "." + node.className.trim().split(/\\s+/).join(".") : "");
  for (const node of document.body.querySelectorAll("*")) {
    const hasText = [...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
    if (!hasText || node.clientWidth <= 1 || !node.checkVisibility({ visibilityProperty: true })) continue;
    // Neither what is only for screen readers, nor the text over the image of a page.
    if (node.closest(".quiet, .page-text, svg, noscript, option")) continue;
    for (let box = node; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (["auto", "scroll"].includes(style.overflowX) || ["auto", "scroll"].includes(style.overflowY)) break;
      if (!/hidden|clip/.test(style.overflowX + style.overflowY) || box.clientWidth <= 1) continue;
      const isCut = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      const isTold = box.closest("[title], [aria-label]") || box.querySelector("[title]");
      if (isCut && !isTold) found.push(`${name(node)} in ${name(box)}: ${node.textContent.trim().slice(0, 40)}`);
      break;
    }
  }
  return [...new Set(found)].slice(0, 5);
}"""
_FIND_OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  const extra = document.documentElement.scrollWidth - width;
  if (!extra) return [];
  const wide = [...document.body.querySelectorAll("*")].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width && (box.right > width + 1 || box.left < -1);
  });
  return [`${extra} px wider than the window: ` + wide.slice(-3).map((node) => node.outerHTML.slice(0, 100)).join(" ")];
}"""


def settle(page: Page) -> None:
    """Wait until fonts are loaded and the layout has followed the size of the window."""
    page.evaluate(_SETTLE)


def find_layout_faults(page: Page, *, is_wide: bool = False) -> list[str]:
    """Return what is wider than the window (unless the page may be), and text that its box cuts off without offering
    it as a whole."""
    settle(page)
    overflow: list[str] = [] if is_wide else page.evaluate(_FIND_OVERFLOW)
    cut: list[str] = page.evaluate(_FIND_CUT_TEXT)
    return [*overflow, *(f"cut off: {words}" for words in cut)]
