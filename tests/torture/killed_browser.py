"""Kill a real browser (SIGKILL) while it reads, and measure how much reading time and which pages are lost.

python -m tests.torture.killed_browser [KILLS]

Prints the true and the counted reading time of every kill. This program measures the true time from the display of the
page to the kill; it includes a little extra time for pressing keys and for the kill.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.readership import viewing
from tests.support.browsers.browser import CHROMIUM, DESKTOP, SWITCHES, wait_for_page
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.people.cast import World, make_runtime, make_world
from tests.support.polling import wait_until
from tests.support.servers.in_process_server import RunningClock, serve_world

LOST_MS = 3_000
SEEN_MS = 1_000
PAGES = 5
KILLS = 12
_OPEN = ("01", "08")  # established, and closed by the other side only (tcp_states.h)


@dataclass(frozen=True)
class ReadingLoss:
    """The result of one kill: true and counted reading time by page."""

    true_ms: dict[int, float]
    counted_ms: dict[int, int]

    @property
    def lost_ms(self) -> float:
        return sum(self.true_ms.values()) - sum(self.counted_ms.values())

    @property
    def lost_pages(self) -> list[int]:
        """Return the pages that were read for more than a second and were not counted."""
        slack = 150  # extra time of key presses and of the kill
        return [
            page
            for page, spent in self.true_ms.items()
            if spent > SEEN_MS + slack and self.counted_ms.get(page, 0) < SEEN_MS
        ]


@contextmanager
def launch_killable(playwright: Playwright) -> Iterator[tuple[Browser, int]]:
    """Launch Chromium; return it with the ID of its process group."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [f"--user-data-dir={profile}", "--headless=new", "--remote-debugging-port=0"]
        command = [CHROMIUM, *options, *SWITCHES, f"--user-agent={DESKTOP}", "about:blank"]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            port_file = Path(profile) / "DevToolsActivePort"
            deadline = time.monotonic() + 60
            while not port_file.exists() or "\n" not in port_file.read_text():
                assert time.monotonic() < deadline, "Chromium did not start"
                time.sleep(0.05)
            port = port_file.read_text().split()[0]
            yield playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}"), process.pid
        finally:
            kill_browser(process.pid)
            process.wait()


def kill_browser(group: int) -> None:
    """Kill all processes of the browser at once, like the OOM killer."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def has_connections(port: int) -> bool:
    """Return whether this process has open connections that its server on ``port`` of 127.0.0.1 accepted."""
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return any(int(local.rpartition(":")[2], 16) == port and state in _OPEN for _, local, _, state, *_ in rows)


def read_and_kill(playwright: Playwright, world: World, url: str, seconds: list[float]) -> ReadingLoss:
    """Read one page after another for the given seconds, and kill the browser on the last page."""
    short_id = str(world.pia.upload(simple_pdf(pages=PAGES, size=A4))["shortId"])
    true_ms: dict[int, float] = {}
    with launch_killable(playwright) as (browser, group):
        page: Page = browser.contexts[0].new_page()
        page.goto(f"{url}/{short_id}")
        page.locator(".pages.is-live .page.is-ready:not([inert])").first.wait_for()
        page.keyboard.press("Shift")
        for number, spent in enumerate(seconds, start=1):
            wait_for_page(page, number)
            shown_at = time.monotonic()
            time.sleep(spent)
            if number < len(seconds):
                page.keyboard.press("ArrowRight")
            else:
                kill_browser(group)
            true_ms[number] = (time.monotonic() - shown_at) * 1_000
    wait_until(lambda: not has_connections(urlsplit(url).port or 0))  # the server has read what the browser sent
    world.clock.advance(minutes=6)
    viewing.end_due_sessions(world.rt)
    counted = world.rt.db.fetch_all(
        "SELECT p.page, p.time_ms FROM session_pages p JOIN view_sessions s ON s.id = p.session_id "
        "JOIN files f ON f.id = s.file_id WHERE f.short_id = ? AND s.counted_at IS NOT NULL",
        (short_id,),
    )
    return ReadingLoss(true_ms, dict(counted))


def make_reading_plans(kills: int) -> Iterator[list[float]]:
    """Yield reading times by page: first those of a reported bug, then random ones."""
    chance = random.Random(13)
    yield [2.5, 7.3]
    yield [2.5, 1.1]
    for _ in range(kills - 2):
        yield [2.5, *(round(chance.uniform(0.8, 3), 2) for _ in range(chance.randint(0, 2))), chance.uniform(1, 14)]


def measure_losses(readings: Iterable[list[float]]) -> Iterator[ReadingLoss]:
    """Read and kill once for each of ``readings`` (seconds by page) on one server; yield the losses."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(PdfEngine(workers=1)) as engine,
        sync_playwright() as playwright,
    ):
        clock = RunningClock()
        world = make_world(make_runtime(Path(folder), clock, engine, rate_limit=100_000), clock)
        with closing(world.rt.pages), closing(world.rt.db), serve_world(world) as url:
            for seconds in readings:
                yield read_and_kill(playwright, world, url, seconds)


def main(kills: int = KILLS) -> int:
    """Kill ``kills`` browsers and return the exit code."""
    worst, missing = 0.0, 0
    for loss in measure_losses(make_reading_plans(kills)):
        worst, missing = max(worst, loss.lost_ms), missing + len(loss.lost_pages)
        read = ", ".join(f"{page}: {spent / 1_000:.2f}" for page, spent in loss.true_ms.items())
        counted = ", ".join(f"{page}: {spent / 1_000:.2f}" for page, spent in loss.counted_ms.items())
        print(f"read {read} s; counted {counted} s; lost {loss.lost_ms / 1_000:.2f} s {loss.lost_pages or ''}")
    is_ok = worst <= LOST_MS and not missing
    print(
        f"{kills} kills: at most {worst / 1_000:.2f} s lost (may be {LOST_MS / 1_000:g}), {missing} pages lost: ",
        end="",
    )
    print("ok" if is_ok else "FAILED")
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
