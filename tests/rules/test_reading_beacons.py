"""Which bodies are beacons, and what is kept of them."""

import json
from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server.rules.reading import BeaconBody, PageTime, parse_beacon_request, serialize_beacon

GOOD: dict[str, Any] = {
    "token": "t.s",
    "part": 0,
    "seq": 4,
    "ageMs": 12_000,
    "visible": True,
    "visibleMs": 9_000,
    "input": True,
    "turns": 1,
    "backTurns": 0,
    "pages": [{"page": 2, "ms": 8_500, "views": 1, "back": 0}],
}
PAGE = GOOD["pages"][0]


def test_a_beacon_is_read() -> None:
    token, beacon = parse_beacon_request(json.dumps(GOOD).encode(), False)
    assert token == "t.s"
    assert beacon == BeaconBody(0, 4, 12_000, True, 9_000, True, 1, 0, (PageTime(2, 8_500, 1, 0),))


def test_what_is_kept_is_what_was_said_without_the_token() -> None:
    _, beacon = parse_beacon_request(json.dumps(GOOD | {"junk": "x" * 5_000}).encode(), False)
    assert json.loads(serialize_beacon(beacon)) == {key: value for key, value in GOOD.items() if key != "token"}


def test_that_a_request_prefetched_is_kept_too() -> None:
    _, beacon = parse_beacon_request(json.dumps(GOOD).encode(), True)
    assert json.loads(serialize_beacon(beacon))["prefetch"] is True


WRONG: dict[str, bytes] = {
    "nothing": b"",
    "not JSON": b"seq=4",
    "not an object": b"[]",
    "null": b"null",
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "broken UTF-8": b'{"token": "\xff"}',
    "nested 30,000 deep": b'{"token":"t","pages":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "a number of 5,000 digits": json.dumps(GOOD).replace("9000", "9" * 5_000).encode(),
    "NaN": json.dumps(GOOD).replace("9000", "NaN").encode(),
    "Infinity": json.dumps(GOOD).replace("9000", "1e999").encode(),
    **{f"{key} is missing": json.dumps({k: v for k, v in GOOD.items() if k != key}).encode() for key in GOOD},
    **{
        f"{key} is {json.dumps(value)[:20]}": json.dumps(GOOD | {key: value}).encode()
        for key, value in [
            ("token", 7),
            ("token", None),
            ("part", -1),
            ("part", 1_000),
            ("seq", "4"),
            ("seq", 4.0),
            ("seq", True),
            ("seq", 1_000_001),
            ("ageMs", -1),
            ("ageMs", 2**63),
            ("visible", 1),
            ("visible", "true"),
            ("visibleMs", None),
            ("input", 0),
            ("turns", -1),
            ("backTurns", 2),
            ("pages", {}),
            ("pages", "12"),
            ("pages", [7]),
            ("pages", [None]),
            ("pages", [PAGE] * 51),
            ("pages", [PAGE | {"page": 0}]),
            ("pages", [PAGE | {"page": "2"}]),
            ("pages", [PAGE | {"ms": -5}]),
            ("pages", [PAGE | {"back": 2}]),
            ("pages", [{"page": 2}]),
        ]
    },
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_beacon_is_refused(body: bytes) -> None:
    with pytest.raises(Problem) as refused:
        parse_beacon_request(body, False)
    assert refused.value.code == "bad_request"


def test_a_body_over_64_kb_is_refused_unread() -> None:
    with pytest.raises(Problem) as refused:
        parse_beacon_request(b" " * 65_537, False)
    assert refused.value.code == "payload_too_large"
