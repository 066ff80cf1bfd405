"""Requests about a link that do not open it change nothing: no view, no session, no consumed view, no row."""

from typing import Any

import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import dump_database
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World

LINK = "http://127.0.0.1:8787"
SETTINGS: dict[str, dict[str, Any]] = {
    "open": {},
    "with a password": {"password": "secret"},
    "with a form": {"gateFields": [{"key": "mail", "label": "Work email", "type": "email", "required": True}]},
    "with a view limit": {"viewLimit": 1},
    "marked and ranged": {"watermark": True, "pageRange": {"from": 1, "to": 2}},
}


def list_addresses(name: str) -> list[str]:
    """Return every public URL that concerns the link ``name``."""
    about = [f"/api/files/{name}/metadata", f"/api/files/{name}/qr-code"]
    about += [f"/oembed?url={LINK}/{name}", f"/oembed?url={LINK}/embed/{name}"]
    pages = [f"/{name}", f"/{name}?via=qr", f"/embed/{name}", f"/{name}/enter", f"/embed/{name}/enter"]
    return about + pages + [f"/{name}/download", f"/{name}/feedback"]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("dead", [False, True], ids=["living", "expired"])
def test_requests_about_a_link_change_nothing(world: World, settings: dict[str, Any], dead: bool) -> None:
    """HEAD, QR code, metadata and oEmbed requests do not increase ``viewCount``."""
    uploaded_file = world.pia.upload(simple_pdf(pages=3))
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['shortId']}/variants", json={"label": "Ann"}).get_json()
    put_settings(world, uploaded_file, **settings)
    if dead:
        update_file_row(world, uploaded_file["uuid"], delete_at=world.clock.now)
    before = dump_database(world)
    for name in (uploaded_file["shortId"], uploaded_file["uuid"], variant["shortId"]):
        for path in list_addresses(name):
            assert world.http.get(path, buffered=True).status_code < 500, path
            assert world.http.head(path, buffered=True).status_code < 500, path
    assert dump_database(world) == before


def test_api_requests_of_the_owner_count_as_no_reader(world: World) -> None:
    """Content API requests do not increase ``viewCount`` and create no session and no download."""
    uploaded_file = world.pia.upload(simple_pdf(pages=3))
    path = f"/api/v1/files/{uploaded_file['shortId']}"
    for tail in ("", "/content", "/qr-code", "/readership", "/variants"):
        assert world.pia.get(path + tail, buffered=True).status_code == 200, tail
    assert world.pia.get(path).get_json()["viewCount"] == 0
    report = world.pia.get(f"{path}/readership").get_json()["summary"]
    assert [report[name] for name in ("totalViews", "totalSessions", "downloads", "activeReaders")] == [0, 0, 0, 0]
    assert [world.pia.get(f"/api/v1/events?type={kind}").get_json() for kind in ("view", "download")] == [[], []]
