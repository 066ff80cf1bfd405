"""The short form of ``feed_storm``."""

from pathlib import Path

from tests.torture import feed_storm


def test_a_feed_reader_sees_every_row_of_32_writers_once_and_in_order(tmp_path: Path) -> None:
    assert feed_storm.run_storm(tmp_path, rows=3_200) == []


def test_the_comparison_finds_missing_and_reordered_rows() -> None:
    assert feed_storm.find_problems([2, 4, 3, 3], [2, 3, 4, 5], 5) == [
        "4 of 5 rows were stored",
        "the reader got rows twice or out of order",
        "the reader missed 1 rows, the first is 5",
    ]
