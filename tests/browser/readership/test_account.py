"""The pages about all files and all sessions in a real browser."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.readership.test_report import COOKIE, DARK, HANDHELD, ReportDocument, report_document
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import is_within_window, save_screenshot, visitor

__all__ = ["report_document"]


@pytest.mark.parametrize(("size", "name"), [(HANDHELD, "phone"), (DARK, "dark")], ids=["phone", "dark"])
def test_the_pages_fit_and_have_no_serious_violation(
    browser: Browser, report_document: ReportDocument, size: dict[str, Any], name: str
) -> None:
    pages = {"account": f"{report_document.url}/readership", "sessions": f"{report_document.report_url}/sessions"}
    with visitor(browser, **size) as person:
        person.context.add_cookies([{"name": COOKIE, "value": report_document.cookie, "url": report_document.url}])
        for key, address in pages.items():
            person.page.goto(address)
            save_screenshot(person.page, f"{key}-{name}")
            assert (
                person.page.get_by_text("Times are in").or_(person.page.get_by_text("All times are UTC")).count() == 1
            )
            assert is_within_window(person.page), key
            first, last = (person.page.locator(f"[name={end}]").bounding_box() for end in ("from", "to"))
            assert first is not None
            assert last is not None
            assert first["y"] == last["y"], key
            assert find_violations(person.page) == []
        assert person.complaints == []
