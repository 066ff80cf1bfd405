/** The text of one page from the server, prepared for the text layer and for searching. */

/**
 * @typedef {object} Box  one run of text; x, y, w, h are fractions of the page
 * @property {number} x
 * @property {number} y
 * @property {number} w
 * @property {number} h
 * @property {string} text
 * @property {number} angle  degrees clockwise: 0, 90, 180 or 270
 * @property {"" | " " | "\n"} lead  separator between the previous box and this one
 */

/** @typedef {{x: number, y: number, w: number, h: number, url?: string, page?: number}} Link */

/**
 * @typedef {object} PageText
 * @property {Box[]} boxes
 * @property {Link[]} links
 * @property {string} folded  the whole text for searching; see `fold`
 * @property {number[]} starts  offset of each box in `folded`
 */

const LIGATURES = { "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st" };

/**
 * @param {{boxes: any[][], links: any[][], width: number, height: number}} sent
 * @returns {PageText}
 */
export function readPageText(sent) {
  const ratio = sent.height / sent.width;
  /** @type {Box[]} */
  const boxes = [];
  const starts = [];
  let whole = "";
  for (const [x, y, w, h, raw, angle = 0] of sent.boxes) {
    const text = raw.replace(/[\ufb00-\ufb06]/g, (char) => LIGATURES[char]).replace(/[\r\n]+/g, " ");
    /** @type {Box} */
    const box = { x, y, w, h, text, angle, lead: "" };
    const before = boxes.at(-1);
    if (before) box.lead = between(before, box, ratio);
    whole += box.lead;
    starts.push(whole.length);
    whole += text;
    boxes.push(box);
  }
  const links = sent.links.map(([x, y, w, h, target]) => ({ x, y, w, h, ...target }));
  return { boxes, links, folded: fold(whole), starts };
}

/**
 * Return the separator: the same line continues, with or without a space, or a new line begins.
 *
 * @param {Box} before
 * @param {Box} after
 * @param {number} ratio  height of the page by its width
 */
function between(before, after, ratio) {
  if (before.angle !== after.angle) return "\n";
  const upright = before.angle % 180 === 0;
  const overlap = upright
    ? Math.min(before.y + before.h, after.y + after.h) - Math.max(before.y, after.y)
    : Math.min(before.x + before.w, after.x + after.w) - Math.max(before.x, after.x);
  const thickness = upright ? Math.min(before.h, after.h) : Math.min(before.w, after.w);
  if (overlap < thickness / 2) return "\n";
  if (/\s$/.test(before.text) || /^\s/.test(after.text)) return "";
  const gap = upright
    ? Math.max(after.x - before.x - before.w, before.x - after.x - after.w) / ratio
    : Math.max(after.y - before.y - before.h, before.y - after.y - after.h) * ratio;
  return gap > thickness * 0.15 ? " " : "";
}

/**
 * Return text without case, accents and kinds of white space, of the same length, so that its offsets are the same.
 *
 * @param {string} text
 */
export function fold(text) {
  const spaced = text.replace(/\s/g, " ");
  if (/^[\x00-\x7f]*$/.test(spaced)) return spaced.toLowerCase();
  let folded = "";
  for (let at = 0; at < spaced.length; at += 1) {
    const char = spaced[at];
    const plain = char.normalize("NFD")[0].toLowerCase();
    folded += plain.length === 1 ? plain : char;
  }
  return folded;
}
