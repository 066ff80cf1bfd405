"""A reader with a real browser; the test moves the clocks of the page and of the server together."""

from playwright.sync_api import Page, Request

from tests.support.browsers.browser import stop_clock, wait_for_measurement
from tests.support.clock import FakeClock

# A browser without a window cannot be covered by another one.
HIDE_PAGE = "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })"
_SHOW_PAGE = "delete document.visibilityState"
_DISPATCH_VISIBILITY = "document.dispatchEvent(new Event('visibilitychange'))"


class BrowserReader:
    """``clock``: the clock of the server; ``page``: a share page with a clock that Playwright installed. ``before``:
    the milliseconds in the page before its clock stopped; its script measured a part of them."""

    def __init__(self, page: Page, clock: FakeClock) -> None:
        self.page = page
        self._clock = clock
        self._pending = 0
        page.on("request", lambda request: self._count_pending(request, 1))
        page.on("response", lambda response: self._count_pending(response.request, -1))
        wait_for_measurement(page)
        stop_clock(page)
        self.before = int(page.evaluate("performance.now()"))

    def advance(self, seconds: int) -> None:
        """Advance both clocks in steps of 5 s; wait for the responses after each step."""
        for _ in range(seconds // 5):
            self._clock.advance(seconds=5)
            self.page.clock.run_for(5_000)
            self.wait_until_idle()

    def wait_until_idle(self) -> None:
        """Wait until no beacon is pending."""
        self.page.wait_for_timeout(20)
        while self._pending:
            self.page.wait_for_timeout(10)

    def press_key(self) -> None:
        """Press a key, so that the page receives one trusted event."""
        self.page.keyboard.press("Shift")
        self.wait_until_idle()

    def hide_page(self) -> None:
        """Report the page as hidden."""
        self.page.evaluate(HIDE_PAGE)
        self.page.evaluate(_DISPATCH_VISIBILITY)

    def show_page(self) -> None:
        """Report the page as visible, and wait for the response to its beacon."""
        self.page.evaluate(_SHOW_PAGE)
        with self.page.expect_response("**/beacon"):
            self.page.evaluate(_DISPATCH_VISIBILITY)
        self.wait_until_idle()

    def go_offline(self, seconds: int) -> None:
        """Advance both clocks while the browser is offline, then reconnect it."""
        self.page.context.set_offline(True)
        for _ in range(seconds // 5):
            self._clock.advance(seconds=5)
            self.page.clock.run_for(5_000)
        self.page.wait_for_timeout(100)
        self.page.context.set_offline(False)
        self._pending = 0

    def leave_page(self) -> None:
        """Go to another page."""
        self.page.goto("about:blank")

    def _count_pending(self, request: Request, change: int) -> None:
        # The browser does not report the end of a navigator.sendBeacon.
        if request.url.endswith("/beacon") and request.resource_type == "fetch":
            self._pending = max(self._pending + change, 0)
