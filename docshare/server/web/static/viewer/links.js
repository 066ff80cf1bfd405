/** Links inside the PDF: to other sites, or to pages of the document. */

import { make } from "./dom.js";

const SCHEMES = ["http:", "https:", "mailto:"];

/**
 * @param {import("./pagetext.js").Link[]} links
 * @param {number} total  pages of the document
 * @param {(page: number) => void} follow  goes to a page of the document
 * @returns {HTMLElement}
 */
export function makeLinks(links, total, follow) {
  const layer = make("div", { class: "page-links" });
  for (const link of links) {
    const anchor = link.url === undefined ? inside(link.page, total, follow) : outside(link.url);
    if (!anchor) continue;
    anchor.style.left = `${link.x * 100}%`;
    anchor.style.top = `${link.y * 100}%`;
    anchor.style.width = `${link.w * 100}%`;
    anchor.style.height = `${link.h * 100}%`;
    layer.append(anchor);
  }
  return layer;
}

/** @param {string} address */
function outside(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (!SCHEMES.includes(url.protocol)) return null;
  return make("a", {
    href: url.href,
    target: "_blank",
    rel: "noopener noreferrer nofollow",
    title: url.href,
    "aria-label": `Link to ${url.host || url.pathname}`,
  });
}

/**
 * @param {number} page
 * @param {number} total
 * @param {(page: number) => void} follow
 */
function inside(page, total, follow) {
  if (!(page >= 1 && page <= total)) return null;
  const anchor = make("a", { href: `#page=${page}`, "aria-label": `Go to page ${page}` });
  anchor.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    follow(page);
  });
  return anchor;
}

/** Return the page in the fragment of the URL, as in "#page=7", or null. */
export function pageOfHash() {
  const match = /^#page=(\d{1,6})$/.exec(location.hash);
  return match ? Number(match[1]) : null;
}
