"""The states of a file, and the result of a deletion. The expected values are literals on purpose."""

import pytest

from docshare.contract.plans import Plan
from docshare.server.rules.lifecycle import TrashEntry, file_state, is_expired, plan_deletion

NOW = 1_790_000_000_000
DAY = 86_400_000


@pytest.mark.parametrize(
    ("trashed_at", "burned_at", "delete_at", "expected"),
    [
        (None, None, None, "live"),
        (None, None, NOW + 1, "live"),
        (None, None, NOW, "expired"),
        (None, None, NOW - 1, "expired"),
        (None, NOW, None, "burned"),
        (None, NOW, NOW - 1, "burned"),
        (NOW, None, None, "trashed"),
        (NOW, NOW, NOW - 1, "trashed"),
    ],
)
def test_the_state_of_a_file_follows_from_its_dates(
    trashed_at: int | None, burned_at: int | None, delete_at: int | None, expected: str
) -> None:
    assert file_state(trashed_at=trashed_at, burned_at=burned_at, delete_at=delete_at, now=NOW) == expected


@pytest.mark.parametrize(("delete_at", "expected"), [(None, False), (NOW + 1, False), (NOW, True), (NOW - 1, True)])
def test_a_file_expires_exactly_at_its_expiry(delete_at: int | None, expected: bool) -> None:
    assert is_expired(delete_at, NOW) is expected


@pytest.mark.parametrize(
    ("plan", "purge", "trash", "expected"),
    [
        # Free: deletion is final.
        (Plan.FREE, False, None, None),
        (Plan.FREE, True, None, None),
        # Basic and Pro: 7 and 30 days.
        (Plan.BASIC, False, None, TrashEntry(NOW, NOW + 7 * DAY)),
        (Plan.PRO, False, None, TrashEntry(NOW, NOW + 30 * DAY)),
        (Plan.BASIC, True, None, None),
        (Plan.PRO, True, None, None),
        # A second deletion: the same dates, whatever the current plan is.
        (Plan.PRO, False, TrashEntry(NOW - DAY, NOW + 6 * DAY), TrashEntry(NOW - DAY, NOW + 6 * DAY)),
        (Plan.FREE, False, TrashEntry(NOW - DAY, NOW + 6 * DAY), TrashEntry(NOW - DAY, NOW + 6 * DAY)),
        (Plan.PRO, True, TrashEntry(NOW - DAY, NOW + 6 * DAY), None),
    ],
)
def test_a_deletion_is_final_or_sets_the_dates_of_the_trash(
    plan: Plan, purge: bool, trash: TrashEntry | None, expected: TrashEntry | None
) -> None:
    assert plan_deletion(plan=plan, purge=purge, trash=trash, now=NOW) == expected
