"""The short form of ``killed_browser``: one kill on the second page."""

from tests.torture.killed_browser import LOST_MS, losses


def test_a_killed_browser_loses_no_page_and_little_time() -> None:
    (loss,) = losses([[1.5, 2.5]])
    assert set(loss.true_ms) == {1, 2}
    assert loss.lost_ms <= LOST_MS
    assert loss.lost_pages == []
