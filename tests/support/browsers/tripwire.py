"""Record everything that a stored text causes on a page: code that ran, requests, and violations of its policy."""

import re
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Frame, Page, Route

from tests.support.outside.payloads import CANARY

# A policy blocks a request before it is sent, so only the page can report the violation.
_LISTEN = """
addEventListener("securitypolicyviolation", (event) => {
  violated(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
}, true);
"""
# Elements and attributes that only a text of the owner or of a reader could have added.
_FOREIGN = r"""() => {
  const ELEMENTS = "iframe, object, embed, base, math, marquee, foreignObject, image, xmp, frame, template, video";
  const ADDRESSES = ["href", "src", "srcset", "action", "formaction", "data", "xlink:href", "poster", "background"];
  const scheme = (value) => { try { return new URL(value, location.href).protocol; } catch { return "none:"; } };
  const said = (element) => element.cloneNode().outerHTML.slice(0, 200);
  const wrong = (element) => [...element.attributes].some(({ name, value }) => name.startsWith("on")
    || name === "srcdoc" || name === "ping"
    || (ADDRESSES.includes(name) && ["javascript:", "vbscript:", "blob:"].includes(scheme(value)))
    || (ADDRESSES.includes(name) && scheme(value) === "data:" && !value.startsWith("data:image/"))
    || (ADDRESSES.includes(name) && name !== "href" && value.includes("CANARY")));
  const scripts = [...document.scripts].filter((script) => script.type !== "application/json"
    && !script.src.startsWith(`${location.origin}/`));
  const metas = [...document.querySelectorAll("meta[http-equiv]")]
    .filter((meta) => meta.httpEquiv !== "Content-Security-Policy");
  return [...document.querySelectorAll(ELEMENTS), ...scripts, ...metas,
    ...[...document.querySelectorAll("*")].filter(wrong)].map(said);
}""".replace("CANARY", CANARY)
# Some handlers run only when a reader points at, focuses or opens an element.
_FOCUS_EVERYTHING = """async () => {
  const types = ["mouseover", "mouseenter", "pointerenter", "focus", "toggle", "animationstart", "begin"];
  for (const element of document.querySelectorAll("*")) {
    for (const type of types) element.dispatchEvent(new Event(type));
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
}"""


@dataclass
class Tripwire:
    """``alarms``: everything recorded in any page of ``context``, with the URL of the page."""

    context: BrowserContext
    alarms: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.expose_binding("pwned", lambda source: self._raise_alarm(f"ran in {_frame_name(source['frame'])}"))
        self.context.expose_binding("violated", self._record_violation)
        self.context.expose_binding("heard", lambda _: None)  # returns after all earlier calls
        self.context.add_init_script(_LISTEN)
        self.context.route(re.compile(f"^https?://{CANARY}/"), self._record_route)
        self.context.on("console", self._record_message)
        self.context.on("weberror", lambda error: self._raise_alarm(f"threw {error.error} {error.error.stack}"))
        self.context.on("dialog", lambda dialog: (self._raise_alarm(f"asked {dialog.message}"), dialog.dismiss()))

    def trigger_handlers(self, page: Page) -> None:
        """Point at and focus every element of ``page``; also record elements and attributes that only a stored text
        could have added."""
        for words in page.evaluate(_FOREIGN):
            self._raise_alarm(f"holds {words} in {page.url}")
        page.evaluate(_FOCUS_EVERYTHING)
        self.wait_for_reports(page)

    def wait_for_reports(self, page: Page) -> None:
        """Wait for the reports of everything that has happened on ``page``."""
        page.evaluate("heard()")

    def _record_violation(self, source: dict[str, Any], said: str) -> None:
        self._raise_alarm(f"broke its policy by {said} in {_frame_name(source['frame'])}")

    def _raise_alarm(self, words: str) -> Any:
        self.alarms.append(words)

    def _record_route(self, route: Route) -> None:
        self._raise_alarm(f"loaded {route.request.url} in {_frame_name(route.request.frame)}")
        route.abort()

    def _record_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and "the server responded with a status of" not in message.text:
            self._raise_alarm(f"said {message.text}")


def _frame_name(frame: Frame) -> str:
    return frame.name or frame.url
