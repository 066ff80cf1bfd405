"""The embed page inside a page of another site."""

import pytest
from playwright.sync_api import Browser

from tests.support.browsers.browser import visitor, wait_for_measurement, wait_for_viewer
from tests.support.outside.framing_page import find_frame, serve_framing_page
from tests.support.people.measured_document import MeasuredDocument
from tests.support.polling import wait_until


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["another port", "another site"])
def test_a_cross_origin_frame_shows_the_document_and_counts_views(
    plain_browser: Browser, document: MeasuredDocument, host: str
) -> None:
    address = document.url.replace(f"/{document.short_id}", f"/embed/{document.short_id}")
    with serve_framing_page(address, host) as elsewhere, visitor(plain_browser) as person:
        person.page.goto(elsewhere)
        frame = find_frame(person.page)
        wait_for_viewer(frame)
        wait_for_measurement(frame)
        frame.locator("#stage, body").first.click()
        person.page.wait_for_timeout(3_000)
        person.page.goto("about:blank")
        wait_until(document.has_ended_message)
    (row,) = document.list_rows_after_end()
    assert (row["type"], row["pagesViewed"]) == ("view", 1)
    assert document.view_count == 1
    assert document.list_sessions("source") == [("Embed",)]
