"""The short form of ``killed_browser``: one kill on the second page."""

from concurrent.futures import ThreadPoolExecutor

from tests.torture.killed_browser import LOST_MS, losses


def test_a_killed_browser_loses_no_page_and_little_time() -> None:
    # In a thread of its own: that of the tests may hold a browser already, and a thread holds one at a time.
    with ThreadPoolExecutor(1) as thread:
        (loss,) = thread.submit(lambda: list(losses([[1.5, 2.5]]))).result()
    assert set(loss.true_ms) == {1, 2}
    assert loss.lost_ms <= LOST_MS
    assert loss.lost_pages == []
