"""The strict input layer: hostile JSON is a refusal, never an internal error."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract.problems import Problem
from docshare.server.http.strict_json import parse_object
from docshare.server.rules.reading import parse_beacon_request

ROOM = 1 << 20


def nested_json(depth: int, opening: str = "[", closing: str = "]") -> bytes:
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
        nested_json(33),
        nested_json(33, '{"a":', "}").replace(b":}", b":1}"),
        nested_json(5000),
    ],
)
def test_hostile_json_is_a_bad_request(raw: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse_object(raw, ROOM)
    assert caught.value.code == "bad_request"
    assert caught.value.detail.endswith(".")


def test_a_body_above_the_cap_is_refused_by_its_size() -> None:
    raw = b'{"a":"' + b"x" * 100 + b'"}'
    assert parse_object(raw, len(raw)) == {"a": "x" * 100}
    with pytest.raises(Problem) as caught:
        parse_object(raw, len(raw) - 1)
    assert caught.value.code == "payload_too_large"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"{}", {}),
        (b' {"a" : [1, 2.5, true, null, "\\u00fc"]}\n', {"a": [1, 2.5, True, None, "ü"]}),
        (b'{"a":9223372036854775807,"b":-9223372036854775808}', {"a": 2**63 - 1, "b": -(2**63)}),
        (b'{"a":-0}', {"a": 0}),
        (b'{"a":1e3}', {"a": 1000.0}),
        (b'{"a":1e-999}', {"a": 0.0}),
        (b'{"a":"\\ud83d\\ude42"}', {"a": "🙂"}),
        (b'{"a":{"x":1},"b":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}}),
        (b'{"a":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}', {"a": "[" * 40}),
    ],
)
def test_honest_json_is_read(raw: bytes, value: dict[str, Any]) -> None:
    assert parse_object(raw, ROOM) == value


def test_thirty_two_levels_are_read() -> None:
    assert parse_object(nested_json(32), ROOM)


def test_a_boolean_stays_a_boolean() -> None:
    """Booleans are not integers."""
    assert parse_object(b'{"a":true}', ROOM)["a"] is True


def test_beacons_come_in_through_it() -> None:
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
def test_what_json_writes_is_read_back(value: dict[str, Any]) -> None:
    assert parse_object(json.dumps(value).encode(), ROOM) == value


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_make_it_fail_otherwise(raw: bytes) -> None:
    with suppress(Problem):
        assert isinstance(parse_object(raw, ROOM), dict)
