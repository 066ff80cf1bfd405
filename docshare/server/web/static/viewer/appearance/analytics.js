/**
 * Google Analytics 4, if the owner of the document set a measurement id. It learns that a document was opened here,
 * but neither which one nor under which link: URL, title and referrer are replaced before its script is loaded, and
 * browsers that ask not to be tracked never load it.
 */

const SCRIPT = "https://www.googletagmanager.com/gtag/js?id=";
const ID = /^G-[A-Z0-9]{10}$/;

/** @param {string} id  such as "G-XXXXXXXXXX" */
export function startAnalytics(id) {
  if (!ID.test(id) || isRefused()) return;
  const page = { page_location: `${location.origin}/`, page_title: "Document", page_referrer: "" };
  const queue = (window["dataLayer"] ??= []);
  // Its script recognizes commands by their type, an "arguments" object.
  function gtag() {
    queue.push(arguments);
  }
  gtag("js", new Date());
  gtag("set", page);
  gtag("config", id, { ...page, allow_google_signals: false, allow_ad_personalization_signals: false });
  load(SCRIPT + id);
}

/** Whether the browser asks not to be tracked: Global Privacy Control, or Do Not Track. */
function isRefused() {
  return navigator["globalPrivacyControl"] === true || navigator.doNotTrack === "1";
}

/** @param {string} address */
function load(address) {
  const script = document.createElement("script");
  script.async = true;
  // The headers of the page allow a policy of this name once, so no other script can create one.
  const policy = window["trustedTypes"]?.createPolicy("docshare-analytics", { createScriptURL: () => address });
  script.src = policy ? policy.createScriptURL(address) : address;
  document.head.append(script);
}
