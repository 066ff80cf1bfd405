"""The list of the library in a real browser: search as you type, selection, keys."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.owner.conftest import (
    LONG_NAME,
    WINDOWS,
    get_page_and_window_width,
    sign_in_to_library,
    upload,
)
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import RequestGate, stop_clock, visitor
from tests.support.servers.server_process import ServerProcess

_NUMBERS = itertools.count()  # makes names unique across retries


@pytest.fixture
def plans(library_page: Page, owner_server: ServerProcess) -> list[str]:
    """Upload three plans and another file, show the library, and return the names of the plans, newest first."""
    number = next(_NUMBERS)
    names = [f"plan{number} {word}.pdf" for word in ("ant", "bee", "cat")]
    for name in (*names, f"other{number}.pdf"):
        upload(owner_server, name)
    library_page.goto(f"{owner_server.url}/files")
    return names[::-1]


def test_the_list_follows_the_search_and_so_does_the_address(library_page: Page, plans: list[str]) -> None:
    """One request is sent per pause, and the field keeps the focus."""
    word = plans[0].split()[0]
    library_page.clock.install()
    stop_clock(library_page)  # a busy machine could pause between two keys
    with library_page.expect_request(lambda request: "q=" in request.url) as first:
        library_page.get_by_label("Search by name").press_sequentially(word)
        library_page.clock.run_for(200)
    library_page.clock.resume()
    expect(library_page.locator(".item h2")).to_have_text(plans)
    assert first.value.url.endswith(f"?q={word}")
    expect(library_page).to_have_url(re.compile(f"/files[?]q={word}$"))
    expect(library_page.get_by_label("Search by name")).to_be_focused()
    expect(library_page.locator("#status")).to_contain_text(f"match {word}")
    library_page.reload()
    expect(library_page.locator(".item h2")).to_have_text(plans)
    library_page.get_by_role("link", name="Name").click()
    expect(library_page.locator(".item h2")).to_have_text(plans[::-1])
    library_page.get_by_label("Search by name").fill(plans[1])
    expect(library_page.locator(".item h2")).to_have_text([plans[1]])
    expect(library_page).to_have_url(re.compile("sort=name"))
    library_page.get_by_label("State of the link").select_option("ended")
    expect(library_page.locator(".item")).to_have_count(0)
    library_page.get_by_label("Search by name").fill("")
    library_page.get_by_label("State of the link").select_option("")
    expect(library_page.locator(".item h2").filter(has_text=plans[2])).to_have_count(1)
    expect(library_page.get_by_role("button", name=f"Copy link of {plans[2]}")).to_be_visible()


def test_a_search_that_another_one_replaces_reports_nothing(library_page: Page, plans: list[str]) -> None:
    gate = RequestGate(library_page, "**/files?q=*")
    field = library_page.get_by_label("Search by name")
    field.fill(plans[0])
    gate.wait()
    field.fill(plans[1])
    gate.wait(2)
    expect(library_page.locator("#results")).to_have_attribute("aria-busy", "true")
    expect(library_page.locator("#status")).to_be_empty()
    gate.open()
    expect(library_page.locator(".item h2")).to_have_text([plans[1]])
    expect(library_page.locator("#results")).to_have_attribute("aria-busy", "false")


def test_selected_files_are_deleted_exported_and_ended(
    library_page: Page, owner_server: ServerProcess, plans: list[str]
) -> None:
    library_page.goto(f"{owner_server.url}/files?q={plans[0].split()[0]}")
    delete = library_page.get_by_role("button", name="Delete", exact=True)
    expect(delete).to_be_disabled()
    library_page.get_by_label("Select all").check()
    expect(library_page.locator("#count")).to_have_text("3 selected")
    library_page.get_by_label(f"Select {plans[0]}").uncheck()
    expect(library_page.locator("#count")).to_have_text("2 selected")
    with library_page.expect_download() as download:
        library_page.get_by_role("button", name="Export CSV").click()
    assert download.value.suggested_filename == "files.csv"
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["name", plans[2], plans[1]]
    library_page.get_by_role("button", name="End links").click()
    expect(library_page.get_by_role("heading", level=1)).to_have_text("End the links of 2 files?")
    assert find_violations(library_page) == []
    library_page.get_by_role("button", name="End the links").click()
    expect(library_page.get_by_role("status").first).to_have_text("2 links ended.")
    library_page.get_by_label("Select all").check()
    delete.click()
    expect(library_page.get_by_role("status").first).to_contain_text("3 files moved to the trash until")
    expect(library_page.locator(".item")).to_have_count(0)


def test_the_list_can_be_used_with_the_keyboard(
    library_page: Page, owner_server: ServerProcess, plans: list[str]
) -> None:
    library_page.goto(f"{owner_server.url}/files?q={plans[0].split()[0]}")
    links = library_page.locator(".item h2 a")
    for key, place in (("j", 0), ("j", 1), ("ArrowDown", 2), ("j", 2), ("k", 1), ("ArrowUp", 0), ("k", 0)):
        library_page.keyboard.press(key)
        expect(links.nth(place)).to_be_focused()
    library_page.keyboard.press("Space")
    library_page.keyboard.press("j")
    library_page.keyboard.press("x")
    expect(library_page.locator("#count")).to_have_text("2 selected")
    expect(library_page.locator("#status")).to_have_text(f"{plans[1]} selected.")
    library_page.keyboard.press("x")
    expect(library_page.locator("#status")).to_have_text(f"{plans[1]} not selected.")
    dialog = library_page.get_by_role("dialog", name="Keyboard shortcuts")
    for _ in range(2):
        library_page.keyboard.press("?")
        expect(dialog).to_be_visible()
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_be_hidden()
    library_page.keyboard.press("?")
    expect(dialog).to_be_visible()
    assert find_violations(library_page) == []
    library_page.keyboard.press("Escape")
    expect(links.nth(1)).to_be_focused()
    library_page.keyboard.press("/")
    field = library_page.get_by_label("Search by name")
    expect(field).to_be_focused()
    field.fill("")
    library_page.keyboard.type("jkx/? ")
    expect(field).to_have_value("jkx/? ")
    expect(library_page.get_by_role("dialog")).to_have_count(0)
    field.fill(plans[1])
    expect(library_page.locator(".item")).to_have_count(1)
    library_page.keyboard.press("Escape")  # clears the field, so the list has all files again
    expect(field).to_have_value("")
    expect(library_page.locator(".item h2").filter(has_text=plans[0])).to_have_count(1)
    field.fill(plans[1])
    expect(library_page.locator(".item")).to_have_count(1)
    field.blur()
    library_page.keyboard.press("j")
    library_page.keyboard.press("Enter")
    expect(library_page.get_by_role("heading", level=1)).to_have_text(plans[1])


def test_without_scripts_files_are_selected_and_sorted(
    browser: Browser, owner_server: ServerProcess, plans: list[str]
) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        page = sign_in_to_library(person, owner_server)
        page.goto(f"{owner_server.url}/files?q={plans[0].split()[0]}")
        page.get_by_role("link", name="Name").click()
        expect(page.locator(".item h2")).to_have_text(plans[::-1])
        page.get_by_label(f"Select {plans[0]}").check()
        page.get_by_label(f"Select {plans[2]}").check()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("2 files moved to the trash until")
        expect(page.locator(".item h2")).to_have_text([plans[1]])


@pytest.mark.parametrize("options", [*WINDOWS, {"forced_colors": "active"}], ids=["desktop", "dark", "phone", "forced"])
def test_the_list_violates_no_accessibility_rule_of_any_impact(
    browser: Browser, owner_server: ServerProcess, options: dict[str, Any]
) -> None:
    upload(owner_server, LONG_NAME)
    with visitor(browser, **options) as person:
        page = sign_in_to_library(person, owner_server)
        page.locator(".item-box").first.check()
        assert find_violations(page) == []
        found = page.evaluate("async () => (await axe.run(document)).violations.map((rule) => rule.id)")
        assert found == []
        whole, window = get_page_and_window_width(page)
        assert whole <= window
