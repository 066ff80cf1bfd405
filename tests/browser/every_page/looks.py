"""The windows in which people look at a page, and the looks that they choose in their systems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page

from tests.browser.every_page.states import State
from tests.support.browsers.browser import PHONE, Visitor, visitor
from tests.support.browsers.stage import Stage

WINDOWS: dict[str, dict[str, Any]] = {
    "1440": {"viewport": {"width": 1440, "height": 900}},
    "820": {"viewport": {"width": 820, "height": 1180}},
    "390": {
        "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True,
        "user_agent": PHONE,
    },
    "zoom": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
}  # fmt: skip
"""Name -> options of the browser context. A window of 1440 by 900 at a zoom of 200% has half the CSS pixels."""

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "forced_colors": "none"},
    "dark": {"color_scheme": "dark", "forced_colors": "none"},
    "forced": {"color_scheme": "dark", "forced_colors": "active"},
}
"""Name -> media that the browser emulates."""


@dataclass
class Onlooker:
    """A browser window that opens states of a stage. ``failures``: requests that failed since the last state."""

    stage: Stage
    person: Visitor
    failures: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.person.page

    def open(self, state: State) -> Page:
        """Open ``state`` as its person, with no other cookies."""
        self.person.context.clear_cookies()
        self.page.goto("about:blank")  # the browser would restore the place in a document that is opened again
        self.page.set_extra_http_headers({})
        self.page.unroute_all()
        self.person.complaints.clear()
        self.failures.clear()
        if state.person:
            self.stage.sign_in(self.person.context, state.person)
        if state.has_scripts:
            state.show(self.stage, self.page)
        else:
            with self.disable_scripts():
                state.show(self.stage, self.page)
        return self.page

    @contextmanager
    def disable_scripts(self) -> Iterator[None]:
        """Load pages without their scripts. Afterwards, scripts of tests run in them."""
        switch = "Emulation.setScriptExecutionDisabled"
        session = self.person.context.new_cdp_session(self.page)
        session.send(switch, {"value": True})
        try:
            yield
        finally:
            session.send(switch, {"value": False})
            session.detach()

    def list_complaints(self, state: State) -> list[str]:
        """Return what the browser has reported since ``state`` was opened, except what belongs to it."""
        return [words for words in self.person.complaints if not state.is_expected(words)] + [
            # Without scripts, the browser blocks their preloading.
            url
            for url in self.failures
            if state.has_scripts or not url.endswith(".js")
        ]


@contextmanager
def open_window(browser: Browser, stage: Stage, window: str) -> Iterator[Onlooker]:
    """Yield a window for states of ``stage``."""
    with visitor(browser, **WINDOWS[window]) as person:
        looker = Onlooker(stage, person)
        person.page.on(
            "requestfailed",
            # The browser cancels what a page still loads when the next one opens.
            lambda request: "ERR_ABORTED" in (request.failure or "") or looker.failures.append(request.url),
        )
        yield looker
