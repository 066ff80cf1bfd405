/** The gate inside a frame: offer a new tab instead of the form if the browser stores no cookies in the frame. */

const form = document.querySelector("form");

/**
 * @param {string} cookie  with its attributes
 * @returns {boolean} whether the browser stores it; it is deleted again
 */
function canStore(cookie) {
  const [pair] = cookie.split(";", 1);
  try {
    document.cookie = cookie;
    const isStored = document.cookie.split("; ").includes(pair);
    document.cookie = `${cookie}; Max-Age=0`;
    return isStored;
  } catch {
    return false; // a sandboxed frame has no cookies
  }
}

if (!canStore(form.dataset.trial)) {
  form.hidden = true;
  document.getElementById("alone").hidden = true;
  document.getElementById("blocked").hidden = false;
}
