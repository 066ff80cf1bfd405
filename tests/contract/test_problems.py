"""Expected problem codes and their statuses, written by hand."""

import pytest

from docshare.contract.problems import MEDIA_TYPE, PROBLEMS, Problem

CODES = {
    "bad_request": 400,
    "unauthorized": 401,
    "plan_required": 403,
    "insufficient_scope": 403,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "gone": 410,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "unprocessable": 422,
    "rate_limited": 429,
    "headers_too_large": 431,
    "internal": 500,
    "not_implemented": 501,
    "bad_gateway": 502,
    "unavailable": 503,
}


def test_every_code_has_its_status() -> None:
    assert {code: row.status for code, row in PROBLEMS.items()} == CODES


def test_the_media_type_is_application_problem_json() -> None:
    assert MEDIA_TYPE == "application/problem+json"


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_title_and_a_hint_that_is_a_sentence(code: str) -> None:
    row = PROBLEMS[code]
    assert row.title
    assert row.hint.endswith(".")


@pytest.mark.parametrize("code", sorted(set(CODES) - {"plan_required"}))
def test_only_the_plan_required_hint_mentions_a_plan(code: str) -> None:
    assert "requires the" not in PROBLEMS[code].hint


def test_a_problem_gets_status_title_and_hint_of_its_code() -> None:
    problem = Problem("gone", "The link expired.")
    assert (problem.status, problem.title, problem.detail) == (410, PROBLEMS["gone"].title, "The link expired.")
    assert problem.hint == PROBLEMS["gone"].hint
    assert str(problem) == "The link expired."


def test_a_problem_accepts_its_own_hint_headers_and_members() -> None:
    problem = Problem("rate_limited", hint="Later.", headers={"Retry-After": "7"}, extra={"limit": 3})
    assert (problem.hint, problem.headers, problem.extra) == ("Later.", {"Retry-After": "7"}, {"limit": 3})
    assert problem.detail == PROBLEMS["rate_limited"].title


def test_a_problem_accepts_an_unknown_code() -> None:
    problem = Problem("teapot", "I am a teapot.", status=418)
    assert (problem.code, problem.status) == ("teapot", 418)
