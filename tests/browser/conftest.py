"""Fixtures for tests that open share links in a real browser, on a server in a separate process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.support.browsers.browser import ENGINE, Visitor, desktop_options, launch, next_address_header, visitor
from tests.support.browsers.paged_viewer import PublishInMode, make_publisher
from tests.support.servers.server_process import ServerProcess, run_server

ShareDocument = Callable[..., str]

# On a busy machine a browser can stall for seconds; on an idle one, expectations are met immediately.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launch(playwright, ENGINE)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("server")
    # All tests of a worker upload with the same API key.
    with run_server(folder, DOCSHARE_TRUSTED_PROXIES="127.0.0.1/32", DOCSHARE_RATE_LIMIT="100000") as running:
        yield running


@pytest.fixture(scope="session")
def share(server: ServerProcess) -> ShareDocument:
    """Return a function that uploads ``content`` under ``name`` and returns the share URL."""

    def upload(content: bytes, name: str = "report.pdf") -> str:
        answer = requests.post(
            f"{server.url}/api/v1/files", headers=server.headers, files={"file": (name, content)}, timeout=30
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["shareUrl"])

    return upload


@pytest.fixture(scope="session")
def publish(server: ServerProcess, share: ShareDocument) -> PublishInMode:
    return make_publisher(server, share)


@pytest.fixture(scope="session")
def desktop_context(browser: Browser) -> Iterator[BrowserContext]:
    """Yield one browser profile for all desktop readers: its cache has the scripts, which saves half the time."""
    context = browser.new_context(**desktop_options())
    yield context
    context.close()


@pytest.fixture
def desktop_visitor(desktop_context: BrowserContext) -> Iterator[Visitor]:
    """Yield a desktop reader; the test fails if the browser reports an error."""
    person = Visitor(desktop_context, desktop_context.new_page())
    person.page.set_extra_http_headers(next_address_header())
    person.watch()
    yield person
    person.page.close()
    assert person.complaints == []


@pytest.fixture
def clock_visitor(browser: Browser) -> Iterator[Visitor]:
    """Yield a desktop reader with a clock in its pages that the test can stop, in a separate profile: Playwright
    installs a clock in all pages of a profile."""
    with visitor(browser) as person:
        person.page.clock.install()
        yield person
        assert person.complaints == []
