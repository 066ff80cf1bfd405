"""Nothing on the owner's pages moves while they are parsed, or when their scripts start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.owner.conftest import LONG_NAME, PHONE_OPTIONS, sign_in_to_library, upload
from tests.support.browsers.browser import RequestGate, list_layout_shifts, record_layout_shifts, slow_down, visitor
from tests.support.servers.server_process import ServerProcess

TABLET: dict[str, Any] = {"viewport": {"width": 820, "height": 1180}}
WAIT_FOR_PAINT = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
}"""
# The browser reports layout shifts about two frames later.
WAIT_UNTIL_OLD = "() => performance.now() > 2_000"


def wait_for_library(page: Page) -> None:
    expect(page.get_by_label("Select all")).to_be_visible()
    expect(page.get_by_role("button", name="Export CSV")).to_be_disabled()


def wait_for_looks(page: Page) -> None:
    expect(page.locator(".looks-stage.is-scaled")).to_be_visible()
    expect(page.frame_locator(".looks-frame").locator(".page.is-ready").first).to_be_visible()


def wait_for_copying(page: Page) -> None:
    expect(page.locator("[data-copy]:not([hidden])").first).to_be_visible()


@pytest.mark.parametrize("window", [{}, TABLET, PHONE_OPTIONS], ids=["desktop", "tablet", "phone"])
@pytest.mark.parametrize(
    ("address", "wait"),
    [
        ("/files", wait_for_library),
        ("/files?q=pdf", wait_for_library),
        ("/files/{file}/looks", wait_for_looks),
        ("/files/{file}", wait_for_copying),
    ],
    ids=["library", "search", "looks", "file"],
)
def test_nothing_moves_when_the_scripts_start(
    browser: Browser,
    owner_server: ServerProcess,
    window: dict[str, Any],
    address: str,
    wait: Callable[[Page], None],
) -> None:
    """The scripts are held back until the page is painted without them, as on a slow network."""
    file = upload(owner_server, LONG_NAME)
    with visitor(browser, **window) as owner:
        page = sign_in_to_library(owner, owner_server)
        record_layout_shifts(page)
        scripts = RequestGate(page, "**/owner/*.js*")
        page.goto(owner_server.url + address.format(file=file), wait_until="commit")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.evaluate(WAIT_FOR_PAINT)
        scripts.wait()
        scripts.open()
        wait(page)
        page.wait_for_function(WAIT_UNTIL_OLD)
        assert list_layout_shifts(page) == []
        assert owner.complaints == []


@pytest.mark.parametrize("window", [TABLET, PHONE_OPTIONS], ids=["tablet", "phone"])
def test_nothing_moves_while_a_slow_browser_parses_the_page(
    browser: Browser, owner_server: ServerProcess, window: dict[str, Any]
) -> None:
    file = upload(owner_server, LONG_NAME)
    with visitor(browser, **window) as owner:
        page = sign_in_to_library(owner, owner_server)
        record_layout_shifts(page)
        slow_down(page)
        for _ in range(3):  # a browser that paints too early does so in about every third load
            for address in ("/files", "/files?q=pdf", f"/files/{file}"):
                page.goto(owner_server.url + address)
                page.wait_for_function(WAIT_UNTIL_OLD)
                assert list_layout_shifts(page) == []


def test_a_file_that_was_chosen_before_the_script_started_is_uploaded(
    browser: Browser, owner_server: ServerProcess, tmp_path: Path
) -> None:
    document = tmp_path / "early.pdf"
    document.write_bytes(b"not a PDF")
    with visitor(browser) as owner:
        page = sign_in_to_library(owner, owner_server)
        scripts = RequestGate(page, "**/owner/*.js*")
        page.goto(f"{owner_server.url}/files", wait_until="commit")
        page.locator("#file").set_input_files(document)
        scripts.wait()
        scripts.open()
        expect(page.locator(".sent-name")).to_have_text("early.pdf")
        expect(page.locator(".sent-words.wrong")).to_be_visible()
        owner.complaints.clear()  # the browser logs the status
