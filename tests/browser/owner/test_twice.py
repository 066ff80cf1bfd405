"""Forms of the owner's pages that are sent twice by mistake."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from docshare.server.services.links import variants
from tests.browser.owner.test_file import OwnerFilePages, owner_file_pages

__all__ = ["owner_file_pages"]


def test_a_second_click_while_the_server_is_slow_creates_nothing(
    browser: Browser, owner_file_pages: OwnerFilePages, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, clicked, calls = variants.create, threading.Event(), list[Any]()

    def create_slowly(*args: Any) -> Any:
        calls.append(args)
        clicked.wait(20)
        return create(*args)

    monkeypatch.setattr(variants, "create", create_slowly)
    with owner_file_pages.open_page(browser, "/links") as page:
        page.get_by_label("Recipients").fill("Bob")
        box = page.get_by_role("button", name="Create", exact=False).last.bounding_box()
        assert box is not None
        for _ in range(2):
            page.mouse.click(box["x"] + 5, box["y"] + 5)
            page.wait_for_timeout(300)
        clicked.set()
        expect(page.get_by_role("status")).to_have_text("1 link was created.")
        # The next page has new forms.
        page.get_by_label("Recipients").fill("Cyrus Carter")
        page.get_by_role("button", name="Create", exact=False).last.click()
        expect(page.get_by_role("listitem").filter(has_text="Cyrus Carter")).to_have_count(1)
        assert len(calls) == 2
