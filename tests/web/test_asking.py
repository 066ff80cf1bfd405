"""Whatever can be asked about a link without opening it changes nothing: no view, no session, no unit, no row."""

from typing import Any

import pytest

from tests.support.cast import World
from tests.support.database import dump_database
from tests.support.owner import put_settings
from tests.support.pdfs import simple_pdf
from tests.support.rows import update_file_row

LINK = "http://127.0.0.1:8787"
SETTINGS: dict[str, dict[str, Any]] = {
    "open": {},
    "with a password": {"password": "secret"},
    "with a form": {"gateFields": [{"key": "mail", "label": "Work email", "type": "email", "required": True}]},
    "with a view limit": {"viewLimit": 1},
    "marked and ranged": {"watermark": True, "pageRange": {"from": 1, "to": 2}},
}


def list_addresses(name: str) -> list[str]:
    """Every address that answers anybody about the link ``name``."""
    about = [f"/api/files/{name}/metadata", f"/api/files/{name}/qr-code"]
    about += [f"/oembed?url={LINK}/{name}", f"/oembed?url={LINK}/embed/{name}"]
    pages = [f"/{name}", f"/{name}?via=qr", f"/embed/{name}", f"/{name}/enter", f"/embed/{name}/enter"]
    return about + pages + [f"/{name}/download", f"/{name}/feedback"]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("dead", [False, True], ids=["living", "expired"])
def test_asking_about_a_link_changes_nothing(world: World, settings: dict[str, Any], dead: bool) -> None:
    """``viewCount`` does not rise by HEAD, QR, metadata or oEmbed (easy to get wrong, 85)."""
    made = world.pia.upload(simple_pdf(pages=3))
    variant = world.pia.post(f"/api/v1/files/{made['shortId']}/variants", json={"label": "Ann"}).get_json()
    put_settings(world, made, **settings)
    if dead:
        update_file_row(world, made["uuid"], delete_at=world.clock.now)
    before = dump_database(world)
    for name in (made["shortId"], made["uuid"], variant["shortId"]):
        for path in list_addresses(name):
            assert world.http.get(path, buffered=True).status_code < 500, path
            assert world.http.head(path, buffered=True).status_code < 500, path
    assert dump_database(world) == before


def test_the_owners_programs_count_as_no_reader(world: World) -> None:
    """``viewCount`` does not rise by the content API either, and no session and no download comes of it."""
    made = world.pia.upload(simple_pdf(pages=3))
    path = f"/api/v1/files/{made['shortId']}"
    for tail in ("", "/content", "/qr-code", "/readership", "/variants"):
        assert world.pia.get(path + tail, buffered=True).status_code == 200, tail
    assert world.pia.get(path).get_json()["viewCount"] == 0
    report = world.pia.get(f"{path}/readership").get_json()["summary"]
    assert [report[name] for name in ("totalViews", "totalSessions", "downloads", "activeReaders")] == [0, 0, 0, 0]
    assert [world.pia.get(f"/api/v1/events?type={kind}").get_json() for kind in ("view", "download")] == [[], []]
