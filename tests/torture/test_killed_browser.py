"""The short form of ``killed_browser``: one kill on the second page."""

from concurrent.futures import ThreadPoolExecutor

from tests.torture.killed_browser import LOST_MS, measure_losses


def test_a_killed_browser_loses_little_time_and_no_page() -> None:
    # In a separate thread: the test thread may already have a browser, and a thread can have only one.
    with ThreadPoolExecutor(1) as thread:
        (loss,) = thread.submit(lambda: list(measure_losses([[1.5, 2.5]]))).result()
    assert set(loss.true_ms) == {1, 2}
    assert loss.lost_ms <= LOST_MS
    assert loss.lost_pages == []
