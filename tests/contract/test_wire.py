"""Instants in the API: output in UTC RFC 3339 with ``Z`` and milliseconds; input with any offset and fraction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract.wire import drop_none, format_duration, format_instant, format_seconds, parse_instant

FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 and 9999


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_709_210_096_789, "2024-02-29T12:34:56.789Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (FIRST, "0001-01-01T00:00:00.000Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_an_instant_is_formatted_with_milliseconds_and_z(millis: int, text: str) -> None:
    assert format_instant(millis) == text


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01 00:00:00Z", 0),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T02:00:00+0200", 0),
        ("1969-12-31T18:30:00-05:30", 0),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T00:00:00,123Z", 123),
        ("1970-01-01T00:00:00.1239999999999Z", 123),
        ("2016-12-31T23:59:60Z", 1_483_228_799_000),
        ("2024-02-29T12:34:56.789Z", 1_709_210_096_789),
    ],
)
def test_an_instant_is_parsed_with_any_offset_and_fraction(text: str, millis: int) -> None:
    assert parse_instant(text) == millis


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2024-02-29",
        "2024-02-29T12:34:56",
        "2023-02-29T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:61Z",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+01:60",
        "2024-01-01T00:00:00Z\n",
        " 2024-01-01T00:00:00Z",
        "\uff12\uff10\uff12\uff14-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "1709210096789",
    ],
)
def test_a_text_that_is_not_an_instant_is_parsed_as_none(text: str) -> None:
    assert parse_instant(text) is None


@given(st.integers(FIRST, LAST))
def test_a_formatted_instant_is_parsed_to_the_same_value(millis: int) -> None:
    assert parse_instant(format_instant(millis)) == millis


@given(
    st.text(max_size=40)
    | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,12})?(Z|[+-]\d\d:?\d\d)", fullmatch=True)
)
def test_any_parsed_instant_can_be_formatted(text: str) -> None:
    millis = parse_instant(text)
    assert millis is None or parse_instant(format_instant(millis)) == millis


def test_drop_none_removes_only_keys_whose_value_is_none() -> None:
    assert drop_none({"a": None, "b": 0, "c": "", "d": False, "e": []}) == {"b": 0, "c": "", "d": False, "e": []}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m 00s"),
        (102, "1m 42s"),
        (3_599, "59m 59s"),
        (3_600, "1h 00m"),
        (7_500, "2h 05m"),
        (86_399, "23h 59m"),
        (86_400, "1d 0h"),
        (273_600, "3d 4h"),
    ],
)
def test_a_duration_is_formatted_with_at_most_two_units(seconds: int, expected: str) -> None:
    assert format_seconds(seconds) == format_duration(1_000 * seconds + 999) == expected
