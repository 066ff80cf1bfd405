"""The plan that each endpoint and each section of the readership report requires, written by hand."""

import pytest

from docshare.contract.features import (
    OPERATION_PLANS,
    REPORT_SECTIONS,
    REPORT_SUMMARY,
    plan_problem,
    require_plan,
    required_plan,
    visible_keys,
)
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import OPERATIONS

BASIC = ["assets.create", "readership.pages"]
PRO = [
    "files.replace",
    "variants.list",
    "variants.create",
    "readership.marks",
    "readership.annotations",
    "readership.feedback",
    "readership.sessions",
    "readership.session",
    "invites.list",
    "invites.create",
    "gate.list",
]

SUMMARY = {
    "free": [
        "totalViews", "totalSessions", "uniqueVisitors", "uniqueCountries", "avgTimeMs", "downloads",
        "unconfirmedSessions",
    ],
    "basic": ["medianTimeMs", "totalTurns", "completionRate", "backTurnShare"],
    "pro": ["activeReaders", "newSessions", "returningSessions", "invitedNotViewed"],
}  # fmt: skip
SECTIONS = {
    "free": ["tier", "summary", "file", "effectivePages"],
    "basic": [
        "viewsOverTime", "funnel", "referrers", "browsers", "sources", "viewerModes", "peakTimes", "devices",
        "countries", "uncounted",
    ],
    "pro": ["sessions", "hotspotTaps", "ctaTaps", "variants", "contacts"],
}  # fmt: skip


def test_operations_require_the_expected_plan() -> None:
    assert {name for name in OPERATIONS if required_plan(name) == Plan.BASIC} == set(BASIC)
    assert {name for name in OPERATIONS if required_plan(name) == Plan.PRO} == set(PRO)
    assert set(OPERATION_PLANS) == {*BASIC, *PRO}


@pytest.mark.parametrize(
    ("tier", "tiers"), [("free", ["free"]), ("basic", ["free", "basic"]), ("pro", ["free", "basic", "pro"])]
)
def test_the_report_contains_the_sections_of_each_plan_in_order(tier: str, tiers: list[str]) -> None:
    plan = Plan.from_tier(tier)
    assert list(visible_keys(REPORT_SUMMARY, plan)) == [key for part in tiers for key in SUMMARY[part]]
    assert list(visible_keys(REPORT_SECTIONS, plan)) == [key for part in tiers for key in SECTIONS[part]]


@pytest.mark.parametrize(
    ("plan", "words"), [(Plan.BASIC, "requires the basic plan"), (Plan.PRO, "requires the pro plan")]
)
def test_a_plan_required_problem_names_the_plan(plan: Plan, words: str) -> None:
    problem = plan_problem(plan, "The password")
    assert (problem.code, problem.status) == ("plan_required", 403)
    assert problem.detail == f"The password {words} or higher."


@pytest.mark.parametrize(
    ("tier", "operation", "needed"),
    [
        ("free", "assets.create", "basic"),
        ("basic", "assets.create", None),
        ("basic", "variants.create", "pro"),
        ("pro", "variants.create", None),
        ("free", "variants.update", None),
        ("free", "files.list", None),
    ],
)
def test_an_operation_is_rejected_below_its_plan(tier: str, operation: str, needed: str | None) -> None:
    if needed is None:
        require_plan(Plan.from_tier(tier), operation, "This")
        return
    with pytest.raises(Problem) as refused:
        require_plan(Plan.from_tier(tier), operation, "This")
    assert refused.value.code == "plan_required"
    assert f"This requires the {needed} plan" in refused.value.detail
