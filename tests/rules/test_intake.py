"""What may come in: slots, sizes, room. The numbers are typed from the specification."""

import pytest

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.rules import intake

MB = 1024 * 1024
GB = 1024 * MB


def assert_refused(code: str, check: object, *args: object) -> Problem:
    with pytest.raises(Problem) as caught:
        check(*args)  # type: ignore[operator]
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize(("plan", "slots"), [(Plan.FREE, 3), (Plan.BASIC, 100)])
def test_the_last_slot_can_be_taken_and_no_other(plan: Plan, slots: int) -> None:
    intake.require_slot(plan, slots - 1)
    assert_refused("forbidden", intake.require_slot, plan, slots)


def test_pro_has_no_limit_of_slots() -> None:
    intake.require_slot(Plan.PRO, 10_000_000)


def test_the_file_limit_never_reads_like_a_plan_gate() -> None:
    """Every plan_required detail contains "requires the basic plan"; the plan file limit must not contain that."""
    problem = assert_refused("forbidden", intake.require_slot, Plan.FREE, 3)
    assert "requires the" not in problem.detail + problem.hint


@pytest.mark.parametrize(("plan", "cap"), [(Plan.FREE, 20 * MB), (Plan.BASIC, 200 * MB), (Plan.PRO, 2 * GB)])
def test_the_cap_itself_fits_and_one_byte_more_does_not(plan: Plan, cap: int) -> None:
    intake.require_size(plan, cap)
    assert_refused("payload_too_large", intake.require_size, plan, cap + 1)


def test_uploads_leave_a_gigabyte_free() -> None:
    intake.require_disk_space(GB + 5, 5)
    problem = assert_refused("unavailable", intake.require_disk_space, GB + 4, 5)
    assert problem.headers["Retry-After"].isdigit()


@pytest.mark.parametrize("plan", list(Plan))
@pytest.mark.parametrize(("kind", "cap"), [("docx", 25 * MB), ("pptx", 50 * MB), ("ppt", 50 * MB)])
def test_an_office_document_has_the_cap_of_its_kind_on_every_plan(plan: Plan, kind: str, cap: int) -> None:
    """Word input up to 25 MB; PowerPoint up to 50 MB."""
    intake.require_kind_size(plan, kind, cap)
    problem = assert_refused("payload_too_large", intake.require_kind_size, plan, kind, cap + 1)
    assert f"{cap // MB} MB" in problem.detail


@pytest.mark.parametrize(("plan", "cap"), [(Plan.FREE, 50 * MB), (Plan.BASIC, 200 * MB), (Plan.PRO, 2 * GB)])
def test_before_the_first_byte_only_the_largest_input_of_the_plan_counts(plan: Plan, cap: int) -> None:
    """An office file may be larger than the PDF that the plan stores."""
    intake.require_input_size(plan, cap)
    assert_refused("payload_too_large", intake.require_input_size, plan, cap + 1)
