"""Links that the operator has frozen show a separate page and nothing of the document."""

from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server import admin
from tests.support.engines.database import dump_database
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import BASE_URL, World
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import FakeReader, view_count

pytestmark = pytest.mark.file_document(name="Secret plan.pdf")

ASSET = "00000000-0000-4000-8000-000000000000"
PAGE_RESOURCES = (
    "pages/1-800.jpg?v=1",
    "pages/3-1600.jpg?v=1",
    "tiles/1/400/0-0.jpg?v=1",
    "text/1.json?v=1",
    "outline.json?v=1",
    "search?v=1&q=a",
    "style.css",
    f"assets/{ASSET}",
)


def freeze_file(world: World, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = admin.run_command(world.rt, "freeze", {"file": made["shortId"]})
    return found


def list_link_names(world: World, made: dict[str, Any]) -> list[str]:
    """Return all link names of the file: short id, UUID, slug, and those of a variant and an invite."""
    file = f"/api/v1/files/{made['uuid']}"
    put_settings(world, made, slug="plan")
    variant = world.pia.post(f"{file}/variants", json={"label": "Acme"}).get_json()
    invite = world.pia.post(f"{file}/invites", json={"email": "ivy@example.com"}).get_json()
    invited = invite["url"].removeprefix(f"{BASE_URL}/")
    return [made["shortId"], made["uuid"], "plan", variant["shortId"], variant["uuid"], invited]


def test_every_link_of_a_frozen_file_shows_that_it_is_on_hold(world: World, uploaded_file: dict[str, Any]) -> None:
    links = list_link_names(world, uploaded_file)
    assert {world.http.get(f"/{name}").status_code for name in links} == {200}
    freeze_file(world, uploaded_file)
    for name in links:
        page = world.http.get(f"/{name}")
        assert page.status_code == 403
        assert "This link is on hold" in page.text
        assert "Secret plan" not in page.text
    assert world.http.head(f"/{uploaded_file['shortId']}").status_code == 403


def test_the_embed_page_shows_that_it_is_on_hold_and_can_be_framed(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    page = world.http.get(f"/embed/{uploaded_file['shortId']}")
    assert (page.status_code, "This link is on hold" in page.text) == (403, True)
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]


def test_no_content_of_a_frozen_file_is_served(world: World, uploaded_file: dict[str, Any]) -> None:
    links = list_link_names(world, uploaded_file)
    freeze_file(world, uploaded_file)
    before = dump_database(world)
    for name in links:
        for path in PAGE_RESOURCES:
            answer = world.http.get(f"/{name}/{path}")
            assert (answer.status_code, b"Secret" in answer.data) == (403, False)
        answer = world.http.post(f"/{name}/download")
        assert answer.status_code in (403, 404)
        assert b"%PDF" not in answer.data
    assert dump_database(world) == before


def test_gate_access_granted_before_the_freeze_is_void(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="open", requireEmail=False)
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.enter("open")
    freeze_file(world, uploaded_file)
    assert guest.get(f"/{uploaded_file['shortId']}/pages/1-800.jpg?v=1").status_code == 403
    answer = guest.submit("open")
    assert (answer.status_code, "This link is on hold" in answer.text) == (403, True)
    assert "<form" not in answer.text


def test_metadata_and_oembed_reveal_nothing_about_a_frozen_file(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    result = world.http.get(f"/api/files/{uploaded_file['shortId']}/metadata")
    assert (result.status_code, result.get_json()["code"]) == (403, "forbidden")
    assert "Secret" not in result.text
    assert world.http.get("/oembed", query_string={"url": uploaded_file["shareUrl"]}).status_code == 404


def test_beacons_of_an_open_page_are_rejected(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    freeze_file(world, uploaded_file)
    assert reader.read_page(10, page=1) == 403
    assert view_count(world, uploaded_file["shortId"]) == 0


def test_the_owner_can_still_read_the_file_and_change_settings(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    owner = sign_in_browser(world, world.pia)
    for path in ("", "/pages/1-800.jpg?v=1", "/text/1.json?v=1"):
        assert owner.get(f"/{uploaded_file['shortId']}{path}").status_code == 200
    assert owner.post(f"/{uploaded_file['shortId']}/download", buffered=True).data.startswith(b"%PDF")
    put_settings(world, uploaded_file, allowDownload=False)
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/content", buffered=True).status_code == 200
    stranger = sign_in_browser(world, world.mal)
    assert stranger.get(f"/{uploaded_file['shortId']}").status_code == 403


def test_a_view_by_the_owner_is_not_counted(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    reader = FakeReader(world, uploaded_file["shortId"], http=sign_in_browser(world, world.pia))
    assert reader.read_page(10, page=1) == 204
    assert view_count(world, uploaded_file["shortId"]) == 0


def test_unfreezing_reopens_every_link(world: World, uploaded_file: dict[str, Any]) -> None:
    links = list_link_names(world, uploaded_file)
    freeze_file(world, uploaded_file)
    result = admin.run_command(world.rt, "unfreeze", {"file": uploaded_file["uuid"]})
    assert result == {
        "uuid": uploaded_file["uuid"],
        "shortId": uploaded_file["shortId"],
        "originalName": "Secret plan.pdf",
    }
    assert {world.http.get(f"/{name}").status_code for name in links} == {200}


def test_any_link_name_can_be_used_to_freeze_a_file(world: World, uploaded_file: dict[str, Any]) -> None:
    """A reader who reports a link knows only that link."""
    for name in list_link_names(world, uploaded_file):
        result = admin.run_command(world.rt, "freeze", {"file": name})
        assert (result["uuid"], result["frozenAt"]) == (uploaded_file["uuid"], "2026-09-21T14:13:20.000Z")
        assert "frozenAt" not in admin.run_command(world.rt, "unfreeze", {"file": name})


def test_freezing_twice_preserves_the_first_time(world: World, uploaded_file: dict[str, Any]) -> None:
    first = freeze_file(world, uploaded_file)
    world.clock.advance(days=1)
    assert freeze_file(world, uploaded_file) == first


@pytest.mark.parametrize("command", ["freeze", "unfreeze"])
def test_an_unknown_link_is_not_found(world: World, command: str) -> None:
    with pytest.raises(Problem, match="no file 'aB3dE5fG7hJ9'"):
        admin.run_command(world.rt, command, {"file": "aB3dE5fG7hJ9"})
