"""Hotspots, pictures and the replacement of a file, on the pages of its owner."""

import io
from typing import Any

import pytest

from docshare.server.services.files import hotspots
from tests.support.cast import World
from tests.support.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.forms import Form
from tests.support.images import make_mp3_frame, make_picture
from tests.support.markup import parse_html
from tests.support.owner import put_settings
from tests.support.owner_file import UNKNOWN_UUID, OwnerFile, form_error
from tests.support.settings import insert_asset

ASSET = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"


@pytest.fixture
def desk(world: World) -> OwnerFile:
    return OwnerFile(world, world.pia)


def list_hotspots(desk: OwnerFile) -> list[dict[str, Any]]:
    return [hotspots.describe(row) for row in hotspots.list_hotspots(desk.world.rt, desk.made["uuid"])]


PLACE = {"x": "10", "y": "20.5", "width": "30", "height": "40"}


def test_a_hotspot_is_placed_by_four_numbers(desk: OwnerFile) -> None:
    form = desk.form("/hotspots/2", "/hotspots")
    words = form.done(PLACE | {"link": "https://film.example/one", "label": "See it"})
    assert words == "'See it' is on page 2."
    (spot,) = list_hotspots(desk)
    assert (spot["page"], spot["url"], spot["label"]) == (2, "https://film.example/one", "See it")
    assert spot["rect"] == {"x": 0.1, "y": 0.205, "width": 0.3, "height": 0.4}
    page = desk.page("/hotspots/2")
    drawn = page.one("rect", class_="spot").attrs
    assert [float(drawn[side]) for side in PLACE] == pytest.approx([10, 20.5, 30, 40])
    assert desk.type_of(page.one("div", id="canvas").one("img").attrs["src"]) == "image/jpeg"
    assert desk.page("/hotspots/1").all("rect", class_="spot") == []


def test_a_hotspot_plays_a_sound_of_the_file(desk: OwnerFile) -> None:
    sent = {"kind": "hotspot-audio", "file": (io.BytesIO(make_mp3_frame() * 400), "hello.mp3")}
    sound = desk.owner.post(f"{desk.api}/assets", data=sent).get_json()["assetId"]
    desk.form("/hotspots").done(PLACE | {"audio": sound, "label": "Hello"})
    assert [(spot.get("url"), spot["assetId"]) for spot in list_hotspots(desk)] == [(None, sound)]


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ({}, "either a link or an audio"),
        ({"link": "http://film.example"}, "link"),
        ({"link": "https://film.example", "width": "95"}, "rect"),
        ({"link": "https://film.example", "x": "left"}, "numbers"),
        ({"link": "https://film.example", "x": "nan"}, "rect"),
    ],
)
def test_a_wrong_hotspot_is_refused_and_stays_in_the_form(desk: OwnerFile, typed: dict[str, str], named: str) -> None:
    wish = PLACE | {"label": "See it"} | typed
    page = desk.form("/hotspots/2", "/hotspots").refused(400, wish)
    again = Form(desk.http, f"{desk.path}/hotspots", page=page)
    assert {name: again.fields[name] for name in wish} == wish
    assert again.fields["page"] == "2"
    assert named in form_error(page)
    assert list_hotspots(desk) == []


def test_a_hotspot_is_removed_and_one_of_another_file_is_not(desk: OwnerFile) -> None:
    other = OwnerFile(desk.world, desk.world.pia)
    desk.form("/hotspots").done(PLACE | {"link": "https://film.example"})
    uuid = list_hotspots(desk)[0]["uuid"]
    assert other.http.post(f"{other.path}/hotspots/{uuid}/delete", data={"csrf": other.csrf()}).status_code == 404
    assert len(list_hotspots(desk)) == 1
    assert desk.form("/hotspots", f"/hotspots/{uuid}/delete").done() == "'film.example' was removed."
    assert list_hotspots(desk) == []


@pytest.mark.parametrize(("asked", "shown"), [("3", 3), ("99", 3), ("0", 1), ("", 1), ("x", 1), ("9" * 30, 1)])
def test_the_editor_goes_to_the_page_that_was_asked_for(desk: OwnerFile, asked: str, shown: int) -> None:
    page = parse_html(desk.http.get(f"{desk.path}/hotspots?page={asked}").text)
    assert page.one("h2", id="draw-title").words == f"Page {shown} of 3"


def test_an_uploaded_image_is_used_as_what_it_is(desk: OwnerFile) -> None:
    put_settings(desk.world, desk.made, viewerSettings={"flip": {"rtl": True}, "background": {"dim": 20}})
    sent = {"kind": "background", "file": (io.BytesIO(make_picture()), "sea.png")}
    asset = desk.owner.post(f"{desk.api}/assets", data=sent).get_json()["assetId"]
    assert desk.type_of(desk.page("/assets").one("img", class_="asset").attrs["src"]) == "image/png"
    desk.form("/assets", f"/assets/{asset}/use").done()
    assert desk.told("")["viewerSettings"] == {
        "background": {"type": "image", "assetId": asset, "dim": 20},
        "flip": {"rtl": True},
    }
    page = desk.page("/assets")
    assert "in use" in page.one("li", class_="thing").words
    assert page.all("form", action=f"{desk.path}/assets/{asset}/use") == []


def test_a_sound_and_an_image_of_another_file_cannot_be_used(desk: OwnerFile) -> None:
    other = OwnerFile(desk.world, desk.world.pia)
    insert_asset(desk.world, other.made["uuid"], "logo", ASSET)
    answer = desk.http.post(f"{desk.path}/assets/{ASSET}/use", data={"csrf": desk.csrf()})
    insert_asset(desk.world, desk.made["uuid"], "hotspot-audio", UNKNOWN_UUID)
    sound = desk.http.post(f"{desk.path}/assets/{UNKNOWN_UUID}/use", data={"csrf": desk.csrf()})
    assert (answer.status_code, sound.status_code, desk.told("")["viewerSettings"]) == (404, 404, {})


def test_pictures_need_basic(world: World) -> None:
    words = OwnerFile(world, world.fay).page("/assets").one("p", class_="note").words
    assert words == "Basic Pictures and sounds need the basic plan or a higher one."


def test_a_replacement_names_what_stands_on_the_pages(desk: OwnerFile) -> None:
    assert desk.page("/replace").all("p", class_="note") == []
    put_settings(desk.world, desk.made, **ALL_FEEDBACK_SETTINGS)
    for _ in range(2):
        hotspots.add(
            desk.world.rt, desk.made["uuid"], {"page": "1", "rect": "0.1,0.1,0.2,0.2", "link": "https://a.example"}
        )
    ann = FeedbackClient(desk.world, desk.made["shortId"])
    ann.note("On the whole: fine.")
    ann.note("Here is a typo", page=2)
    ann.mark(1, "pick")
    ann.annotate(3, "Move this")
    page = desk.page("/replace")
    assert page.one("p", class_="note").words == (
        "Its pages have 2 hotspots, 1 note, 1 mark, 1 annotation. In a new document they may point to something else."
    )
    form = page.one("form", **{"data-upload": f"/api/account{desk.path}/content"})
    after = desk.page(form.attrs["data-next"].removeprefix(desk.path))
    assert after.one("p", class_="said").words == "The document was replaced; its link stays the same."
    assert [node.attrs["value"] for node in form.all("input", name="clearAnchors")] == ["true", "false"]
