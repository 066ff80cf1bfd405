"""A document with a page range in a real browser: the viewer and the download contain only the range."""

from pathlib import Path
from urllib.parse import urlsplit

import pypdfium2
import pytest
import requests
from playwright.sync_api import Browser

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import Visitor, current_page_number, visitor, wait_for_page
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf
from tests.support.servers.server_process import ServerProcess

WORDS = ["Alpha", "Bravo", "Charlie", "Delta", "Echo"]


@pytest.fixture(scope="module")
def plan(server: ServerProcess, share: ShareDocument) -> str:
    """Return the URL of pages 2 to 4 of five; Bravo links to Alpha and to Delta."""
    links = [
        f"<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [72 {top} 300 {top + 40}] /Dest [@{page} /Fit] >>"
        for page, top in ((1, 500), (4, 400))
    ]
    sheets = [Sheet(lines_content(word), A4, annots=links if word == "Bravo" else ()) for word in WORDS]
    url = share(sheets_pdf(sheets), "Plan.pdf")
    name = urlsplit(url).path.strip("/")
    answer = requests.put(
        f"{server.url}/api/v1/files/{name}/settings",
        headers=server.headers,
        json={"pageRange": {"from": 2, "to": 4}},
        timeout=30,
    )
    assert answer.status_code == 200, answer.text
    return url


def test_the_viewer_shows_the_range_numbered_from_one(desktop_visitor: Visitor, plan: str) -> None:
    page = desktop_visitor.open(plan)
    assert page.locator(".page-field").inner_text().split()[-1] == "3"
    assert page.locator(".page[data-page='4']").count() == 0
    assert current_page_number(page) == 1
    page.keyboard.press("End")
    wait_for_page(page, 3)
    page.locator(".page[data-page='3'] .page-text").get_by_text("Delta").wait_for(state="attached")
    assert page.locator(".page-text").get_by_text("Alpha").count() == 0


def test_an_internal_link_uses_the_page_numbers_of_the_range(desktop_visitor: Visitor, plan: str) -> None:
    page = desktop_visitor.open(plan)
    links = page.locator(".page[data-page='1'] .page-links a")
    links.first.wait_for(state="attached")
    assert [link.get_attribute("href") for link in links.all()] == ["#page=3"]
    links.first.click()
    wait_for_page(page, 3)


@pytest.mark.parametrize(("word", "found"), [("Charlie", True), ("Echo", False), ("Alpha", False)])
def test_find_does_not_search_hidden_pages(desktop_visitor: Visitor, plan: str, word: str, found: bool) -> None:
    page = desktop_visitor.open(plan)
    page.keyboard.press("f")
    page.locator("#find-words").fill(word)
    wanted = "1 of 1" if found else "No results"
    page.wait_for_function("words => document.querySelector('#find-count').textContent.includes(words)", arg=wanted)


@pytest.mark.parametrize("scripts", [True, False])
def test_the_download_contains_only_the_range(browser: Browser, plan: str, scripts: bool, tmp_path: Path) -> None:
    with visitor(browser, java_script_enabled=scripts) as person:
        person.page.goto(plan)
        with person.page.expect_download() as download_info:
            person.page.get_by_role("button", name="Download").click()
        download_info.value.save_as(tmp_path / "Plan.pdf")
        assert download_info.value.suggested_filename == "Plan.pdf"
        assert person.complaints == []
    with pypdfium2.PdfDocument(tmp_path / "Plan.pdf") as pdf:
        assert [page.get_textpage().get_text_bounded() for page in pdf] == WORDS[1:4]
