"""The view limit: which view is the last one, and when the bytes go."""

import pytest

from docshare.server.rules import burning
from docshare.server.rules.burning import Taken


@pytest.mark.parametrize(
    ("limit", "consumed", "burned_at", "taken"),
    [
        (1, 0, None, Taken(1, True)),
        (3, 0, None, Taken(1, False)),
        (3, 1, None, Taken(2, False)),
        (3, 2, None, Taken(3, True)),
        (3, 3, None, None),
        (3, 4, None, None),
        (3, 3, 1000, None),
        (3, 0, 1000, None),
    ],
)
def test_the_last_unit_burns_and_no_further_one_is_given(
    limit: int, consumed: int, burned_at: int | None, taken: Taken | None
) -> None:
    """The file is burned when the cap is reached."""
    assert burning.take(limit, consumed, burned_at) == taken


def test_the_bytes_go_half_an_hour_later() -> None:
    assert burning.due_by(10_000_000) == 10_000_000 - 30 * 60 * 1000
