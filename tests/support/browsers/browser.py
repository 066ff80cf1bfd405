"""A reader with a real browser, which records console messages and exceptions that no reader should cause."""

import itertools
import os
import shutil
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Frame,
    Locator,
    Page,
    Playwright,
    Request,
    Route,
)

_CONFIGURED_CHROMIUM = os.environ.get("DOCSHARE_TEST_CHROMIUM")
CHROMIUM = _CONFIGURED_CHROMIUM or "/usr/bin/chromium"
# Chromium's headless shell takes half the time of the whole browser, which only a few jobs use.
ENGINE = _CONFIGURED_CHROMIUM or shutil.which("chromium-headless-shell") or CHROMIUM
DESKTOP = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
SCREENSHOT_DIR = os.environ.get("DOCSHARE_TEST_SHOTS")  # a directory for screenshots
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


def launch(playwright: Playwright, program: str = CHROMIUM, *, arguments: Sequence[str] = ()) -> Browser:
    """Launch the system's Chromium without a window; ``arguments``: more of its command line."""
    return playwright.chromium.launch(executable_path=program, args=[*SWITCHES, *arguments])


@dataclass
class Visitor:
    """The window of one reader. ``complaints``: console errors and warnings (including blocked content) and uncaught
    exceptions; ``requests``: every URL that the browser requested."""

    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, url: str) -> Page:
        """Go to ``url`` and wait until the first page image is there and scripts have taken over."""
        self.page.goto(url)
        wait_for_viewer(self.page)
        return self.page

    def list_origins(self) -> set[str]:
        """Return the origins that the browser has contacted."""
        return {
            f"{urlsplit(url).scheme}://{urlsplit(url).netloc}" for url in self.requests if not url.startswith("data:")
        }

    def watch(self) -> None:
        """Start recording."""
        self.page.set_default_timeout(30_000)  # the server renders pages, which takes a while on a busy machine
        self.page.on("console", self._record_message)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._record_request)

    def _record_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _record_request(self, request: Request) -> None:
        self.requests.append(request.url)


def next_address_header() -> dict[str, str]:
    """Return a header that gives the next reader an address in another network, for a server that trusts this host.
    Many readers of one network would reach its rate limit."""
    upper, lower = divmod(next(_VISITOR_NUMBERS), 250)
    return {"X-Forwarded-For": f"198.18.{upper % 250}.{lower + 1}"}


def desktop_options() -> dict[str, Any]:
    """Return options of a browser context with a desktop window and a desktop user agent."""
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


def wait_for_viewer(page: Page | Frame) -> None:
    """Wait until the first page image is there and scripts have taken over."""
    page.locator(".pages.is-live .page.is-ready:not([inert])").first.wait_for()


def reload_viewer(page: Page) -> None:
    """Reload a share page. Until its scripts have taken over, keys and buttons have no effect."""
    page.reload()
    wait_for_viewer(page)


def wait_for_measurement(page: Page | Frame) -> None:
    """Wait until the open viewer measures reading: its script is loaded when it has taken over, and then begins."""
    page.evaluate("import(document.querySelector('link[rel=modulepreload][href$=\"/reading.js\"]').href)")


def press_to_copy(button: Locator) -> str:
    """Press a button, wait until it reports that it has copied something, which it does only for a moment, and return
    what the clipboard has."""
    page = button.page
    button.evaluate(
        """(button) => {
          new MutationObserver(() => { window.copied ??= button.textContent; }).observe(button, { childList: true });
        }"""
    )
    button.click()
    assert page.wait_for_function("() => window.copied").json_value() == "Copied"
    return str(page.evaluate("navigator.clipboard.readText()"))


def stop_clock(page: Page) -> None:
    """Stop the clock that Playwright has installed in ``page``, a little ahead of now, because the call takes a while,
    longer on a busy machine."""
    for ahead in (0.2, 1, 5, 25):
        with suppress(Error):
            page.clock.pause_at(page.evaluate("Date.now()") / 1_000 + ahead)
            return
    raise AssertionError("the clock of the page cannot be stopped")


