"""List and detail of files."""

import json
import uuid

import pytest

from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World

REQUIRED_KEYS = [
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
    "readerChoice",
    "showSender",
    "commentsEnabled",
    "commentsAllowPublic",
    "notifyOnComment",
    "marksEnabled",
    "annotationsEnabled",
    "designToolUpdatesEnabled",
    "shareUrl",
    "sha256",
]
ALL_KEYS = [
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
    "readerChoice",
    "showSender",
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


def test_the_list_is_newest_first(world: World) -> None:
    """The body is a bare JSON array."""
    names = ["first.pdf", "second.pdf", "third.pdf"]
    for name in names:
        world.pia.upload(name=name)
    assert [row["originalName"] for row in world.pia.get("/api/v1/files").get_json()] == names[::-1]


def test_only_the_detail_has_revisions(world: World) -> None:
    """In the list the key is absent, not empty or null."""
    made = world.pia.upload()
    [row] = world.pia.get("/api/v1/files").get_json()
    detail = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert "revisions" not in row
    assert {key: value for key, value in detail.items() if key != "revisions"} == row
    [revision] = detail["revisions"]
    assert list(revision) == ["contentVersion", "originalName", "size", "totalPages", "sha256", "createdAt"]
    assert revision == {key: detail[key] for key in revision}


def test_a_new_file_has_the_defaults_and_omits_unset_keys(world: World) -> None:
    """Unset keys such as ``slug`` and ``deleteAt`` are absent, never null."""
    content = simple_pdf(pages=4)
    made = world.pia.upload(content, "Q3 report.pdf")
    [row] = world.pia.get("/api/v1/files").get_json()
    assert list(row) == REQUIRED_KEYS
    assert row["originalName"] == "Q3 report.pdf"
    assert row["size"] == len(content)
    assert row["mimeType"] == "application/pdf"
    assert row["totalPages"] == 4
    assert row["contentVersion"] == 1
    assert row["viewerMode"] == "standard"
    assert row["viewerSettings"] == {}
    assert row["shareUrl"] == made["shareUrl"] == f"http://127.0.0.1:8787/{made['shortId']}"
    assert [key for key in REQUIRED_KEYS if row[key] is True] == [
        "allowDownload",
        "showExpiry",
        "readerChoice",
        "showSender",
    ]
    assert row["viewCount"] == row["viewsConsumed"] == 0


def test_a_file_with_all_keys_has_them_in_order(world: World) -> None:
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
    assert list(row) == ALL_KEYS
    assert row["protected"] is True
    assert row["deleteAt"] == "2026-09-21T14:13:21.500Z"
    assert {key: row[key] for key in settings} == settings
    assert b"argon2" not in world.pia.get(f"/api/v1/files/{made['uuid']}").data


@pytest.mark.parametrize("shape", ["uuid", "upper", "short"])
def test_the_path_accepts_a_uuid_in_any_case_and_a_short_id(world: World, shape: str) -> None:
    """The response has the UUID in lower case."""
    made = world.pia.upload()
    name = {"uuid": made["uuid"], "upper": made["uuid"].upper(), "short": made["shortId"]}[shape]
    found = world.pia.get(f"/api/v1/files/{name}").get_json()
    assert found["uuid"] == made["uuid"]
    assert uuid.UUID(found["uuid"]).version == 4


def test_short_ids_are_case_sensitive(world: World) -> None:
    """Two ids that differ only in case identify two files."""
    lower, upper = world.pia.upload(name="lower.pdf"), world.pia.upload(name="upper.pdf")
    update_file_row(world, lower["uuid"], short_id="abcdefghijkl")
    update_file_row(world, upper["uuid"], short_id="ABCDEFGHIJKL")
    assert world.pia.get("/api/v1/files/abcdefghijkl").get_json()["originalName"] == "lower.pdf"
    assert world.pia.get("/api/v1/files/ABCDEFGHIJKL").get_json()["originalName"] == "upper.pdf"
    assert world.pia.get("/api/v1/files/Abcdefghijkl").status_code == 404


@pytest.mark.parametrize("path", ["", "/content", "/qr-code"])
def test_a_slug_is_not_accepted_in_the_path(world: World, path: str) -> None:
    """Not even a slug that looks like a short id is accepted."""
    update_file_row(world, world.pia.upload()["uuid"], slug="abcdefghijkl")
    assert world.pia.get(f"/api/v1/files/abcdefghijkl{path}").status_code == 404
    assert world.http.get("/api/files/abcdefghijkl/qr-code").status_code == 404


def test_unknown_foreign_unclaimed_and_trashed_files_have_the_same_404(world: World) -> None:
    """The response does not disclose that a file exists."""
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
    """Trashed files and files of other accounts are not listed."""
    kept, trashed = world.pia.upload(name="kept.pdf"), world.pia.upload(name="trashed.pdf")
    world.mal.upload(name="foreign.pdf")
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    assert [row["uuid"] for row in world.pia.get("/api/v1/files").get_json()] == [kept["uuid"]]


def test_expired_and_burned_files_are_listed_and_have_a_detail(world: World) -> None:
    """Only readers cannot open such a file."""
    expired, burned = world.pia.upload(), world.pia.upload()
    update_file_row(world, expired["uuid"], delete_at=world.clock.now)
    update_file_row(world, burned["uuid"], burned_at=world.clock.now)
    assert len(world.pia.get("/api/v1/files").get_json()) == 2
    assert "burnedAt" not in world.pia.get(f"/api/v1/files/{expired['uuid']}").get_json()
    assert world.pia.get(f"/api/v1/files/{burned['uuid']}").get_json()["burnedAt"] == "2026-09-21T14:13:20.000Z"


def test_a_list_of_many_files_is_a_valid_array(world: World) -> None:
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
    assert list(listed[1500]) == REQUIRED_KEYS
