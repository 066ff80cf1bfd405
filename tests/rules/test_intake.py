"""What may come in: slots, sizes, room, kind. The numbers are typed from the specification."""

import pytest

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.rules import intake

MB = 1024 * 1024
GB = 1024 * MB
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def refused(code: str, check: object, *args: object) -> Problem:
    with pytest.raises(Problem) as caught:
        check(*args)  # type: ignore[operator]
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize(("plan", "slots"), [(Plan.FREE, 3), (Plan.BASIC, 100)])
def test_the_last_slot_can_be_taken_and_no_other(plan: Plan, slots: int) -> None:
    intake.require_slot(plan, slots - 1)
    refused("forbidden", intake.require_slot, plan, slots)


def test_pro_has_no_limit_of_slots() -> None:
    intake.require_slot(Plan.PRO, 10_000_000)


def test_the_file_limit_never_reads_like_a_plan_gate() -> None:
    """Every plan_required detail contains "requires the basic plan"; the plan file limit must not contain that."""
    problem = refused("forbidden", intake.require_slot, Plan.FREE, 3)
    assert "requires the" not in problem.detail + problem.hint


@pytest.mark.parametrize(("plan", "cap"), [(Plan.FREE, 20 * MB), (Plan.BASIC, 200 * MB), (Plan.PRO, 2 * GB)])
def test_the_cap_itself_fits_and_one_byte_more_does_not(plan: Plan, cap: int) -> None:
    intake.require_size(plan, cap)
    refused("payload_too_large", intake.require_size, plan, cap + 1)


def test_uploads_leave_a_gigabyte_free() -> None:
    intake.require_room(GB + 5, 5)
    problem = refused("unavailable", intake.require_room, GB + 4, 5)
    assert problem.headers["Retry-After"].isdigit()


@pytest.mark.parametrize("head", [b"%PDF-1.7", b"junk" * 254 + b"%PDF-", b"%PDF-" + OLE])
def test_a_pdf_is_known_within_its_first_1024_bytes(head: bytes) -> None:
    intake.require_pdf(head)


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"", "bad_request"),
        (b"x" * 1020 + b"%PDF-", "bad_request"),
        (b"<html>", "bad_request"),
        (b"PK\x03\x04" + b"\0" * 26, "bad_request"),
        (OLE + b"\0" * 600, "bad_request"),
        (OLE + b"\0" * 504 + b"\xec\xa5\xc1\x00", "bad_request"),
        (OLE + b"\0" * 504 + b"\x00\x6e\x1e\xf0", "unprocessable"),
        (b"PK\x03\x04" + b"\0" * 22 + b"\x05\x00\x00\x00word/", "unprocessable"),
        (b"PK\x03\x04" + b"\0" * 22 + b"\x04\x00\x00\x00ppt/", "unprocessable"),
    ],
)
def test_everything_else_is_refused(head: bytes, code: str) -> None:
    refused(code, intake.require_pdf, head)


def test_an_old_word_document_is_refused_by_name() -> None:
    problem = refused("bad_request", intake.require_pdf, OLE + b"\0" * 504 + b"\xec\xa5\xc1\x00")
    assert ".doc" in problem.detail
