"""Expected feed streams, written by hand, and parsing of cursors and limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.streams import (
    ACTIVITY,
    GATE_PLAN_MESSAGE,
    SESSIONS,
    STREAMS,
    parse_limit,
    parse_since,
    parse_type,
)

INT32, INT64 = 2_147_483_647, 9_223_372_036_854_775_807


@pytest.mark.parametrize(
    ("name", "plan", "largest", "keys", "optional"),
    [
        (
            "view",
            Plan.FREE,
            INT32,
            "id fileUuid fileName readAt country pagesViewed timeMs type",
            {"readAt", "country"},
        ),
        ("download", Plan.FREE, INT32, "id fileUuid fileName readAt country type", {"country"}),
        ("gate", Plan.PRO, INT64, "id fileUuid fileName readAt type fields", {"fields"}),
    ],
)
def test_stream_has_the_expected_plan_cursor_and_keys(
    name: str, plan: Plan, largest: int, keys: str, optional: set[str]
) -> None:
    row = STREAMS[name]
    assert (row.plan, row.max_cursor, " ".join(row.keys), set(row.optional)) == (plan, largest, keys, optional)


def test_there_are_three_streams() -> None:
    assert set(STREAMS) == {"view", "download", "gate"}


def test_the_activity_feed_has_the_same_maximum_cursor_as_the_gate_stream() -> None:
    assert (ACTIVITY.max_cursor, ACTIVITY.keys) == (INT64, ("id", "event", "timestamp", "data"))


def test_the_session_stream_has_the_expected_plan_cursor_and_keys() -> None:
    keys = (
        "id sessionId startedAt totalTimeMs pagesViewed country deviceType browser returning email name fromInvite "
        "inviteUuid variantUuid contentVersion shownPages pseudonym pages"
    )
    assert (SESSIONS.plan, SESSIONS.max_cursor, " ".join(SESSIONS.keys)) == (Plan.PRO, INT64, keys)
    assert SESSIONS.optional == {"country", "email", "name", "inviteUuid", "variantUuid"}


def test_gate_plan_message_is_as_expected() -> None:
    assert GATE_PLAN_MESSAGE == "This feature requires the pro plan or higher"


@pytest.mark.parametrize(
    ("text", "name"), [(None, "view"), ("view", "view"), ("download", "download"), ("gate", "gate")]
)
def test_type_selects_the_stream(text: str | None, name: str) -> None:
    assert parse_type(text) == name


@pytest.mark.parametrize("text", ["", "all", "View", "gate ", "\ud800"])
def test_an_unknown_type_is_a_bad_request(text: str) -> None:
    with pytest.raises(Problem) as caught:
        parse_type(text)
    assert (caught.value.code, "type" in caught.value.detail) == ("bad_request", True)


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        (None, 0),
        ("", 0),
        ("0", 0),
        ("000", 0),
        ("1", 1),
        ("007", 7),
        ("2147483647", INT32),
        ("2147483648", INT32),
        ("9" * 20, INT32),
        ("9" * 5000, INT32),
        ("0" * 5000 + "5", 5),
        ("-1", 0),
        ("-0", 0),
        ("x", 0),
        ("5x", 0),
        ("1.0", 0),
        ("1e3", 0),
        ("+5", 0),
        (" 5", 0),
        ("5\n", 0),
        ("1_000", 0),
        ("\uff15", 0),
        ("\u0665", 0),
        ("0x10", 0),
        ("\ud800", 0),
    ],
)
def test_since_is_clamped_to_32_bits_and_defaults_to_zero(text: str | None, cursor: int) -> None:
    assert parse_since(text, INT32) == cursor


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("2147483648", 2_147_483_648),
        ("9223372036854775807", INT64),
        ("9223372036854775808", INT64),
        ("99999999999999999999", INT64),
        ("9" * 5000, INT64),
    ],
)
def test_the_gate_cursor_is_64_bits_wide(text: str, cursor: int) -> None:
    assert parse_since(text, INT64) == cursor


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (None, 50),
        ("", 50),
        ("x", 50),
        ("1.5", 50),
        ("+5", 50),
        ("\uff15", 50),
        ("0", 1),
        ("-5", 1),
        ("-" + "9" * 5000, 1),
        ("1", 1),
        ("50", 50),
        ("100", 100),
        ("101", 100),
        ("1000", 100),
        ("9" * 5000, 100),
    ],
)
def test_limit_is_clamped_and_never_rejected(text: str | None, limit: int) -> None:
    assert parse_limit(text) == limit


@given(st.none() | st.text(max_size=30) | st.from_regex(r"-?[0-9]{1,25}", fullmatch=True))
def test_any_text_is_parsed_into_a_cursor_and_a_limit_in_range(text: str | None) -> None:
    assert 0 <= parse_since(text, INT32) <= INT32
    assert 0 <= parse_since(text, INT64) <= INT64
    assert 1 <= parse_limit(text) <= 100


@given(st.integers(0, INT64))
def test_a_cursor_in_range_is_unchanged(cursor: int) -> None:
    assert parse_since(str(cursor), INT64) == cursor
