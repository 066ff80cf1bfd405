"""Reading in the paged modes: the time of pages on a spread, and the recorded mode."""

import pytest
from playwright.sync_api import Browser

from tests.support.people.measured_document import SECOND, MeasuredDocument, open_browser_reader
from tests.support.polling import wait_until


@pytest.fixture
def flipbook_document(document: MeasuredDocument) -> MeasuredDocument:
    """Return the document as a flipbook."""
    put_settings(document, viewerMode="flipbook")
    return document


def put_settings(document: MeasuredDocument, **settings: object) -> None:
    answer = document.world.pia.put(f"/api/v1/files/{document.short_id}/settings", json=settings)
    assert answer.status_code == 200, answer.get_data(as_text=True)


def get_times_by_page(document: MeasuredDocument) -> dict[int, int]:
    """Return the counted milliseconds of each page in the newest session."""
    rows = document.world.rt.db.fetch_all(
        "SELECT page, time_ms FROM session_pages WHERE session_id = (SELECT MAX(id) FROM view_sessions)"
    )
    return {page: spent for page, spent in rows if spent}


def test_both_pages_of_a_spread_share_its_time(plain_browser: Browser, flipbook_document: MeasuredDocument) -> None:
    with open_browser_reader(plain_browser, flipbook_document) as reader:
        reader.press_key()
        reader.advance(10)
        reader.page.keyboard.press("ArrowRight")
        reader.advance(20)
        reader.leave_page()
        wait_until(flipbook_document.has_ended_message)
    (row,) = flipbook_document.list_rows_after_end()
    measured = get_times_by_page(flipbook_document)
    assert set(measured) == {1, 2, 3}
    assert 10_000 - SECOND < measured[1] < reader.before + 10_000 + SECOND, (
        "the start of the measurement depends on the machine"
    )
    assert abs(measured[2] - 10_000) < SECOND
    assert abs(measured[2] - measured[3]) <= 40
    assert abs(row["timeMs"] - sum(measured.values())) < SECOND
    assert flipbook_document.list_sessions("turns, pages_viewed, furthest_page, viewer_mode") == [(1, 3, 3, "flipbook")]


def test_a_page_that_fills_the_window_gets_all_the_time(
    plain_browser: Browser, flipbook_document: MeasuredDocument
) -> None:
    with open_browser_reader(plain_browser, flipbook_document) as reader:
        reader.page.keyboard.press("ArrowRight")
        reader.page.locator("#zoom-level").select_option("400")
        reader.page.evaluate("scrollTo(0, 200)")
        reader.page.clock.run_for(100)
        before = reader.page.evaluate("performance.now()")
        reader.advance(20)
        reader.leave_page()
        wait_until(flipbook_document.has_ended_message)
    flipbook_document.list_rows_after_end()
    measured = get_times_by_page(flipbook_document)
    assert measured[2] - measured.get(3, 0) > 19_000
    assert measured.get(3, 0) <= before / 2


@pytest.mark.parametrize("mode", ["standard", "flipbook", "swipe", "magazine"])
def test_a_session_records_the_mode(plain_browser: Browser, document: MeasuredDocument, mode: str) -> None:
    put_settings(document, viewerMode=mode)
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.advance(5)
        wait_until(lambda: document.view_count == 1)
    assert document.list_sessions("viewer_mode") == [(mode,)]


def test_automatically_turned_pages_are_counted_for_a_minute_without_input(
    plain_browser: Browser,
    document: MeasuredDocument,
) -> None:
    swipe = {"autoAdvance": True, "intervalMs": 30_000}
    put_settings(document, viewerMode="swipe", viewerSettings={"swipe": swipe})
    with open_browser_reader(plain_browser, document) as reader:
        reader.advance(150)
        assert reader.page.locator("#page-number").input_value() == "5"
        reader.leave_page()
        wait_until(document.has_ended_message)
    assert document.list_rows_after_end() == []
    ((klass, time_ms),) = document.list_sessions("class, time_ms")
    assert klass == "unconfirmed"
    assert abs(time_ms - 60_000) < SECOND
    assert set(get_times_by_page(document)) <= {1, 2, 3}
