"""The strict JSON parser: hostile JSON is rejected and never causes an internal error."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract.problems import Problem
from docshare.server.rules.reading import parse_beacon_request
from docshare.server.strict_json import parse_object

MAX_BYTES = 1 << 20


def make_nested_json(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    """Return an object with ``depth - 1`` more levels inside."""
    return ('{"a":' + opening * (depth - 1) + closing * (depth - 1) + "}").encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"null",
        b"true",
        b"1",
        b'"text"',
        b"[]",
        b"{",
        b"{}x",
        b"{} {}",
        b"{'a':1}",
        b'{"a":}',
        b'{"a":1,}',
        b'{"a":01}',
        b'{"a":+1}',
        b'{"a":1_0}',
        b'{"a":.5}',
        b'{"a":0x1}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":-1e999}',
        b'{"a":9223372036854775808}',
        b'{"a":-9223372036854775809}',
        b'{"a":18446744073709551617}',
        b'{"a":{"b":[0,10000000000000000000]}}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":[' + b"9" * 5000 + b"]}",
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":1,"\\u0061":2}',
        b'{"a":"\\ud800"}',
        b'{"a":"\\udc00\\ud800"}',
        b'{"\\ud800":1}',
        b'{"a":"\\u0000"}',
        b'{"\\u0000":1}',
        b'{"a":["ok",{"b":"\\u0000"}]}',
        b'{"a":"\x00"}',
        b'{"a":"\n"}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
        '{"a":1}'.encode("utf-32"),
        '{"a":１}'.encode(),
        b"[" * 5000,
        b'{"a":' * 5000,
        make_nested_json(33),
        make_nested_json(33, '{"a":', "}").replace(b":}", b":1}"),
        make_nested_json(5000),
    ],
)
def test_hostile_json_is_rejected(raw: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse_object(raw, MAX_BYTES)
    assert caught.value.code == "bad_request"
    assert caught.value.detail.endswith(".")


def test_a_byte_order_mark_is_named() -> None:
    with pytest.raises(Problem, match="starts with a byte order mark"):
        parse_object(b"\xef\xbb\xbf{}", MAX_BYTES)


def test_a_body_over_the_limit_is_413() -> None:
    raw = b'{"a":"' + b"x" * 100 + b'"}'
    assert parse_object(raw, len(raw)) == {"a": "x" * 100}
    with pytest.raises(Problem) as caught:
        parse_object(raw, len(raw) - 1)
    assert caught.value.code == "payload_too_large"
    assert caught.value.detail == f"The body is larger than {len(raw) - 1} B."


def test_the_limit_of_a_body_is_in_kilobytes() -> None:
    with pytest.raises(Problem) as caught:
        parse_object(b" " * 65_537, 65_536)
    assert caught.value.detail == "The body is larger than 64 kB."


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"{}", {}),
        (b' {"a" : [1, 2.5, true, null, "\\u00fc"]}\n', {"a": [1, 2.5, True, None, "ü"]}),
        (b'{"a":9223372036854775807,"b":-9223372036854775808}', {"a": 2**63 - 1, "b": -(2**63)}),
        (b'{"a":999999999999999999,"b":-1000000000000000000}', {"a": 10**18 - 1, "b": -(10**18)}),
        (b'{"a":"12345678901234567890","b":[1,-2]}', {"a": "12345678901234567890", "b": [1, -2]}),
        (b'{"a":-0}', {"a": 0}),
        (b'{"a":1e3}', {"a": 1000.0}),
        (b'{"a":1e-999}', {"a": 0.0}),
        (b'{"a":"\\ud83d\\ude42"}', {"a": "🙂"}),
        (b'{"a":{"x":1},"b":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}}),
        (b'{"a":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}', {"a": "[" * 40}),
    ],
)
def test_valid_json_is_parsed(raw: bytes, value: dict[str, Any]) -> None:
    assert parse_object(raw, MAX_BYTES) == value


def test_32_levels_are_accepted() -> None:
    assert parse_object(make_nested_json(32), MAX_BYTES)


def test_a_boolean_stays_a_boolean() -> None:
    """Booleans are not integers."""
    assert parse_object(b'{"a":true}', MAX_BYTES)["a"] is True


def test_beacons_are_parsed_strictly() -> None:
    with pytest.raises(Problem, match="twice"):
        parse_beacon_request(b'{"token":"a","token":"b"}', prefetch=False)


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"))
)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner), max_leaves=20)


@given(st.dictionaries(st.text("abc"), _VALUES))
def test_serialized_json_is_parsed_back(value: dict[str, Any]) -> None:
    assert parse_object(json.dumps(value).encode(), MAX_BYTES) == value


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_return_an_object_or_raise_a_problem(raw: bytes) -> None:
    with suppress(Problem):
        assert isinstance(parse_object(raw, MAX_BYTES), dict)
