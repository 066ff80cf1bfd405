"""Expected limits of the plans, written by hand."""

import pytest

from docshare.contract.plans import PLAN_LIMITS, Plan

DAY = 86_400_000


def test_plans_are_ordered_and_have_the_tier_names_of_the_api() -> None:
    assert [plan.tier for plan in sorted(Plan)] == ["free", "basic", "pro"]
    assert [Plan.from_tier(word) for word in ("free", "basic", "pro")] == [Plan.FREE, Plan.BASIC, Plan.PRO]
    assert Plan.FREE < Plan.BASIC < Plan.PRO


def test_an_unknown_tier_raises_key_error() -> None:
    with pytest.raises(KeyError):
        Plan.from_tier("gold")


@pytest.mark.parametrize(
    ("tier", "slots", "stored", "trash"),
    [
        ("free", 3, 20_971_520, None),
        ("basic", 100, 209_715_200, 7 * DAY),
        ("pro", None, 2_147_483_648, 30 * DAY),
    ],
)
def test_plan_limits_are_as_expected(tier: str, slots: int | None, stored: int, trash: int | None) -> None:
    row = PLAN_LIMITS[Plan.from_tier(tier)]
    assert (row.file_slots, row.stored_bytes, row.trash_ms) == (slots, stored, trash)
