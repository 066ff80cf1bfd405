"""The front page with anonymous uploads: file selection, drag and drop, progress and errors."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, Page, Route, expect

from docshare.contract.amounts import format_size
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import PHONE, visitor
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, run_server

_DROP = """([name, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name, { type: "application/pdf" }));
  for (const kind of ["dragover", "drop"]) {
    document.querySelector("h1").dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""


@pytest.fixture(scope="module")
def anonymous_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("site")
    with run_server(
        folder,
        DOCSHARE_ANONYMOUS_UPLOADS="on",
        DOCSHARE_ANONYMOUS_LIMIT="200000",
        DOCSHARE_TRUSTED_PROXIES="127.0.0.1/32",
    ) as running:
        yield running


@pytest.fixture
def page(browser: Browser, anonymous_server: ServerProcess) -> Iterator[Page]:
    with visitor(browser) as person:
        person.page.goto(anonymous_server.url)
        yield person.page


def choose_file(page: Page, content: bytes, name: str = "leaflet.pdf") -> None:
    page.locator("#file").set_input_files({"name": name, "mimeType": "application/pdf", "buffer": content})


def test_a_selected_file_becomes_a_working_link(page: Page, anonymous_server: ServerProcess) -> None:
    choose_file(page, simple_pdf(pages=2))
    link = page.locator("#link")
    expect(link).to_have_text(re.compile(f"^{re.escape(anonymous_server.url)}/[0-9A-Za-z]{{12}}$"))
    expect(page.locator("#done")).to_be_focused()
    expect(page.get_by_text("Choose a PDF")).to_be_hidden()
    page.locator("summary").click()
    claim = page.locator("#claim").inner_text()
    assert re.fullmatch("ds_ct_[0-9A-Za-z]{32,}", claim)
    claimed = requests.post(
        f"{anonymous_server.url}/api/v1/files/claim",
        headers=anonymous_server.headers,
        json={"claimToken": claim},
        timeout=10,
    )
    assert claimed.status_code == 200
    link.click()
    expect(page.locator("h1")).to_have_text("leaflet.pdf")


def test_a_file_can_be_dropped_anywhere(page: Page) -> None:
    page.evaluate(_DROP, ["dropped.pdf", list(simple_pdf(pages=1))])
    expect(page.locator("#done")).to_be_visible()


def test_a_file_that_is_not_a_document_shows_an_error_and_another_can_be_selected(page: Page) -> None:
    choose_file(page, b"hello", "notes.pdf")
    expect(page.get_by_role("alert")).to_contain_text("not")
    expect(page.locator("#drop")).to_be_visible()
    choose_file(page, simple_pdf(pages=1))
    expect(page.locator("#done")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text("")


def test_a_file_that_is_too_large_is_not_sent(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    choose_file(page, b"%PDF-" + b"x" * 300_000)
    message = "This file is 293 kB; the limit is 195 kB."
    expect(page.get_by_role("alert")).to_have_text(message)
    assert [url for url in asked if "/api/" in url] == []


def test_the_script_writes_a_size_as_the_server_does(page: Page) -> None:
    sizes = [0, 1_023, 1_024, 1_076, 10_188, 10_189, 10_752, 1_048_063, 1_048_064, 4_404_019, 25 * 2**20, 2**31, 2**40]
    address = page.evaluate(
        "performance.getEntriesByType('resource').map(it => it.name).find(it => /sending/.test(it))"
    )
    shown = page.evaluate("async ([from, sizes]) => sizes.map((await import(from)).size)", [address, sizes])
    assert shown == [format_size(size) for size in sizes]


def test_an_upload_shows_its_progress_and_can_be_canceled(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/files", lambda route: held.append(route))  # without a response
    page.reload()
    choose_file(page, simple_pdf(pages=1))
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#drop")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text("")


def test_a_missing_network_is_reported(page: Page) -> None:
    page.context.set_offline(True)
    choose_file(page, simple_pdf(pages=1))
    expect(page.get_by_role("alert")).to_have_text("The server did not answer. Check your connection and try again.")


def test_a_rate_limit_is_reported(page: Page) -> None:
    problem = {"status": 429, "code": "rate_limited", "detail": "Too many requests.", "hint": "Wait a while."}
    page.route("**/api/files", lambda route: route.fulfill(status=429, json=problem))
    page.reload()
    choose_file(page, simple_pdf(pages=1))
    expect(page.get_by_role("alert")).to_have_text("Too many requests. Wait a while.")


def test_another_file_can_be_shared(page: Page) -> None:
    for _ in range(2):
        choose_file(page, simple_pdf(pages=1))
        expect(page.locator("#done")).to_be_visible()
        page.get_by_role("button", name="Share another").click()
        expect(page.locator("#drop")).to_be_visible()


def test_the_file_input_is_the_first_tab_stop(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator("#file")).to_be_focused()


@pytest.mark.parametrize("options", [{}, {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE}], ids=str)
def test_the_page_fits_the_window_and_has_no_violation(
    browser: Browser, anonymous_server: ServerProcess, options: dict[str, object]
) -> None:
    with visitor(browser, **options) as person:
        person.page.goto(anonymous_server.url)
        assert find_violations(person.page) == []
        choose_file(person.page, simple_pdf(pages=1))
        expect(person.page.locator("#done")).to_be_visible()
        assert find_violations(person.page) == []
        assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_request_goes_to_another_site(browser: Browser, anonymous_server: ServerProcess) -> None:
    asked: list[str] = []
    with visitor(browser) as person:
        person.page.on("request", lambda request: asked.append(request.url))
        person.page.goto(anonymous_server.url)
        choose_file(person.page, simple_pdf(pages=1))
        expect(person.page.locator("#done")).to_be_visible()
    assert [url for url in asked if not url.startswith(anonymous_server.url)] == []


def test_without_scripts_the_page_shows_the_command(browser: Browser, anonymous_server: ServerProcess) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        person.page.goto(anonymous_server.url)
        expect(person.page.get_by_text("docshare public upload")).to_be_visible()
        expect(person.page.locator("#drop")).to_be_hidden()


def test_without_anonymous_uploads_the_page_has_no_form(browser: Browser, server: ServerProcess) -> None:
    with visitor(browser) as person:
        person.page.goto(server.url)
        expect(person.page.locator("input")).to_have_count(0)
