"""A real browser that reloads a document, or returns to it with the back button, reads on in one session."""

from playwright.sync_api import Browser

from tests.support.browsers.browser import reload_viewer, visitor, wait_for_measurement, wait_for_page
from tests.support.people.measured_document import MeasuredDocument
from tests.support.polling import wait_until


def test_a_reload_continues_the_session(plain_browser: Browser, document: MeasuredDocument) -> None:
    with visitor(plain_browser) as person:
        page = person.open(document.url)
        wait_for_measurement(page)
        page.keyboard.press("Shift")
        page.wait_for_timeout(2_500)
        reload_viewer(page)
        wait_for_measurement(page)
        page.keyboard.press("ArrowRight")
        wait_for_page(page, 2)
        page.wait_for_timeout(2_500)
        page.goto("about:blank")
        wait_until(lambda: document.list_sessions("closed_at IS NOT NULL") == [(1,)])
        page.go_back()
        wait_for_page(page, 2)
        wait_for_measurement(page)
        page.keyboard.press("Shift")
        page.wait_for_timeout(1_500)
        page.goto("about:blank")
        # A browser whose window is closed drops beacons that it has not sent yet.
        wait_until(lambda: document.list_sessions("closed_at IS NOT NULL") == [(1,)])
        assert person.complaints == []
    (row,) = document.list_rows_after_end()
    assert row["pagesViewed"] == 2
    assert document.list_sessions("class, time_ms > 6000") == [("human", 1)]
    assert document.view_count == 1
