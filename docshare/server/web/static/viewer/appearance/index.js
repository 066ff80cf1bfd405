/** Scripts for the appearance set by the owner, where style sheets are not enough. */

import { startAnalytics } from "./analytics.js";
import { reportTaps } from "./cta.js";
import { watchExpiry } from "./expiry.js";
import { protect } from "./protect.js";

/** @param {import("../facts.js").Facts} facts */
export function startAppearance(facts) {
  const { protect: protection, cta, ga4Id } = facts.viewerSettings;
  protect(protection);
  if (cta) reportTaps(facts);
  if (facts.expiresAt) watchExpiry(facts);
  if (ga4Id) startAnalytics(ga4Id);
}
