"""Documents in viewer modes that turn pages, and the state of their viewer."""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

import requests
from playwright.sync_api import CDPSession, Page

from tests.support.servers.server_process import ServerProcess

PAGED_MODES = ("flipbook", "swipe", "magazine")

PublishInMode = Callable[..., str]


def make_publisher(server: ServerProcess, share: Callable[[bytes, str], str]) -> PublishInMode:
    """Return a function that shares ``content`` in the viewer ``mode``, with ``blocks`` of viewerSettings, and returns
    the share link."""

    def publish(content: bytes, mode: str, **blocks: object) -> str:
        url = share(content, "Turned.pdf")
        path = f"{server.url}/api/v1/files{urlsplit(url).path}/settings"
        body = {"viewerMode": mode, "viewerSettings": blocks}
        assert requests.put(path, headers=server.headers, json=body, timeout=30).status_code == 200
        return url

    return publish


def visible_pages(page: Page) -> list[int]:
    """Return the pages that a reader sees and can reach."""
    numbers = page.locator(".pages > .page:not([inert])").evaluate_all("all => all.map((one) => +one.dataset.page)")
    return sorted(numbers)


def page_box(page: Page, number: int) -> dict[str, float]:
    found = page.locator(f".pages > .page[data-page='{number}']").bounding_box()
    assert found is not None
    return dict(found)


def wait_for_rest(page: Page) -> None:
    """Wait until no animation runs."""
    page.wait_for_function(
        "() => !document.querySelector('.book-scene, .is-passing') && document.querySelector('#pages')"
        ".getAnimations({ subtree: true }).every((one) => one.playState !== 'running')"
    )


def expect_end_of_scrolling(page: Page) -> None:
    """Prepare ``wait_for_end_of_scrolling``, before the input that scrolls the window."""
    page.evaluate(
        """() => {
          window.hasScrolled = false;
          addEventListener("scrollend", () => { window.hasScrolled = true; }, { once: true });
        }"""
    )


def wait_for_end_of_scrolling(page: Page) -> None:
    """Wait until the window has stopped scrolling."""
    page.wait_for_function("() => window.hasScrolled")


def press_while_page_down_scrolls(page: Page, key: str) -> None:
    """Press ``key`` once Page Down has begun to scroll the window, and wait for as long as that would scroll it."""
    page.evaluate(
        """(key) => addEventListener("scroll", () => {
          document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
          window.hasPressed = true;
        }, { once: true })""",
        key,
    )
    page.keyboard.press("PageDown")
    page.wait_for_function("() => window.hasPressed")
    page.wait_for_timeout(500)


def record_motion(page: Page) -> None:
    """Start recording all animations on the stage, once turns are animated: not before the first frame."""
    page.evaluate(
        """async () => {
          await new Promise(requestAnimationFrame);
          window.moved = [];
          new MutationObserver((changes) => {
            for (const { target, addedNodes } of changes) {
              if (target.style.transform) window.moved.push(target.className);
              for (const node of addedNodes) if (node.className === "book-scene") window.moved.push(node.className);
            }
          }).observe(document.querySelector("#pages"), { subtree: true, childList: true, attributes: true });
          const animate = Element.prototype.animate;
          Element.prototype.animate = function (...how) {
            window.moved.push(this.dataset.page);
            return animate.apply(this, how);
          };
        }"""
    )


def list_motions(page: Page) -> list[str]:
    """Return the recorded animations: class names, and the numbers of pages."""
    return list(page.evaluate("window.moved"))


class TouchInput:
    """Touches of a phone's screen, sent to the browser."""

    def __init__(self, page: Page) -> None:
        self._session: CDPSession = page.context.new_cdp_session(page)

    def touch(self, kind: str, *points: tuple[int, int], at: float | None = None) -> None:
        """Send a touch event; ``at``: its time in seconds since 1970, by default now."""
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        when = {} if at is None else {"timestamp": at}
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches, **when})

    def tap_twice(self, x: int, y: int) -> None:
        """Tap twice within a fifth of a second, however long a busy machine takes to send that."""
        began = time.time()
        for after in (0.0, 0.15):
            self.touch("touchStart", (x, y), at=began + after)
            self.touch("touchEnd", at=began + after + 0.05)

    def swipe(self, start: int, end: int, *, y: int = 400) -> None:
        """Swipe horizontally from ``start`` to ``end`` (in pixels)."""
        self.touch("touchStart", (start, y))
        for step in range(1, 9):
            self.touch("touchMove", (start + (end - start) * step // 8, y))
        self.touch("touchEnd")
