"""Public metadata of a share link."""

import json
from typing import Any

import pytest

from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.people.cast import World

pytestmark = pytest.mark.file_document(name="Report.pdf")

HOUR = 3_600_000
LINK = "http://127.0.0.1:8787"


def get_metadata(world: World, name: str) -> Any:
    answer = world.http.get(f"/api/files/{name}/metadata")
    assert answer.content_type == "application/json"
    return answer.get_json()


def store_settings(world: World, made: dict[str, Any], **settings: Any) -> None:
    update_file_row(world, made["uuid"], settings=json.dumps(settings))


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_the_metadata_of_a_live_link_is_public(world: World, uploaded_file: dict[str, Any], shape: str) -> None:
    assert list(get_metadata(world, uploaded_file[shape]).items()) == [
        ("shortId", uploaded_file["shortId"]),
        ("originalName", "Report.pdf"),
        ("size", len(simple_pdf(pages=3))),
        ("totalPages", 3),
        ("viewerMode", "standard"),
        ("allowDownload", True),
        ("protected", False),
        ("requireEmail", False),
        ("shareUrl", f"{LINK}/{uploaded_file['shortId']}"),
    ]
    assert get_metadata(world, uploaded_file["uuid"].upper())["shortId"] == uploaded_file["shortId"]


def test_the_metadata_reflects_the_settings_of_the_file(world: World, uploaded_file: dict[str, Any]) -> None:
    store_settings(world, uploaded_file, viewerMode="flipbook", allowDownload=False, pageRange={"from": 2, "to": 3})
    facts = get_metadata(world, uploaded_file["shortId"])
    assert (facts["viewerMode"], facts["allowDownload"], facts["totalPages"]) == ("flipbook", False, 2)


def test_the_expiry_is_public_unless_it_is_hidden(world: World, uploaded_file: dict[str, Any]) -> None:
    """``showExpiry`` does not affect the detail for the owner."""
    update_file_row(world, uploaded_file["uuid"], delete_at=world.clock.now + HOUR)
    expiry = get_metadata(world, uploaded_file["shortId"])["deleteAt"]
    store_settings(world, uploaded_file, showExpiry=False)
    assert "deleteAt" not in get_metadata(world, uploaded_file["shortId"])
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()["deleteAt"] == expiry


@pytest.mark.parametrize(
    ("columns", "protected", "required"),
    [
        ({"password_hash": "x"}, True, False),
        ({"settings": '{"requireEmail": true}'}, False, True),
        ({"settings": '{"requireEmail": true, "gateFields": [{"key": "email"}]}'}, False, True),
    ],
)
@pytest.mark.parametrize("ended", ["", "expired", "burned"])
def test_the_name_of_a_gated_document_is_never_public(
    world: World, uploaded_file: dict[str, Any], columns: dict[str, Any], protected: bool, required: bool, ended: str
) -> None:
    """``originalName`` is absent for a file with a password or email gate, even after it has expired."""
    update_file_row(world, uploaded_file["uuid"], **columns)
    if ended:
        update_file_row(
            world, uploaded_file["uuid"], **{{"expired": "delete_at", "burned": "burned_at"}[ended]: world.clock.now}
        )
    facts = get_metadata(world, uploaded_file["shortId"])
    assert "Report" not in json.dumps(facts)
    if not ended:
        assert (facts["protected"], facts["requireEmail"]) == (protected, required)


def test_a_view_limit_does_not_hide_the_name(world: World, uploaded_file: dict[str, Any]) -> None:
    update_file_row(world, uploaded_file["uuid"], view_limit=3)
    assert get_metadata(world, uploaded_file["shortId"])["originalName"] == "Report.pdf"


