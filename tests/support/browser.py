"""Somebody with a real browser: opens share links, and notices whatever a reader should never meet."""

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request, Route

_CONFIGURED_CHROMIUM = os.environ.get("DOCSHARE_TEST_CHROMIUM")
CHROMIUM = _CONFIGURED_CHROMIUM or "/usr/bin/chromium"
# Chromium's engine without the program around it takes half the time. Counting and the main job use the whole one.
ENGINE = _CONFIGURED_CHROMIUM or shutil.which("chromium-headless-shell") or CHROMIUM
DESKTOP = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
PHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
    "Mobile Safari/537.36"
)
_VISITOR_NUMBERS = itertools.count()
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def launch(playwright: Playwright, program: str = CHROMIUM) -> Browser:
    """Return the system's Chromium, without a window."""
    return playwright.chromium.launch(executable_path=program, args=SWITCHES)


@dataclass
class Visitor:
    """One reader's window. ``complaints`` collects console errors and warnings (blocked content too) and uncaught
    exceptions; ``requests`` every address the browser asked for."""

    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, url: str) -> Page:
        """Go to ``url`` and wait until the first page image is there and scripts have taken over."""
        self.page.goto(url)
        self.page.locator(".pages.is-live .page.is-ready:not([inert])").first.wait_for()
        return self.page

    def list_origins(self) -> set[str]:
        """Return the origins that the browser has contacted."""
        return {
            f"{urlsplit(url).scheme}://{urlsplit(url).netloc}" for url in self.requests if not url.startswith("data:")
        }

    def watch(self) -> None:
        """Begin to notice."""
        self.page.set_default_timeout(10_000)
        self.page.on("console", self._record_message)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._record_request)

    def _record_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _record_request(self, request: Request) -> None:
        self.requests.append(request.url)


def next_address_header() -> dict[str, str]:
    """Return the header by which a server that trusts this host takes its next visitor for another network: so many
    readers at once from a single one would be slowed down."""
    upper, lower = divmod(next(_VISITOR_NUMBERS), 250)
    return {"X-Forwarded-For": f"198.18.{upper % 250}.{lower + 1}"}


def desktop_options() -> dict[str, Any]:
    """Return browser context options of a desktop window and a desktop browser."""
    return {"viewport": {"width": 1440, "height": 900}, "user_agent": DESKTOP}


@contextmanager
def visitor(browser: Browser, **options: Any) -> Iterator[Visitor]:
    """Yield the page of a new reader, on a desktop unless ``options`` of the browser context are given."""
    headers = next_address_header() | options.pop("extra_http_headers", {})
    context = browser.new_context(**(desktop_options() | options), extra_http_headers=headers)
    person = Visitor(context, context.new_page())
    person.watch()
    try:
        yield person
    finally:
        context.close()


def current_page_number(page: Page) -> int:
    """Return the page number that the toolbar shows, of a spread the lower one."""
    return int(page.locator("#page-number").input_value().split("-")[0])


def wait_for_count(page: Page, text: str) -> None:
    """Wait until the find panel shows ``text`` as its number of matches."""
    page.wait_for_function("text => document.querySelector('#find-count').value === text", arg=text)


def wait_for_page(page: Page, number: int) -> None:
    """Wait until the toolbar shows page ``number``, alone or in a spread."""
    page.wait_for_function(
        "number => document.querySelector('#page-number').value.split('-').includes(String(number))", arg=number
    )


def read_to_page_three(person: Visitor, link: str) -> None:
    """Open the link, read, turn two pages, read each for two seconds, and close the page like a reader does."""
    page = person.open(link)
    page.wait_for_timeout(2_000)
    for number in (2, 3):
        page.keyboard.press("ArrowRight")
        wait_for_page(page, number)
        page.wait_for_timeout(2_000)
    page.close(run_before_unload=True)


def record_layout_shifts(page: Page) -> None:
    """Write down from the next load on what jumps on ``page``."""
    page.add_init_script(
        """
        window.shifts = [];
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) window.shifts.push(entry.value);
        }).observe({ type: "layout-shift", buffered: true });
        """
    )


def layout_shift_score(page: Page) -> float:
    """Return the layout shift score since the load, as the browser computes it."""
    return float(page.evaluate("window.shifts.reduce((sum, value) => sum + value, 0)"))


def intercept_requests(page: Page) -> None:
    """Look at all that ``page`` asks for, from its next load to its end. Without it the browser begins and ends to look
    with the first route and the last, and what an open page asks for in the same moment slips past a new route."""
    page.route("http://nobody.invalid/", lambda route: route.abort())


class RequestGate:
    """Holds back what the browser asks for below ``pattern`` until it is opened. ``held``: what waits."""

    def __init__(self, page: Page, *patterns: str) -> None:
        self.held: list[Route] = []
        self._open = False
        for pattern in patterns:
            page.route(pattern, self._hold_route)

    def open(self) -> None:
        """Let through what waits, and everything later."""
        self._open = True
        for route in self.held:
            route.continue_()

    def _hold_route(self, route: Route) -> None:
        if self._open:
            route.continue_()
        else:
            self.held.append(route)
