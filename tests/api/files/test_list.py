"""The list of files has a fast encoder whose output equals that of the ordinary encoder, byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docshare.server.api import file_list
from docshare.server.api.represent import resources
from docshare.server.services.files.files import FileRow
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World

BASE = "http://127.0.0.1:8787/100%s"
SETTINGS_WITH_MARKERS = json.dumps(
    {"gateFields": [{"label": "\0size\0 \0uuid\0 %s", "key": "0001-01-01T00:00:00.001Z"}]}
)
STORED_SETTINGS = (
    "{}",
    '{"viewerMode":"flipbook","allowDownload":false}',
    '{"viewerSettings":{"cta":{"label":"100% \\u00fc %s","url":"https://d.example"}}}',
    '{"pageRange":{"from":2,"to":3},"gateDomains":["d.example"]}',
    SETTINGS_WITH_MARKERS,
)


def make_row(**values: Any) -> FileRow:
    """Create a row of the list; every number that is not given is 1."""
    known: dict[str, Any] = {
        "uuid": "00000000-0000-4000-8000-000000000001", "short_id": "aB3dE5fG7hJ9", "slug": None,
        "original_name": "a.pdf", "mime_type": "application/pdf", "sha256": "0f" * 32, "blob": "b" * 32,
        "created_at": 1_790_000_000_000, "updated_at": 1_790_000_000_001, "delete_at": None, "burned_at": None,
        "view_limit": None, "protected": 0, "settings": "{}",
    }  # fmt: skip
    return FileRow(**(dict.fromkeys(FileRow._fields, 1) | known | values))


def render_rows(rows: list[FileRow]) -> bytes:
    return b"".join(file_list.encode_array(BASE, rows))


def encode_rows(rows: list[FileRow]) -> bytes:
    return json.dumps([resources.file_object(BASE, each) for each in rows], separators=(",", ":")).encode()


TIMES = st.integers(0, 253_402_300_799_999)
ROWS = st.builds(
    make_row,
    short_id=st.from_regex(r"[0-9A-Za-z]{12}", fullmatch=True),
    slug=st.none() | st.from_regex(r"[a-z0-9-]{1,64}", fullmatch=True),
    original_name=st.text(st.characters(exclude_categories=()), min_size=1)
    | st.sampled_from(["%s", "\0slug\0", '"\\']),
    size=st.integers(0, 2**40),
    total_pages=st.integers(1, 50_000),
    created_at=TIMES,
    updated_at=TIMES,
    delete_at=st.none() | TIMES,
    burned_at=st.none() | TIMES,
    view_count=st.integers(0, 2**31),
    views_consumed=st.integers(0, 10**6),
    view_limit=st.none() | st.integers(1, 10**6),
    protected=st.booleans(),
    settings=st.sampled_from(STORED_SETTINGS),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ROWS, max_size=8))
def test_the_fast_encoder_writes_the_same_bytes_as_the_slow_one(rows: list[FileRow]) -> None:
    assert render_rows(rows) == encode_rows(rows)


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1000])
def test_an_array_of_any_length_is_complete(count: int) -> None:
    rows = [make_row(id=number, size=number) for number in range(count)]
    assert render_rows(rows) == encode_rows(rows)


def test_a_setting_that_looks_like_a_marker_is_preserved() -> None:
    rows = [make_row(settings=SETTINGS_WITH_MARKERS, size=size) for size in (7, 8)]
    assert render_rows(rows) == encode_rows(rows)
    assert json.loads(render_rows(rows))[1]["gateFields"][0]["label"] == "\0size\0 \0uuid\0 %s"


def test_the_shape_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_list, "_MAX_SHAPES", 3)
    rows = [make_row(settings=json.dumps({"viewLimit": number % 7})) for number in range(50)]
    assert render_rows(rows) == encode_rows(rows)


def test_each_listed_file_equals_its_detail_without_revisions(world: World) -> None:
    """The list is newest first."""
    made = [world.pia.upload(name=f"{number} ü.pdf") for number in range(4)]
    update_file_row(world, made[0]["uuid"], slug="first", delete_at=world.clock.now + 5, settings=STORED_SETTINGS[1])
    update_file_row(
        world, made[1]["uuid"], view_limit=3, views_consumed=1, burned_at=world.clock.now, password_hash="x"
    )
    listed = world.pia.get("/api/v1/files").get_json()
    details = [world.pia.get(f"/api/v1/files/{each['uuid']}").get_json() for each in reversed(made)]
    for detail in details:
        del detail["revisions"]
    assert listed == details
    assert [list(each) for each in listed] == [list(each) for each in details]
