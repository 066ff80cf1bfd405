"""Fixtures for tests that count readers: an instance, an ordinary Chromium, and a new document."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from docshare.server.pdf.engine import PdfEngine
from tests.support.browsers.browser import CHROMIUM, DESKTOP
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.people.cast import World, make_runtime, make_world
from tests.support.people.measured_document import MeasuredDocument
from tests.support.servers.in_process_server import RunningClock, serve_world


@pytest.fixture(scope="module")
def live_instance(tmp_path_factory: pytest.TempPathFactory, engine: PdfEngine) -> Iterator[tuple[World, str]]:
    """Yield an instance with a clock that can be advanced, and its address."""
    clock = RunningClock()
    world = make_world(make_runtime(tmp_path_factory.mktemp("counting"), clock, engine, rate_limit=100_000), clock)
    with serve_world(world) as url:
        yield world, url
    world.rt.pages.close()
    world.rt.db.close()


@pytest.fixture(scope="module")
def plain_browser(browser: Browser) -> Iterator[Browser]:
    """Yield a Chromium whose requests have an ordinary user agent, even after a page was closed."""
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", f"--user-agent={DESKTOP}"]
    ordinary = browser.browser_type.launch(executable_path=CHROMIUM, args=switches)
    yield ordinary
    ordinary.close()


@pytest.fixture
def document(live_instance: tuple[World, str]) -> MeasuredDocument:
    world, url = live_instance
    short_id = str(world.pia.upload(simple_pdf(pages=5, size=A4))["shortId"])
    return MeasuredDocument(world, short_id, f"{url}/{short_id}")
