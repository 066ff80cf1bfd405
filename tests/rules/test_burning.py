"""The view limit: which view is the last one, and when the content is deleted."""

import pytest

from docshare.server.rules import burning
from docshare.server.rules.burning import ConsumedView


@pytest.mark.parametrize(
    ("limit", "consumed", "burned_at", "expected"),
    [
        (1, 0, None, ConsumedView(1, True)),
        (3, 0, None, ConsumedView(1, False)),
        (3, 1, None, ConsumedView(2, False)),
        (3, 2, None, ConsumedView(3, True)),
        (3, 3, None, None),
        (3, 4, None, None),
        (3, 3, 1000, None),
        (3, 0, 1000, None),
    ],
)
def test_the_last_view_burns_the_file_and_further_views_are_rejected(
    limit: int, consumed: int, burned_at: int | None, expected: ConsumedView | None
) -> None:
    """The file is burned when the view limit is reached."""
    assert burning.consume_view(limit, consumed, burned_at) == expected


def test_the_content_is_deleted_half_an_hour_later() -> None:
    assert burning.latest_due_burn(10_000_000) == 10_000_000 - 30 * 60 * 1000
