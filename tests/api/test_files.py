"""List and detail of files."""

import json
import uuid

import pytest

from tests.api.route_table import UNKNOWN_UUID
from tests.support.cast import World
from tests.support.pdfs import simple_pdf
from tests.support.rows import update_file_row

ALWAYS = [
    "uuid",
    "shortId",
    "originalName",
    "size",
    "mimeType",
    "createdAt",
    "viewCount",
    "viewerMode",
    "protected",
    "allowDownload",
    "requireEmail",
    "notifyOnView",
    "contentVersion",
    "totalPages",
    "updatedAt",
    "viewsConsumed",
    "viewerSettings",
    "askReceipt",
    "watermark",
    "showExpiry",
    "commentsEnabled",
    "commentsAllowPublic",
    "notifyOnComment",
    "marksEnabled",
    "annotationsEnabled",
    "designToolUpdatesEnabled",
    "shareUrl",
    "sha256",
]
EVERYTHING = [
    "uuid",
    "shortId",
    "slug",
    "originalName",
    "size",
    "mimeType",
    "createdAt",
    "deleteAt",
    "viewCount",
    "viewerMode",
    "protected",
    "allowDownload",
    "requireEmail",
    "notifyOnView",
    "contentVersion",
    "revisions",
    "totalPages",
    "updatedAt",
    "viewsConsumed",
    "viewerSettings",
    "askReceipt",
    "watermark",
    "showExpiry",
    "commentsEnabled",
    "commentsAllowPublic",
    "notifyOnComment",
    "marksEnabled",
    "annotationsEnabled",
    "designToolUpdatesEnabled",
    "viewLimit",
    "burnedAt",
    "gateFields",
    "gateDomains",
    "pageRange",
    "shareUrl",
    "sha256",
]


def test_an_empty_list_is_an_empty_array(world: World) -> None:
    answer = world.pia.get("/api/v1/files")
    assert answer.data == b"[]"
    assert answer.headers["Content-Type"] == "application/json"


def test_the_list_is_a_bare_array_newest_first(world: World) -> None:
    """The list is a bare JSON array, newest first."""
    names = ["first.pdf", "second.pdf", "third.pdf"]
    for name in names:
        world.pia.upload(name=name)
    assert [row["originalName"] for row in world.pia.get("/api/v1/files").get_json()] == names[::-1]


def test_the_list_has_no_revisions_and_the_detail_has(world: World) -> None:
    """Without ``revisions`` key (not empty, not null); detail has it."""
    made = world.pia.upload()
    [row] = world.pia.get("/api/v1/files").get_json()
    detail = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert "revisions" not in row
    assert {key: value for key, value in detail.items() if key != "revisions"} == row
    [revision] = detail["revisions"]
    assert list(revision) == ["contentVersion", "originalName", "size", "totalPages", "sha256", "createdAt"]
    assert revision == {key: detail[key] for key in revision}


def test_a_fresh_file_has_the_defaults_and_no_key_that_is_unset(world: World) -> None:
    """``slug``, ``deleteAt`` and the like are absent, never null."""
    content = simple_pdf(pages=4)
    made = world.pia.upload(content, "Q3 report.pdf")
    [row] = world.pia.get("/api/v1/files").get_json()
    assert list(row) == ALWAYS
    assert row["originalName"] == "Q3 report.pdf"
    assert row["size"] == len(content)
    assert row["mimeType"] == "application/pdf"
    assert row["totalPages"] == 4
    assert row["contentVersion"] == 1
    assert row["viewerMode"] == "standard"
    assert row["viewerSettings"] == {}
    assert row["shareUrl"] == made["shareUrl"] == f"http://127.0.0.1:8787/{made['shortId']}"
    assert [key for key in ALWAYS if row[key] is True] == ["allowDownload", "showExpiry"]
    assert row["viewCount"] == row["viewsConsumed"] == 0


def test_the_keys_keep_their_order_when_everything_is_set(world: World) -> None:
    made = world.pia.upload()
    settings = {
        "watermark": True,
        "gateFields": [{"key": "mail", "label": "Mail", "type": "email", "required": True}],
        "gateDomains": ["example.com"],
        "pageRange": {"from": 1, "to": 2},
        "viewerSettings": {"page": {"shadow": 0}},
    }
    update_file_row(
        world,
        made["uuid"],
        slug="my-report",
        delete_at=world.clock.now + 1500,
        view_limit=5,
        burned_at=world.clock.now,
        password_hash="argon2",
        settings=json.dumps(settings),
    )
    row = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert list(row) == EVERYTHING
    assert row["protected"] is True
    assert row["deleteAt"] == "2026-09-21T14:13:21.500Z"
    assert {key: row[key] for key in settings} == settings
    assert b"argon2" not in world.pia.get(f"/api/v1/files/{made['uuid']}").data