@pytest.mark.parametrize(("column", "reason"), [("delete_at", "expired"), ("burned_at", "burned")])
def test_an_expired_or_burned_link_is_410_with_reason_and_time(
    world: World, uploaded_file: dict[str, Any], column: str, reason: str
) -> None:
    update_file_row(world, uploaded_file["uuid"], **{column: world.clock.now})
    answer = world.http.get(f"/api/files/{uploaded_file['shortId']}/metadata")
    assert (answer.status_code, answer.content_type) == (410, "application/json")
    told = answer.get_json()
    assert list(told) == ["reason", "why", "endedAt", "originalName"]
    assert told["reason"] == reason
    assert told["why"].endswith(".")
    assert told["endedAt"] == world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()["updatedAt"]
    assert told["originalName"] == "Report.pdf"


def test_a_link_that_is_both_burned_and_expired_is_burned(world: World, uploaded_file: dict[str, Any]) -> None:
    update_file_row(world, uploaded_file["uuid"], burned_at=world.clock.now, delete_at=world.clock.now - 1)
    assert get_metadata(world, uploaded_file["shortId"])["reason"] == "burned"


@pytest.mark.parametrize("name", [UNKNOWN_UUID, "abcdefghijkl", "nope", "%00", "a b", "x" * 2000])
def test_an_unknown_link_is_404(world: World, name: str) -> None:
    answer = world.http.get(f"/api/files/{name}/metadata")
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")


def test_trashed_files_and_slugs_have_the_404_of_an_unknown_link(world: World, uploaded_file: dict[str, Any]) -> None:
    """Not even a slug that looks like a short id is accepted."""
    unknown = world.http.get("/api/files/abcdefghijkl/metadata").get_data()
    update_file_row(world, uploaded_file["uuid"], slug="abcdefghijkl")
    assert world.http.get("/api/files/abcdefghijkl/metadata").get_data() == unknown
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    assert world.http.get(f"/api/files/{uploaded_file['shortId']}/metadata").get_data() == unknown


def test_the_metadata_of_a_variant_has_its_own_ids_and_overrides(world: World, uploaded_file: dict[str, Any]) -> None:
    """The ids and the slug of the file are not disclosed, and a revoked variant is 404."""
    store_settings(world, uploaded_file, pageRange={"from": 1, "to": 1})
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    overrides = {"allowDownload": False, "pageRange": {"from": 2, "to": 3}}
    variant = world.pia.post(path, json={"label": "Ann", "overrides": overrides}).get_json()
    for name in (variant["shortId"], variant["uuid"].upper()):
        facts = get_metadata(world, name)
        assert (facts["shortId"], facts["shareUrl"]) == (variant["shortId"], variant["url"])
        assert (facts["allowDownload"], facts["totalPages"], facts["originalName"]) == (False, 2, "Report.pdf")
        assert not [
            word
            for word in (uploaded_file["uuid"], uploaded_file["shortId"], "the-report", "Ann")
            if word in json.dumps(facts)
        ]
    world.pia.put(f"{path}/{variant['uuid']}", json={"revoked": True})
    unknown = world.http.get("/api/files/abcdefghijkl/metadata")
    assert world.http.get(f"/api/files/{variant['shortId']}/metadata").data == unknown.data


def test_metadata_requests_are_not_counted(world: World, uploaded_file: dict[str, Any]) -> None:
    """The same applies to oEmbed requests."""
    get_metadata(world, uploaded_file["shortId"])
    world.http.get("/oembed", query_string={"url": f"{LINK}/{uploaded_file['shortId']}"})
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()["viewCount"] == 0
    assert count_rows(world, "view_sessions") == 0


def test_metadata_requests_are_limited_by_address(make: Any) -> None:
    world = make(rate_limit=2)
    statuses = [world.http.get("/api/files/abcdefghijkl/metadata").status_code for _ in range(3)]
    assert statuses == [404, 404, 429]
    other = world.http.get("/api/files/abcdefghijkl/metadata", environ_base={"REMOTE_ADDR": "198.51.100.9"})
    assert other.status_code == 404
