"""Links that the operator has frozen: a page of its own, and nothing of the document."""

from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server import admin
from tests.support.cast import BASE_URL, World
from tests.support.database import dump_database
from tests.support.gate_client import GateClient
from tests.support.owner import put_settings, sign_in_browser
from tests.support.pdfs import simple_pdf
from tests.support.reader import FakeReader, view_count

ASSET = "00000000-0000-4000-8000-000000000000"
PAGE_RESOURCES = ("pages/1-800.jpg?v=1", "pages/3-1600.jpg?v=1", "text/1.json?v=1", "style.css", f"assets/{ASSET}")


@pytest.fixture
def uploaded_file(world: World) -> dict[str, Any]:
    """A document of three pages that Pia shares."""
    return world.pia.upload(simple_pdf(pages=3), "Secret plan.pdf")


def freeze_file(world: World, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = admin.run_command(world.rt, "freeze", {"file": made["shortId"]})
    return found


def list_link_names(world: World, made: dict[str, Any]) -> list[str]:
    """All links of the file: short id, UUID, link name, and those of a recipient and of somebody invited."""
    file = f"/api/v1/files/{made['uuid']}"
    put_settings(world, made, slug="plan")
    variant = world.pia.post(f"{file}/variants", json={"label": "Acme"}).get_json()
    invite = world.pia.post(f"{file}/invites", json={"email": "ivy@example.com"}).get_json()
    invited = invite["url"].removeprefix(f"{BASE_URL}/")
    return [made["shortId"], made["uuid"], "plan", variant["shortId"], variant["uuid"], invited]


def test_every_link_of_it_says_that_it_is_on_hold(world: World, uploaded_file: dict[str, Any]) -> None:
    links = list_link_names(world, uploaded_file)
    assert {world.http.get(f"/{name}").status_code for name in links} == {200}
    freeze_file(world, uploaded_file)
    for name in links:
        page = world.http.get(f"/{name}")
        assert page.status_code == 403
        assert "This link is on hold" in page.text
        assert "Secret plan" not in page.text
    assert world.http.head(f"/{uploaded_file['shortId']}").status_code == 403


def test_so_does_the_page_for_framing_which_may_be_framed(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    page = world.http.get(f"/embed/{uploaded_file['shortId']}")
    assert (page.status_code, "This link is on hold" in page.text) == (403, True)
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]


def test_nobody_gets_a_byte_of_it(world: World, uploaded_file: dict[str, Any]) -> None:
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


def test_what_was_given_before_is_worth_nothing_now(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="open", requireEmail=False)
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.enter("open")
    freeze_file(world, uploaded_file)
    assert guest.get(f"/{uploaded_file['shortId']}/pages/1-800.jpg?v=1").status_code == 403
    answer = guest.submit("open")
    assert (answer.status_code, "This link is on hold" in answer.text) == (403, True)
    assert "<form" not in answer.text


def test_public_facts_and_other_sites_hear_nothing_of_it(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    told = world.http.get(f"/api/files/{uploaded_file['shortId']}/metadata")
    assert (told.status_code, told.get_json()["code"]) == (403, "forbidden")
    assert "Secret" not in told.text
    assert world.http.get("/oembed", query_string={"url": uploaded_file["shareUrl"]}).status_code == 404


def test_an_open_page_reports_no_more_reading(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    freeze_file(world, uploaded_file)
    assert reader.read_page(10, page=1) == 403
    assert view_count(world, uploaded_file["shortId"]) == 0


def test_the_owner_keeps_reading_it_and_its_settings(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    owner = sign_in_browser(world, world.pia)
    for path in ("", "/pages/1-800.jpg?v=1", "/text/1.json?v=1"):
        assert owner.get(f"/{uploaded_file['shortId']}{path}").status_code == 200
    assert owner.post(f"/{uploaded_file['shortId']}/download", buffered=True).data.startswith(b"%PDF")
    put_settings(world, uploaded_file, allowDownload=False)
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/content", buffered=True).status_code == 200
    stranger = sign_in_browser(world, world.mal)
    assert stranger.get(f"/{uploaded_file['shortId']}").status_code == 403


def test_the_owners_own_reading_is_told_to_nobody(world: World, uploaded_file: dict[str, Any]) -> None:
    freeze_file(world, uploaded_file)
    reader = FakeReader(world, uploaded_file["shortId"], http=sign_in_browser(world, world.pia))
    assert reader.read_page(10, page=1) == 204
    assert view_count(world, uploaded_file["shortId"]) == 0


def test_unfreezing_opens_all_of_it_again(world: World, uploaded_file: dict[str, Any]) -> None:
    links = list_link_names(world, uploaded_file)
    freeze_file(world, uploaded_file)
    told = admin.run_command(world.rt, "unfreeze", {"file": uploaded_file["uuid"]})
    assert told == {
        "uuid": uploaded_file["uuid"],
        "shortId": uploaded_file["shortId"],
        "originalName": "Secret plan.pdf",
    }
    assert {world.http.get(f"/{name}").status_code for name in links} == {200}


def test_whoever_reports_a_link_need_not_know_the_file(world: World, uploaded_file: dict[str, Any]) -> None:
    """A reader has only seen the link that was sent to them."""
    for name in list_link_names(world, uploaded_file):
        told = admin.run_command(world.rt, "freeze", {"file": name})
        assert (told["uuid"], told["frozenAt"]) == (uploaded_file["uuid"], "2026-09-21T14:13:20.000Z")
        assert "frozenAt" not in admin.run_command(world.rt, "unfreeze", {"file": name})


def test_freezing_twice_keeps_the_first_time(world: World, uploaded_file: dict[str, Any]) -> None:
    first = freeze_file(world, uploaded_file)
    world.clock.advance(days=1)
    assert freeze_file(world, uploaded_file) == first


@pytest.mark.parametrize("command", ["freeze", "unfreeze"])
def test_an_unknown_link_is_not_found(world: World, command: str) -> None:
    with pytest.raises(Problem, match="no file 'aB3dE5fG7hJ9'"):
        admin.run_command(world.rt, command, {"file": "aB3dE5fG7hJ9"})
