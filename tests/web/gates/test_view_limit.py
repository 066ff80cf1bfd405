"""The view limit: what consumes a view, how long it lasts, and who can still read when the file burns."""

import io
from typing import Any

import pytest

from docshare.server.services.files import burn
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.gate_client import PAGES_MARKER, GateClient
from tests.support.people.reader import FakeReader, view_count

pytestmark = pytest.mark.file_settings(viewLimit=2)


def get_detail(world: World, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    return found


def count_consumed_views(world: World, made: dict[str, Any]) -> int:
    return int(get_detail(world, made)["viewsConsumed"])


def enter_gate(world: World, made: dict[str, Any]) -> GateClient:
    """Consume a view and return the reader."""
    guest = GateClient(world, made["shortId"])
    assert guest.enter()
    return guest


def list_resource_statuses(guest: GateClient) -> set[int]:
    """Return the response statuses of all resources of an open page."""
    loads = (
        "pages/1-800.jpg?v=1",
        "pages/3-1600.jpg?v=1",
        "tiles/1/400/0-0.jpg?v=1",
        "text/1.json?v=1",
        "outline.json?v=1",
        "search?v=1&q=page",
    )
    found = {guest.get(f"{guest.path}/{load}").status_code for load in loads}
    return found | {guest.post(f"{guest.path}/download").status_code}


@pytest.mark.parametrize("headers", [{}, {"Sec-Purpose": "prefetch"}, {"User-Agent": "Slackbot-LinkExpanding 1.0"}])
def test_opening_pages_consumes_no_view(world: World, uploaded_file: dict[str, Any], headers: dict[str, str]) -> None:
    """Previews and scanners do not submit the "Open document" form and therefore consume no view."""
    for name in (uploaded_file["shortId"], uploaded_file["uuid"], f"embed/{uploaded_file['shortId']}"):
        for look in (world.http.get, world.http.head):
            assert look(f"/{name}", headers=headers).status_code == 200
        assert world.http.get(f"/{name}/enter", headers=headers).status_code == 303
    for path in (
        f"/oembed?url=http://127.0.0.1:8787/{uploaded_file['shortId']}",
        f"/api/files/{uploaded_file['shortId']}/metadata",
    ):
        assert world.http.get(path, headers=headers).status_code == 200
    assert count_consumed_views(world, uploaded_file) == 0


def test_passing_the_gate_consumes_a_view_and_reading_consumes_none(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    guest = enter_gate(world, uploaded_file)
    assert count_consumed_views(world, uploaded_file) == 1
    assert list_resource_statuses(guest) == {200}
    reader = FakeReader(world, uploaded_file["shortId"], http=guest.http)
    assert reader.read_page(9) == 204
    assert guest.enter()
    assert count_consumed_views(world, uploaded_file) == 1
    assert "burnedAt" not in get_detail(world, uploaded_file)


def test_a_browser_without_the_cookie_consumes_its_own_view(world: World, uploaded_file: dict[str, Any]) -> None:
    enter_gate(world, uploaded_file)
    enter_gate(world, uploaded_file)
    assert count_consumed_views(world, uploaded_file) == 2
    assert get_detail(world, uploaded_file)["burnedAt"] == "2026-09-21T14:13:20.000Z"


def test_reopening_within_30_minutes_consumes_no_second_view(world: World, uploaded_file: dict[str, Any]) -> None:
    guest = enter_gate(world, uploaded_file)
    world.clock.advance(minutes=30, milliseconds=-1)
    assert guest.is_in()
    world.clock.advance(milliseconds=1)
    assert not guest.is_in()
    assert count_consumed_views(world, uploaded_file) == 1
    assert guest.enter()
    assert count_consumed_views(world, uploaded_file) == 2


def test_an_open_page_can_load_content_for_12_hours(world: World, uploaded_file: dict[str, Any]) -> None:
    guest = enter_gate(world, uploaded_file)
    reader = FakeReader(world, uploaded_file["shortId"], http=guest.http)
    world.clock.advance(hours=12, milliseconds=-1)
    assert list_resource_statuses(guest) == {200}
    assert reader.send_next_beacon(input=True) == 204
    world.clock.advance(milliseconds=1)
    assert list_resource_statuses(guest) == {403, 303}
    assert reader.send_next_beacon(input=True) == 403
    assert count_consumed_views(world, uploaded_file) == 1


def test_after_a_burn_only_admitted_readers_can_read_until_destruction(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """A reader who consumed a view can read until the file is destroyed 30 minutes later."""
    first = enter_gate(world, uploaded_file)
    world.clock.advance(minutes=29)
    stranger = GateClient(world, uploaded_file["shortId"])
    assert stranger.open_page().status_code == 200
    last = enter_gate(world, uploaded_file)
    reader = FakeReader(world, uploaded_file["shortId"], http=last.http)
    assert stranger.open_page().status_code == 410
    assert stranger.submit().status_code == 410
    assert list_resource_statuses(stranger) == {410}
    for minutes in (1, 28):
        world.clock.advance(minutes=minutes)
        assert burn.destroy_due(world.rt) == 0
        for guest in (first, last):
            assert list_resource_statuses(guest) == {200}
            assert guest.is_in()
    assert reader.send_next_beacon(input=True) == 204
    assert view_count(world, uploaded_file["uuid"]) == 1
    world.clock.advance(minutes=1)
    assert burn.destroy_due(world.rt) == 1
    for guest in (first, last):
        assert list_resource_statuses(guest) == {410}
        assert guest.open_page().status_code == 410
    assert reader.send_next_beacon(input=True) == 410


def test_a_late_destruction_job_does_not_extend_access(world: World, uploaded_file: dict[str, Any]) -> None:
    enter_gate(world, uploaded_file)
    last = enter_gate(world, uploaded_file)
    world.clock.advance(minutes=30)
    assert list_resource_statuses(last) == {410}
    assert last.open_page().status_code == 410


def test_a_reader_whose_view_expired_before_the_burn_cannot_reopen_the_page(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    early = enter_gate(world, uploaded_file)
    world.clock.advance(minutes=31)
    enter_gate(world, uploaded_file)
    assert list_resource_statuses(early) == {200}
    assert early.open_page().status_code == 410
    assert early.submit().status_code == 410


def test_a_burned_link_that_expires_ends_immediately(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, deleteAt="2026-09-21T14:23:20Z")
    enter_gate(world, uploaded_file)
    last = enter_gate(world, uploaded_file)
    world.clock.advance(minutes=10)
    assert list_resource_statuses(last) == {410}


def test_replacing_a_burned_file_resets_the_view_count(world: World, uploaded_file: dict[str, Any]) -> None:
    readers = [enter_gate(world, uploaded_file), enter_gate(world, uploaded_file)]
    answer = world.pia.post(
        f"/api/v1/files/{uploaded_file['uuid']}/content", data={"file": (io.BytesIO(simple_pdf(pages=3)), "second.pdf")}
    )
    assert answer.status_code == 200
    assert [list_resource_statuses(reader) for reader in readers] == [{403, 303}] * 2
    assert readers[0].enter()
    assert count_consumed_views(world, uploaded_file) == 1


def test_the_owner_consumes_no_view(world: World, uploaded_file: dict[str, Any]) -> None:
    http = sign_in_browser(world, world.pia)
    for path in (f"/{uploaded_file['shortId']}", f"/embed/{uploaded_file['shortId']}"):
        assert PAGES_MARKER in http.get(path).text
        assert http.post(f"{path}/enter").status_code == 303
    assert count_consumed_views(world, uploaded_file) == 0


def test_views_are_counted_over_all_links_of_the_file(world: World, uploaded_file: dict[str, Any]) -> None:
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    enter_gate(world, uploaded_file)
    assert GateClient(world, variant["shortId"]).enter()
    assert GateClient(world, uploaded_file["shortId"]).open_page().status_code == 410
    assert GateClient(world, variant["shortId"]).open_page().status_code == 410


def test_setting_a_limit_requires_current_readers_to_pass_the_gate(world: World) -> None:
    made = world.pia.upload()
    reader = FakeReader(world, made["shortId"])
    put_settings(world, made, viewLimit=1)
    assert reader.read_page(9) == 403
    assert not GateClient(world, made["shortId"]).is_in()


def test_a_rejected_password_or_form_consumes_no_view(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x", requireEmail=True, viewLimit=1)
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.submit("wrong", email="ada@a.example").status_code == 403
    assert guest.submit("x", email="ada").status_code == 422
    assert count_consumed_views(world, uploaded_file) == 0
    assert guest.submit("x", email="ada@a.example").status_code == 303
    assert "burnedAt" in get_detail(world, uploaded_file)
    assert guest.is_in()


def test_the_last_view_is_consumed_atomically(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """View and viewer are written in one transaction, so a reader who is too late is not stored."""
    put_settings(world, uploaded_file, viewLimit=1, requireEmail=True)
    late = GateClient(world, uploaded_file["shortId"])
    write = type(world.rt.db).write

    def admit_another_then_write(self: Any, *protects: Any) -> Any:
        monkeypatch.undo()
        assert GateClient(world, uploaded_file["shortId"]).enter(email="first@a.example")
        return write(self, *protects)

    monkeypatch.setattr(type(world.rt.db), "write", admit_another_then_write)
    assert late.submit(email="late@a.example").status_code == 410
    assert world.rt.db.fetch_all("SELECT email FROM viewers") == [("first@a.example",)]
    assert count_consumed_views(world, uploaded_file) == 1
