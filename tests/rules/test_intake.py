"""Limits of uploads: number of files, size, and disk space. The numbers are literals on purpose."""

import pytest

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.rules import intake

MB = 1024 * 1024
GB = 1024 * MB


def assert_rejected(code: str, check: object, *args: object) -> Problem:
    with pytest.raises(Problem) as caught:
        check(*args)  # type: ignore[operator]
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize(("plan", "slots"), [(Plan.FREE, 3), (Plan.BASIC, 100)])
def test_uploads_up_to_the_file_limit_are_allowed(plan: Plan, slots: int) -> None:
    intake.require_slot(plan, slots - 1)
    assert_rejected("forbidden", intake.require_slot, plan, slots)


def test_pro_has_no_file_limit() -> None:
    intake.require_slot(Plan.PRO, 10_000_000)


def test_the_file_limit_error_does_not_look_like_plan_required() -> None:
    """Every plan_required detail contains "requires the basic plan"; the plan file limit must not contain that."""
    problem = assert_rejected("forbidden", intake.require_slot, Plan.FREE, 3)
    assert "requires the" not in problem.detail + problem.hint


@pytest.mark.parametrize(("plan", "limit"), [(Plan.FREE, 20 * MB), (Plan.BASIC, 200 * MB), (Plan.PRO, 2 * GB)])
def test_the_maximum_size_is_accepted_and_one_byte_more_is_rejected(plan: Plan, limit: int) -> None:
    intake.require_size(plan, limit)
    assert_rejected("payload_too_large", intake.require_size, plan, limit + 1)


def test_uploads_leave_a_gigabyte_free() -> None:
    intake.require_disk_space(GB + 5, 5)
    problem = assert_rejected("unavailable", intake.require_disk_space, GB + 4, 5)
    assert problem.headers["Retry-After"].isdigit()


@pytest.mark.parametrize("plan", list(Plan))
@pytest.mark.parametrize(("kind", "limit"), [("docx", 25 * MB), ("pptx", 50 * MB), ("ppt", 50 * MB)])
def test_an_office_document_has_the_limit_of_its_kind_on_every_plan(plan: Plan, kind: str, limit: int) -> None:
    """The limit is 25 MB for Word documents and 50 MB for presentations."""
    intake.require_kind_size(plan, kind, limit)
    problem = assert_rejected("payload_too_large", intake.require_kind_size, plan, kind, limit + 1)
    assert f"{limit // MB} MB" in problem.detail


@pytest.mark.parametrize(("plan", "limit"), [(Plan.FREE, 50 * MB), (Plan.BASIC, 200 * MB), (Plan.PRO, 2 * GB)])
def test_before_the_body_only_the_largest_input_of_the_plan_is_checked(plan: Plan, limit: int) -> None:
    """An office file may be larger than the PDF that the plan stores."""
    intake.require_input_size(plan, limit)
    assert_rejected("payload_too_large", intake.require_input_size, plan, limit + 1)
