"""Somebody who sits at a browser, and whose time on both sides of the wire passes only as a test says."""

from contextlib import suppress

from playwright.sync_api import Error, Page, Request

from tests.support.clock import FakeClock

# A browser without a window has no other way to be covered.
HIDE_PAGE = "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })"
_SHOW_PAGE = "delete document.visibilityState"
_DISPATCH_VISIBILITY = "document.dispatchEvent(new Event('visibilitychange'))"


class BrowserReader:
    """``clock`` is the server's; ``page`` shows a share page, its own clock installed by Playwright. ``before``: ms
    that had passed in the page when its clock was stopped; its script measured so much of them as it was there for."""

    def __init__(self, page: Page, clock: FakeClock) -> None:
        self.page = page
        self._clock = clock
        self._pending = 0
        page.on("request", lambda request: self._count_pending(request, 1))
        page.on("response", lambda response: self._count_pending(response.request, -1))
        self._stop_clock()
        self.before = int(page.evaluate("performance.now()"))

    def _stop_clock(self) -> None:
        """Stop the clock a little ahead of now, because the call takes a while, longer on a busy machine."""
        for ahead in (0.2, 1, 5):
            with suppress(Error):
                self.page.clock.pause_at(self.page.evaluate("Date.now()") / 1_000 + ahead)
                return
        raise AssertionError("the clock of the page cannot be stopped")

    def advance(self, seconds: int) -> None:
        """Let time pass in short steps; what is sent in one is answered before the next."""
        for _ in range(seconds // 5):
            self._clock.advance(seconds=5)
            self.page.clock.run_for(5_000)
            self.wait_until_idle()

    def wait_until_idle(self) -> None:
        """Wait until nothing is on its way to the server."""
        self.page.wait_for_timeout(20)
        while self._pending:
            self.page.wait_for_timeout(10)

    def press_key(self) -> None:
        """Give the page one trusted event."""
        self.page.keyboard.press("Shift")
        self.wait_until_idle()

    def hide_page(self) -> None:
        """Cover the page."""
        self.page.evaluate(HIDE_PAGE)
        self.page.evaluate(_DISPATCH_VISIBILITY)

    def show_page(self) -> None:
        """Uncover the page, and wait until the server has heard of it."""
        self.page.evaluate(_SHOW_PAGE)
        with self.page.expect_response("**/beacon"):
            self.page.evaluate(_DISPATCH_VISIBILITY)
        self.wait_until_idle()

    def go_offline(self, seconds: int) -> None:
        """Let time pass without a network, then find it again."""
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
        # Of what is left to the browser (navigator.sendBeacon) nobody hears the end.
        if request.url.endswith("/beacon") and request.resource_type == "fetch":
            self._pending = max(self._pending + change, 0)