@pytest.mark.parametrize("shape", ["uuid", "upper", "short"])
def test_a_file_is_found_by_uuid_in_either_case_and_by_short_id(world: World, shape: str) -> None:
    """UUIDs match case-insensitively and come back lower-case."""
    made = world.pia.upload()
    name = {"uuid": made["uuid"], "upper": made["uuid"].upper(), "short": made["shortId"]}[shape]
    found = world.pia.get(f"/api/v1/files/{name}").get_json()
    assert found["uuid"] == made["uuid"]
    assert uuid.UUID(found["uuid"]).version == 4


def test_short_ids_are_case_sensitive(world: World) -> None:
    """Two ids differing only in case are two files."""
    lower, upper = world.pia.upload(name="lower.pdf"), world.pia.upload(name="upper.pdf")
    update_file_row(world, lower["uuid"], short_id="abcdefghijkl")
    update_file_row(world, upper["uuid"], short_id="ABCDEFGHIJKL")
    assert world.pia.get("/api/v1/files/abcdefghijkl").get_json()["originalName"] == "lower.pdf"
    assert world.pia.get("/api/v1/files/ABCDEFGHIJKL").get_json()["originalName"] == "upper.pdf"
    assert world.pia.get("/api/v1/files/Abcdefghijkl").status_code == 404


@pytest.mark.parametrize("path", ["", "/content", "/qr-code"])
def test_a_slug_is_no_name_here(world: World, path: str) -> None:
    """Slugs are never accepted on API file routes."""
    update_file_row(world, world.pia.upload()["uuid"], slug="abcdefghijkl")
    assert world.pia.get(f"/api/v1/files/abcdefghijkl{path}").status_code == 404
    assert world.http.get("/api/files/abcdefghijkl/qr-code").status_code == 404


def test_unknown_foreign_unclaimed_and_trashed_files_answer_with_the_same_bytes(world: World) -> None:
    """One not-found path: identical 404 for all of them."""
    foreign, unclaimed, trashed = world.mal.upload(), world.pia.upload(), world.pia.upload()
    update_file_row(world, unclaimed["uuid"], owner_id=None)
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    for route in ("", "/content", "/qr-code"):
        answers = [
            world.pia.get(f"/api/v1/files/{name}{route}")
            for name in (UNKNOWN_UUID, foreign["uuid"], foreign["shortId"], unclaimed["uuid"], trashed["uuid"])
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.data for answer in answers}) == 1


def test_the_list_shows_only_active_files_of_the_caller(world: World) -> None:
    """The list holds active files only (trashed excluded)."""
    kept, trashed = world.pia.upload(name="kept.pdf"), world.pia.upload(name="trashed.pdf")
    world.mal.upload(name="foreign.pdf")
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    assert [row["uuid"] for row in world.pia.get("/api/v1/files").get_json()] == [kept["uuid"]]


def test_expired_and_burned_files_are_still_listed_and_shown(world: World) -> None:
    """``GET /files/{id}`` answers 200 for an expired or burned file that still has its row."""
    expired, burned = world.pia.upload(), world.pia.upload()
    update_file_row(world, expired["uuid"], delete_at=world.clock.now)
    update_file_row(world, burned["uuid"], burned_at=world.clock.now)
    assert len(world.pia.get("/api/v1/files").get_json()) == 2
    assert "burnedAt" not in world.pia.get(f"/api/v1/files/{expired['uuid']}").get_json()
    assert world.pia.get(f"/api/v1/files/{burned['uuid']}").get_json()["burnedAt"] == "2026-09-21T14:13:20.000Z"


def test_a_list_of_many_files_is_one_sound_array(world: World) -> None:
    made = world.pia.upload()
    rows = 3000
    copy = (
        "INSERT INTO files (uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes, "
        "sha256, blob, content_version, created_at, updated_at) SELECT ?, ?, owner_id, original_name, size, "
        "mime_type, total_pages, page_sizes, sha256, blob, 1, created_at, updated_at FROM files WHERE uuid = ?"
    )
    with world.rt.db.write():
        for number in range(1, rows):
            ids = (f"{number:08}-0000-4000-8000-000000000000", f"{number:012}")
            world.rt.db.execute(copy, (*ids, made["uuid"]))
    answer = world.pia.get("/api/v1/files", buffered=True)
    listed = json.loads(answer.data)
    assert len(listed) == rows
    assert answer.headers["Content-Length"] == str(len(answer.data))
    assert listed[0]["shortId"] == f"{rows - 1:012}"
    assert listed[-1]["uuid"] == made["uuid"]
    assert list(listed[1500]) == ALWAYS
