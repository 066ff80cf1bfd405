"""Which request bodies are valid beacons, and what is stored of them."""

import itertools
import json
from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server.rules.reading import (
    BeaconBody,
    PageTime,
    parse_beacon_request,
    serialize_accepted,
    serialize_beacon,
)

VALID_BEACON: dict[str, Any] = {
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
PAGE = VALID_BEACON["pages"][0]


def test_a_beacon_is_parsed() -> None:
    token, beacon = parse_beacon_request(json.dumps(VALID_BEACON).encode(), False)
    assert token == "t.s"
    assert beacon == BeaconBody(0, 4, 12_000, True, 9_000, True, 1, 0, (PageTime(2, 8_500, 1, 0),))


def test_a_beacon_is_stored_without_its_token_and_unknown_fields() -> None:
    _, beacon = parse_beacon_request(json.dumps(VALID_BEACON | {"junk": "x" * 5_000}).encode(), False)
    assert json.loads(serialize_beacon(beacon)) == {key: value for key, value in VALID_BEACON.items() if key != "token"}


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=5)))
@pytest.mark.parametrize("pages", [0, 1, 3])
def test_every_field_of_a_beacon_is_stored(flags: tuple[bool, ...], pages: int) -> None:
    visible, has_input, prefetch, closing, reload = flags
    sent = VALID_BEACON | {"visible": visible, "input": has_input, "turns": 3, "backTurns": 2}
    sent |= {"pages": [{"page": 7 + number, "ms": 10**12, "views": 5, "back": 4} for number in range(pages)]}
    sent |= {"closing": True} if closing else {}
    sent |= {"reload": True} if reload else {}
    _, beacon = parse_beacon_request(json.dumps(sent).encode(), prefetch)
    stored = {**sent, "prefetch": True} if prefetch else sent
    del stored["token"]
    assert json.loads(serialize_beacon(beacon)) == stored


def test_the_accepted_part_of_a_beacon_is_stored_as_lists() -> None:
    assert serialize_accepted([]) == "[]"
    assert serialize_accepted([PageTime(2, 8_500, 1, 0), PageTime(3, 0, 2, 1)]) == "[[2,8500,1,0],[3,0,2,1]]"


INVALID_BODIES: dict[str, bytes] = {
    "nothing": b"",
    "not JSON": b"seq=4",
    "not an object": b"[]",
    "null": b"null",
    "UTF-16": json.dumps(VALID_BEACON).encode("utf-16"),
    "broken UTF-8": b'{"token": "\xff"}',
    "nested 30,000 deep": b'{"token":"t","pages":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "a number of 5,000 digits": json.dumps(VALID_BEACON).replace("9000", "9" * 5_000).encode(),
    "NaN": json.dumps(VALID_BEACON).replace("9000", "NaN").encode(),
    "Infinity": json.dumps(VALID_BEACON).replace("9000", "1e999").encode(),
    **{
        f"{key} is missing": json.dumps({k: v for k, v in VALID_BEACON.items() if k != key}).encode()
        for key in VALID_BEACON
    },
    **{
        f"{key} is {json.dumps(value)[:20]}": json.dumps(VALID_BEACON | {key: value}).encode()
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


@pytest.mark.parametrize("body", INVALID_BODIES.values(), ids=INVALID_BODIES.keys())
def test_an_invalid_beacon_is_rejected(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse_beacon_request(body, False)
    assert caught.value.code == "bad_request"


def test_a_body_over_64_kb_is_413() -> None:
    with pytest.raises(Problem) as caught:
        parse_beacon_request(b" " * 65_537, False)
    assert caught.value.code == "payload_too_large"
