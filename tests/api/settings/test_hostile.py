"""Hostile settings bodies are rejected or stored completely, and never cause an internal error."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples

from tests.contract.hostile_values import AWKWARD_VALUES, json_values
from tests.contract.settings_table import CASES, LOOKS
from tests.support.people.cast import Person, World
from tests.support.people.settings import ConfiguredFile, remove_owner

NAMES = [case.name for case in CASES]
BLOCKS = sorted({look.field.partition(".")[0] for look in LOOKS})
FIELDS = sorted({look.field.partition(".")[2] or look.field for look in LOOKS})
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def file(make: Callable[..., World]) -> ConfiguredFile:
    """Upload a file of Pia, who is on Pro, to an instance with rate limits that no test reaches."""
    calm = make(rate_limit=1_000_000, address_limit=1_000_000)
    return ConfiguredFile(calm, calm.pia)


def send_raw_settings(
    file: ConfiguredFile, raw: bytes, person: Person | None = None, headers: dict[str, str] | None = None
) -> int:
    """Put ``raw`` and return the status; assert that a rejection changes nothing and a stored body is readable."""
    before = file.read_row_and_bytes()
    sender = person or file.owner
    answer = sender.put(f"{file.path}/settings", data=raw, headers=JSON if headers is None else headers)
    if answer.status_code == 200:
        assert answer.data == b""
        if person is None:
            assert file.owner.get(file.path).status_code == 200
    else:
        assert answer.get_json()["code"] != "internal", raw[:200]
        assert file.read_row_and_bytes() == before, raw[:200]
    return answer.status_code


@pytest.mark.parametrize("name", [*NAMES, *(f"viewerSettings.{block}" for block in BLOCKS)])
def test_awkward_values_never_break_a_write(file: ConfiguredFile, name: str) -> None:
    for value in AWKWARD_VALUES:
        outer, _, block = name.partition(".")
        body = {outer: {block: value} if block else value}
        fresh = {"viewLimit": 0, "slug": ""} | body
        try:
            raw = json.dumps(fresh).encode()
        except ValueError:  # an integer of hundreds of digits
            continue
        assert send_raw_settings(file, raw) in (200, 400, 410), value
        if "deleteAt" in file.get_file():
            file.change_settings(neverExpire=True)


@pytest.mark.parametrize("field", FIELDS)
def test_awkward_values_inside_every_block_never_break_a_write(file: ConfiguredFile, field: str) -> None:
    for value in AWKWARD_VALUES:
        raw = json.dumps({"viewerSettings": {block: {field: value} for block in BLOCKS}}).encode()
        assert send_raw_settings(file, raw) in (200, 400), value


@examples(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(json_values([*NAMES, *BLOCKS, *FIELDS]))
def test_any_json_is_rejected_or_stored_completely(file: ConfiguredFile, body: Any) -> None:
    try:
        raw = json.dumps(body).encode()
    except ValueError:
        return
    assert send_raw_settings(file, raw) in (200, 400, 410)
    file.owner.put(f"{file.path}/settings", json={"neverExpire": True})


RAW_BODIES = {
    "a list": (b"[]", 400),
    "a word": (b'"x"', 400),
    "nothing sound": (b"{", 400),
    "a trailing comma": (b'{"viewerMode": "swipe",}', 400),
    "two bodies": (b"{}{}", 400),
    "deep": (b'{"viewerSettings":' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
    "a key twice": (b'{"password": "a", "password": "b"}', 400),
    "a key twice inside": (b'{"pageRange": {"from": 1, "to": 1, "to": 2}}', 400),
    "not a number": (b'{"viewLimit": NaN}', 400),
    "a huge integer": (b'{"viewLimit": ' + b"9" * 5000 + b"}", 400),
    "a huge number": (b'{"viewLimit": 1e999}', 400),
    "half a pair": (b'{"password": "\\ud800"}', 400),
    "nul": (b'{"password": "a\\u0000b"}', 400),
    "raw nul": (b'{"slug": "a\x00"}', 400),
    "utf-16": ('{"slug": "a"}'.encode("utf-16"), 400),
    "a byte order mark": (b"\xef\xbb\xbf{}", 400),
    "latin-1": ('{"password": "ä"}'.encode("latin-1"), 400),
    "full-width digits": ('{"viewLimit": ３}'.encode(), 400),
    "too long": (b'{"unknown": "' + b"x" * (1 << 20) + b'"}', 413),
}


@pytest.mark.parametrize(("raw", "status"), RAW_BODIES.values(), ids=list(RAW_BODIES))
def test_an_invalid_json_object_is_rejected(file: ConfiguredFile, raw: bytes, status: int) -> None:
    assert send_raw_settings(file, raw) == status


@pytest.mark.parametrize("declared", ["text/plain", "multipart/form-data; boundary=x", "application/xml", ""])
def test_a_body_that_is_not_declared_as_json_is_415(file: ConfiguredFile, declared: str) -> None:
    assert send_raw_settings(file, b'{"viewerMode": "swipe"}', headers={"Content-Type": declared}) == 415


def test_hostile_bodies_with_a_manage_token_are_rejected_or_stored_completely(file: ConfiguredFile) -> None:
    world = file.world
    manager = remove_owner(world, file)
    for raw, status in RAW_BODIES.values():
        assert send_raw_settings(file, raw, manager) == status
    for name in NAMES:
        for value in AWKWARD_VALUES:
            try:
                raw = json.dumps({name: value}).encode()
            except ValueError:
                continue
            assert send_raw_settings(file, raw, manager) in (200, 400, 403)
