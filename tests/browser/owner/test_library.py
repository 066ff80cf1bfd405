"""The library in a real browser: uploads by drag and drop and file selection, copying links, and layout."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.owner.conftest import (
    LONG_NAME,
    WINDOWS,
    get_page_and_window_width,
    sign_in_to_library,
    upload,
)
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import RequestGate, visitor, wait_for_requests
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, run_server

_NUMBERS = itertools.count()  # makes names unique across retries

_DROP = """([where, files]) => {
  const data = new DataTransfer();
  for (const [name, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name));
  for (const kind of ["dragover", "drop"]) {
    document.querySelector(where).dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""


@pytest.fixture
def free_server(tmp_path: Path) -> Iterator[ServerProcess]:
    """Yield a server whose owner is on Free and has no files yet."""
    with run_server(tmp_path, tier="free", DOCSHARE_TRUSTED_PROXIES="127.0.0.1/32") as running:
        yield running


def make_payload(name: str, content: bytes | None = None) -> dict[str, Any]:
    return {"name": name, "mimeType": "application/pdf", "buffer": content or simple_pdf(pages=2)}


def find_upload_line(page: Page, name: str) -> Any:
    """Return the line of the upload of the file ``name``."""
    return page.locator("#uploads li").filter(has_text=name)


# --- uploads ---------------------------------------------------------------------------------------------------------


def test_selected_files_become_links_that_can_be_copied_and_are_listed(
    library_page: Page, owner_server: ServerProcess
) -> None:
    one, two, three = (f"{word} {next(_NUMBERS)}.pdf" for word in ("one", "two", "three"))
    library_page.locator("#file").set_input_files([make_payload(one), make_payload(two), make_payload(three)])
    for name in (one, two, three):
        link = find_upload_line(library_page, name).locator(f"a[href^='{owner_server.url}/']").first
        expect(link).to_have_text(re.compile(f"^{re.escape(owner_server.url)}/[0-9A-Za-z]{{12}}$"))
        expect(library_page.locator("#library h2").filter(has_text=name)).to_have_count(1)
    line = find_upload_line(library_page, two)
    line.get_by_role("button", name=f"Copy the link of {two}").click()
    expect(line.get_by_text("Copied")).to_be_visible()
    copied = library_page.evaluate("navigator.clipboard.readText()")
    assert copied == line.locator("a").first.inner_text()
    library_page.goto(copied)
    expect(library_page.locator("h1")).to_have_text(two)


def test_what_the_server_says_about_a_document_stands_next_to_its_link(
    library_page: Page, owner_server: ServerProcess
) -> None:
    answer = {
        "uuid": "0b8e7d5c-3f0e-4f4f-9d0c-2a7b1f6c8e11",
        "shareUrl": f"{owner_server.url}/aB3dE5fG7hJ9",
        "message": "A linked picture was left out.",
        "leftOut": ["https://example.org/a.png"],
        "warning": "Page 1 is slow.",
    }
    library_page.route("**/api/account/files", lambda route: route.fulfill(json=answer))
    library_page.locator("#file").set_input_files([make_payload("slow.pdf")])
    line = find_upload_line(library_page, "slow.pdf")
    for text in (answer["message"], answer["warning"]):
        expect(line).to_contain_text(text)


@pytest.mark.parametrize("where", ["h1", "#drop", ".top", "#library"])
def test_files_can_be_dropped_anywhere_on_the_page(library_page: Page, where: str) -> None:
    files = [[f"dropped {number}.pdf", list(simple_pdf(pages=1))] for number in (1, 2)]
    library_page.evaluate(_DROP, [where, files])
    for name, _ in files:
        expect(find_upload_line(library_page, str(name)).get_by_role("button", name="Copy")).to_be_visible()


def test_a_file_that_is_not_a_document_shows_an_error_next_to_successful_uploads(library_page: Page) -> None:
    library_page.locator("#file").set_input_files([make_payload("notes.pdf", b"hello"), make_payload("good.pdf")])
    expect(find_upload_line(library_page, "good.pdf").get_by_role("button", name="Copy")).to_be_visible()
    bad = find_upload_line(library_page, "notes.pdf")
    expect(bad.locator(".wrong")).to_contain_text("PDF")
    bad.get_by_role("button", name="Remove notes.pdf from this list").click()
    expect(bad).to_have_count(0)
    expect(library_page.locator("#file")).to_be_focused()


@pytest.fixture
def held_uploads(library_page: Page) -> list[Route]:
    """Hold all uploads without a response and return their routes."""
    waiting: list[Route] = []
    library_page.route("**/api/account/files", lambda route: waiting.append(route))
    return waiting


def test_an_upload_shows_its_progress_and_can_be_canceled(library_page: Page, held_uploads: list[Route]) -> None:
    library_page.locator("#file").set_input_files([make_payload("slow.pdf")])
    expect(library_page.get_by_role("progressbar", name="Progress of slow.pdf")).to_be_visible()
    expect(find_upload_line(library_page, "slow.pdf").locator(".sent-words")).to_have_text(
        re.compile("Sending|Creating the link|Waiting")
    )
    wait_for_requests(library_page, held_uploads)
    library_page.get_by_role("button", name="Cancel slow.pdf").click()
    expect(find_upload_line(library_page, "slow.pdf")).to_have_count(0)
    expect(library_page.locator("#uploads")).to_be_hidden()
    assert len(held_uploads) == 1


def test_more_than_two_uploads_are_queued_and_can_be_canceled(library_page: Page, held_uploads: list[Route]) -> None:
    library_page.locator("#file").set_input_files([make_payload(f"{word}.pdf") for word in ("ant", "bee", "cat")])
    expect(find_upload_line(library_page, "cat.pdf")).to_contain_text("Waiting")
    wait_for_requests(library_page, held_uploads, 2)
    library_page.get_by_role("button", name="Cancel cat.pdf").click()
    expect(find_upload_line(library_page, "cat.pdf")).to_have_count(0)
    for word in ("ant", "bee"):
        library_page.get_by_role("button", name=f"Cancel {word}.pdf").click()
    expect(library_page.locator("#uploads li")).to_have_count(0)
    assert len(held_uploads) == 2


def test_a_search_that_begins_while_the_list_is_loaded_after_an_upload_keeps_the_focus(
    library_page: Page, owner_server: ServerProcess
) -> None:
    upload(owner_server, "early.pdf")
    library_page.reload()
    gate = RequestGate(library_page, f"{owner_server.url}/files")
    library_page.locator("#file").set_input_files([make_payload("quick.pdf")])
    gate.wait()
    field = library_page.get_by_label("Search by name")
    field.focus()
    with library_page.expect_event("requestfinished", lambda request: request.url == f"{owner_server.url}/files"):
        gate.open()
    library_page.keyboard.type("quick")
    expect(field).to_have_value("quick")
    expect(library_page).to_have_url(f"{owner_server.url}/files?q=quick")


def test_an_upload_that_ends_during_a_search_does_not_cancel_it(
    library_page: Page, owner_server: ServerProcess
) -> None:
    for name in ("early.pdf", "sought.pdf"):
        upload(owner_server, name)
    library_page.reload()
    gate = RequestGate(library_page, f"{owner_server.url}/files?q=sought")
    field = library_page.get_by_label("Search by name")
    field.fill("sought")
    gate.wait()
    field.blur()
    library_page.locator("#file").set_input_files([make_payload("meanwhile.pdf")])
    expect(find_upload_line(library_page, "meanwhile.pdf").get_by_role("link", name="Settings")).to_be_visible()
    field.focus()
    gate.open()
    expect(library_page.locator(".item h2")).to_have_text(["sought.pdf"])
    expect(field).to_have_value("sought")


def test_an_upload_after_signing_out_shows_an_error(library_page: Page) -> None:
    library_page.context.clear_cookies()
    library_page.locator("#file").set_input_files([make_payload("late.pdf")])
    expect(find_upload_line(library_page, "late.pdf")).to_contain_text("sign in, and choose the file again.")
    library_page.wait_for_load_state("networkidle")  # reloading the list would have led to the sign-in page
    expect(find_upload_line(library_page, "late.pdf")).to_contain_text("You are no longer signed in.")


def test_an_upload_without_a_network_shows_an_error(library_page: Page) -> None:
    library_page.route("**/api/account/files", lambda route: route.abort())
    library_page.locator("#file").set_input_files([make_payload("cut.pdf")])
    expect(find_upload_line(library_page, "cut.pdf")).to_contain_text("The server did not answer.")


# --- a first visit on Free -------------------------------------------------------------------------------------------


def test_the_first_upload_replaces_the_welcome_and_a_fourth_is_rejected(
    browser: Browser, free_server: ServerProcess
) -> None:
    with visitor(browser) as person:
        page = sign_in_to_library(person, free_server)
        expect(page.get_by_text("Share your first document")).to_be_visible()
        page.locator("#file").set_input_files([make_payload("first.pdf")])
        expect(page.locator("#library h2")).to_have_text(["first.pdf"])
        expect(page.locator(".slots")).to_contain_text("1 of 3 files on the free plan.")
        page.locator("#file").set_input_files([make_payload(f"{number}.pdf") for number in range(3)])
        expect(page.locator(".slots")).to_contain_text("3 of 3 files on the free plan. To share another one, delete")
        expect(page.locator("#uploads .wrong")).to_contain_text("file slots of the account are in use")
        page.get_by_role("link", name="Delete first.pdf").click()
        expect(page.get_by_text("This cannot be undone.")).to_be_visible()
        page.get_by_role("button", name="Delete for good").click()
        expect(page.get_by_role("status").first).to_have_text("The file was permanently deleted.")
        expect(page.locator(".slots")).to_contain_text("2 of 3 files")


def test_a_pdf_that_is_too_large_is_not_sent(browser: Browser, free_server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "huge.pdf").write_bytes(b"%PDF-" + b"x" * (20 * 1024 * 1024))
    with visitor(browser) as person:
        page = sign_in_to_library(person, free_server)
        page.locator("#file").set_input_files(tmp_path / "huge.pdf")
        expect(page.locator("#uploads .wrong")).to_contain_text("This file is 20 MB")
        assert [url for url in person.requests if "/api/" in url] == []


# --- the list --------------------------------------------------------------------------------------------------------


def test_thumbnails_load_and_links_can_be_copied_from_the_list(library_page: Page, owner_server: ServerProcess) -> None:
    uuid = upload(owner_server, "pictured.pdf", password="correct horse", slug="pictured")
    library_page.reload()
    item = library_page.locator(".item").filter(has_text="pictured.pdf")
    picture = item.locator("img")
    expect(picture).to_be_visible()
    library_page.wait_for_function(
        "image => image.complete && image.naturalWidth === 160", arg=picture.element_handle()
    )
    item.get_by_role("button", name="Copy link of pictured.pdf").click()
    expect(item.get_by_text("Copied")).to_be_visible()
    assert library_page.evaluate("navigator.clipboard.readText()") == f"{owner_server.url}/pictured"
    with library_page.expect_download() as download:
        item.get_by_role("link", name="QR code of pictured.pdf").click()
    assert re.fullmatch(r"[0-9A-Za-z]{12}\.png", download.value.suggested_filename)
    settings = item.get_by_role("link", name="Settings of pictured.pdf")
    assert settings.get_attribute("href") == f"/files/{uuid}/settings"


def test_a_file_can_be_trashed_restored_and_deleted_permanently(
    library_page: Page, owner_server: ServerProcess
) -> None:
    upload(owner_server, "unwanted.pdf")
    library_page.goto(f"{owner_server.url}/files?q=unwanted")
    library_page.get_by_role("link", name="Delete unwanted.pdf").click()
    library_page.get_by_role("button", name="Move to the trash").click()
    expect(library_page.get_by_role("status").first).to_contain_text("The file is in the trash until")
    library_page.get_by_role("link", name="Trash", exact=True).click()
    library_page.get_by_role("button", name="Restore unwanted.pdf").click()
    expect(library_page.get_by_role("heading", name="unwanted.pdf")).to_be_visible()
    library_page.get_by_role("link", name="Delete unwanted.pdf").click()
    library_page.get_by_role("link", name="delete it for good").click()
    library_page.get_by_role("button", name="Delete for good").click()
    expect(library_page.get_by_role("heading", name="unwanted.pdf")).to_have_count(0)


def test_the_rows_of_the_list_are_low_and_their_parts_share_lines(
    library_page: Page, owner_server: ServerProcess
) -> None:
    for name in ("low.pdf", "W" * 20 + ".pdf"):
        upload(owner_server, name)
    library_page.set_viewport_size({"width": 1440, "height": 900})
    library_page.goto(f"{owner_server.url}/files")
    rows = library_page.locator(".item")
    expect(rows.nth(1)).to_be_visible()
    for at in (0, 1):
        copy = rows.nth(at).get_by_role("button", name="Copy link").bounding_box()
        delete = rows.nth(at).get_by_role("link", name="Delete").bounding_box()
        row = rows.nth(at).bounding_box()
        assert copy is not None
        assert delete is not None
        assert row is not None
        assert abs(copy["y"] - delete["y"]) < 8
        assert row["height"] <= 112
    first = rows.first.bounding_box()
    assert first is not None
    assert first["y"] < 400


def test_without_scripts_the_list_works_and_explains_how_to_upload(
    browser: Browser, owner_server: ServerProcess
) -> None:
    upload(owner_server, "plain.pdf")
    with visitor(browser, java_script_enabled=False) as person:
        page = sign_in_to_library(person, owner_server)
        page.get_by_label("Search by name").fill("plain")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#library h2")).to_have_text(["plain.pdf"])
        expect(page.get_by_text("Sharing from this page needs JavaScript.")).to_be_visible()
        expect(page.get_by_role("button", name="Copy")).to_have_count(0)
        page.get_by_role("link", name="Delete plain.pdf").click()
        page.get_by_role("button", name="Move to the trash").click()
        page.goto(f"{owner_server.url}/trash")
        expect(page.get_by_role("button", name="Restore plain.pdf")).to_be_visible()


# --- looks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", WINDOWS, ids=["desktop", "dark", "phone"])
def test_library_and_trash_fit_every_window_and_have_no_violation(
    browser: Browser, owner_server: ServerProcess, options: dict[str, Any]
) -> None:
    uuid = upload(owner_server, LONG_NAME, password="correct horse", allowDownload=False, viewLimit=5, watermark=True)
    upload(owner_server, "over.pdf")
    gone = upload(owner_server, LONG_NAME)
    requests.delete(f"{owner_server.url}/api/v1/files/{gone}", headers=owner_server.headers, timeout=30)
    with visitor(browser, **options) as person:
        page = sign_in_to_library(person, owner_server)
        page.locator("#file").set_input_files([make_payload(LONG_NAME), make_payload("notes.pdf", b"hello")])
        expect(page.locator("#uploads .wrong")).to_be_visible()
        expect(page.locator("#uploads").get_by_role("button", name="Copy")).to_be_visible()
        for address in (None, "/files?q=nothing", "/trash", f"/files/{uuid}/delete", f"/trash/{gone}/delete"):
            if address:
                page.goto(owner_server.url + address)
            assert find_violations(page) == [], address
            whole, window = get_page_and_window_width(page)
            assert whole <= window, address
