/** The one rule for where a reader is: toolbar, address and measured time all follow it. */

const ALIKE = 0.05; // visible fractions with a smaller difference are considered equal

/**
 * Return the pages that a reader looks at: the most visible one, or several that are equally visible, as on a spread.
 *
 * @param {Map<number, number>} fractions  visible fraction of each page in the window
 * @returns {number[]}  ascending; none if no page is visible
 */
export function findForemost(fractions) {
  const most = Math.max(...fractions.values());
  if (!(most > 0)) return [];
  return [...fractions.keys()].filter((page) => most - fractions.get(page) < ALIKE).sort((a, b) => a - b);
}
