"""The view limit through the door: what takes a unit, for how long it lasts, and who reads on when the file burns."""

import io
from typing import Any

import pytest

from docshare.server.services.files import burn
from tests.support.cast import World
from tests.support.guest import PAGES, Guest
from tests.support.owner import put, signed_in
from tests.support.pdfs import simple_pdf
from tests.support.reader import Reader, views


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    """Pia's file with two views."""
    made = world.pia.upload()
    put(world, made, viewLimit=2)
    return made


def detail(world: World, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    return found


def consumed(world: World, made: dict[str, Any]) -> int:
    return int(detail(world, made)["viewsConsumed"])


def inside(world: World, made: dict[str, Any]) -> Guest:
    """Somebody who has just taken a unit."""
    guest = Guest(world, made["shortId"])
    assert guest.enters()
    return guest


def statuses(guest: Guest) -> set[int]:
    """What everything answers that an open page loads."""
    loads = ("pages/1-800.jpg?v=1", "pages/3-1600.jpg?v=1", "text/1.json?v=1")
    found = {guest.gets(f"{guest.path}/{load}").status_code for load in loads}
    return found | {guest.posts(f"{guest.path}/download").status_code}


@pytest.mark.parametrize("headers", [{}, {"Sec-Purpose": "prefetch"}, {"User-Agent": "Slackbot-LinkExpanding 1.0"}])
def test_looking_takes_nothing(world: World, made: dict[str, Any], headers: dict[str, str]) -> None:
    """HEAD and prefetch take none; an "Open document" step, so that previews and scanners burn nothing."""
    for name in (made["shortId"], made["uuid"], f"embed/{made['shortId']}"):
        for look in (world.http.get, world.http.head):
            assert look(f"/{name}", headers=headers).status_code == 200
        assert world.http.get(f"/{name}/enter", headers=headers).status_code == 303
    for path in (f"/oembed?url=http://127.0.0.1:8787/{made['shortId']}", f"/api/files/{made['shortId']}/metadata"):
        assert world.http.get(path, headers=headers).status_code == 200
    assert consumed(world, made) == 0


def test_opening_takes_a_unit_and_reading_none(world: World, made: dict[str, Any]) -> None:
    guest = inside(world, made)
    assert consumed(world, made) == 1
    assert statuses(guest) == {200}
    reader = Reader(world, made["shortId"], http=guest.http)
    assert reader.reads(9) == 204
    assert guest.enters()
    assert consumed(world, made) == 1
    assert "burnedAt" not in detail(world, made)


def test_a_shared_link_without_the_cookie_takes_its_own_unit(world: World, made: dict[str, Any]) -> None:
    inside(world, made)
    inside(world, made)
    assert consumed(world, made) == 2
    assert detail(world, made)["burnedAt"] == "2026-09-21T14:13:20.000Z"


def test_opening_it_again_within_half_an_hour_takes_no_second_unit(world: World, made: dict[str, Any]) -> None:
    guest = inside(world, made)
    world.clock.advance(minutes=30, milliseconds=-1)
    assert guest.is_in()
    world.clock.advance(milliseconds=1)
    assert not guest.is_in()
    assert consumed(world, made) == 1
    assert guest.enters()
    assert consumed(world, made) == 2


def test_a_page_that_stays_open_goes_on_loading_for_half_a_day(world: World, made: dict[str, Any]) -> None:
    guest = inside(world, made)
    reader = Reader(world, made["shortId"], http=guest.http)
    world.clock.advance(hours=12, milliseconds=-1)
    assert statuses(guest) == {200}
    assert reader.tell(input=True) == 204
    world.clock.advance(milliseconds=1)
    assert statuses(guest) == {403, 303}
    assert reader.tell(input=True) == 403
    assert consumed(world, made) == 1


def test_when_the_file_burns_its_readers_read_on_until_the_sweep_and_nobody_else(
    world: World, made: dict[str, Any]
) -> None:
    """A reader who took a unit keeps reading until the sweep (30 minutes)."""
    first = inside(world, made)
    world.clock.advance(minutes=29)
    stranger = Guest(world, made["shortId"])
    assert stranger.looks().status_code == 200
    last = inside(world, made)
    reader = Reader(world, made["shortId"], http=last.http)
    assert stranger.looks().status_code == 410
    assert stranger.sends().status_code == 410
    assert statuses(stranger) == {410}
    for minutes in (1, 28):
        world.clock.advance(minutes=minutes)
        assert burn.burn_due(world.rt) == 0
        for guest in (first, last):
            assert statuses(guest) == {200}
            assert guest.is_in()
    assert reader.tell(input=True) == 204
    assert views(world, made["uuid"]) == 1
    world.clock.advance(minutes=1)
    assert burn.burn_due(world.rt) == 1
    for guest in (first, last):
        assert statuses(guest) == {410}
        assert guest.looks().status_code == 410
    assert reader.tell(input=True) == 410


def test_the_sweep_being_late_gives_nobody_more_time(world: World, made: dict[str, Any]) -> None:
    inside(world, made)
    last = inside(world, made)
    world.clock.advance(minutes=30)
    assert statuses(last) == {410}
    assert last.looks().status_code == 410


def test_who_could_not_open_the_page_any_more_when_it_burned_only_reads_the_open_one_to_its_end(
    world: World, made: dict[str, Any]
) -> None:
    early = inside(world, made)
    world.clock.advance(minutes=31)
    inside(world, made)
    assert statuses(early) == {200}
    assert early.looks().status_code == 410
    assert early.sends().status_code == 410


def test_a_burned_link_that_expires_is_over_at_once(world: World, made: dict[str, Any]) -> None:
    put(world, made, deleteAt="2026-09-21T14:23:20Z")
    inside(world, made)
    last = inside(world, made)
    world.clock.advance(minutes=10)
    assert statuses(last) == {410}


def test_a_replacement_of_a_burned_file_starts_the_count_again_for_everybody(
    world: World, made: dict[str, Any]
) -> None:
    readers = [inside(world, made), inside(world, made)]
    answer = world.pia.post(
        f"/api/v1/files/{made['uuid']}/content", data={"file": (io.BytesIO(simple_pdf(pages=3)), "second.pdf")}
    )
    assert answer.status_code == 200
    assert [statuses(reader) for reader in readers] == [{403, 303}] * 2
    assert readers[0].enters()
    assert consumed(world, made) == 1


def test_the_owner_takes_no_unit(world: World, made: dict[str, Any]) -> None:
    http = signed_in(world, world.pia)
    for path in (f"/{made['shortId']}", f"/embed/{made['shortId']}"):
        assert PAGES in http.get(path).text
        assert http.post(f"{path}/enter").status_code == 303
    assert consumed(world, made) == 0


def test_units_are_taken_through_every_link_of_the_file(world: World, made: dict[str, Any]) -> None:
    variant = world.pia.post(f"/api/v1/files/{made['uuid']}/variants").get_json()
    inside(world, made)
    assert Guest(world, variant["shortId"]).enters()
    assert Guest(world, made["shortId"]).looks().status_code == 410
    assert Guest(world, variant["shortId"]).looks().status_code == 410


def test_setting_a_limit_asks_readers_who_are_on_the_page_too(world: World) -> None:
    made = world.pia.upload()
    reader = Reader(world, made["shortId"])
    put(world, made, viewLimit=1)
    assert reader.reads(9) == 403
    assert not Guest(world, made["shortId"]).is_in()


def test_a_refused_password_or_form_takes_no_unit(world: World, made: dict[str, Any]) -> None:
    put(world, made, password="x", requireEmail=True, viewLimit=1)
    guest = Guest(world, made["shortId"])
    assert guest.sends("wrong", email="ada@a.example").status_code == 403
    assert guest.sends("x", email="ada").status_code == 422
    assert consumed(world, made) == 0
    assert guest.sends("x", email="ada@a.example").status_code == 303
    assert "burnedAt" in detail(world, made)
    assert guest.is_in()


def test_the_last_unit_is_taken_whole_or_not_at_all(
    world: World, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one transaction: whoever comes too late by a moment is not written down as a reader."""
    put(world, made, viewLimit=1, requireEmail=True)
    late = Guest(world, made["shortId"])
    write = type(world.rt.db).write

    def somebody_first(self: Any) -> Any:
        monkeypatch.undo()
        assert Guest(world, made["shortId"]).enters(email="first@a.example")
        return write(self)

    monkeypatch.setattr(type(world.rt.db), "write", somebody_first)
    assert late.sends(email="late@a.example").status_code == 410
    assert world.rt.db.rows("SELECT email FROM viewers") == [("first@a.example",)]
    assert consumed(world, made) == 1