def wait_for_requests(page: Page, held: Sized, count: int = 1) -> None:
    """Wait until ``count`` requests of ``page`` are ``held``. The browser reports them later than the page acts."""
    while len(held) < count:
        page.wait_for_timeout(10)


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


def send_note(page: Page | Frame, text: str, author: str = "Ada") -> None:
    """Open the panel of notes, write a note and send it, without waiting for the response."""
    page.locator("#notes-open").click()
    page.get_by_label("Your note").fill(text)
    page.locator("#note-author").fill(author)
    page.get_by_role("button", name="Send").click()


def read_to_page_three(person: Visitor, link: str) -> None:
    """Open the link, read three pages for two seconds each, and close the page."""
    page = person.open(link)
    wait_for_measurement(page)
    page.wait_for_timeout(2_000)
    for number in (2, 3):
        page.keyboard.press("ArrowRight")
        wait_for_page(page, number)
        page.wait_for_timeout(2_000)
    page.close(run_before_unload=True)


def slow_down(page: Page) -> None:
    """Let ``page`` run as on a processor with a twentieth of the speed."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 20})


def hold_timers_until_first_image(page: Page) -> None:
    """Start no timer of 3 seconds or more in ``page`` before its first image is loaded, from its next load on. After 3
    seconds without it, the viewer loads other images too, and a busy machine can take longer."""
    page.add_init_script(
        """
        {
          const [start, waiting] = [window.setTimeout, []];
          let isLoaded = false;
          window.setTimeout = (...timer) =>
            isLoaded || !(timer[1] >= 3_000) ? start(...timer) : void waiting.push(timer);
          document.addEventListener("load", (event) => {
            isLoaded ||= Boolean(event.target.matches?.(".page-image"));
            if (isLoaded) for (const timer of waiting.splice(0)) start(...timer);
          }, true);
        }
        """
    )


def record_layout_shifts(page: Page) -> None:
    """Record layout shifts of ``page`` from its next load on."""
    page.add_init_script(
        """
        window.shifts = [];
        new PerformanceObserver((list) => {
          const box = (rect) => [rect.x, rect.y, rect.width, rect.height].join(" ");
          const name = ({ node }) => (node?.nodeType === 1 ? node : node?.parentElement)?.outerHTML.slice(0, 80);
          const moved = (source) => `${name(source)}: ${box(source.previousRect)} to ${box(source.currentRect)}`;
          for (const entry of list.getEntries()) window.shifts.push([entry.value, ...entry.sources.map(moved)]);
        }).observe({ type: "layout-shift", buffered: true });
        """
    )


def list_layout_shifts(page: Page) -> list[list[Any]]:
    """Return the layout shifts since the load: of each, its score and the elements that moved, with both positions."""
    shifts: list[list[Any]] = page.evaluate("window.shifts")
    return shifts


def intercept_requests(page: Page) -> None:
    """Intercept all requests of ``page`` from its next load until it is closed. Otherwise the browser starts to
    intercept with the first route, and requests that an open page sends at that moment would bypass the route."""
    page.route("http://nobody.invalid/", lambda route: route.abort())


class RequestGate:
    """Holds requests that match one of ``patterns`` until ``open`` is called. ``held``: the waiting requests."""

    def __init__(self, page: Page, *patterns: str) -> None:
        self.held: list[Route] = []
        self._open = False
        self._page = page
        for pattern in patterns:
            page.route(pattern, self._hold_route)

    def wait(self, count: int = 1) -> None:
        """Wait until ``count`` requests are held."""
        wait_for_requests(self._page, self.held, count)

    def open(self) -> None:
        """Continue the held requests, and hold none from now on."""
        self._open = True
        for route in self.held:
            route.continue_()

    def _hold_route(self, route: Route) -> None:
        if self._open:
            route.continue_()
        else:
            self.held.append(route)


def save_screenshot(page: Page, name: str) -> None:
    """Save a screenshot of the whole page if DOCSHARE_TEST_SHOTS names a directory."""
    if SCREENSHOT_DIR:
        page.screenshot(path=str(Path(SCREENSHOT_DIR) / f"{name}.png"), full_page=True)


def is_within_window(page: Page) -> bool:
    """Return whether nothing overflows the window horizontally."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width == 0
