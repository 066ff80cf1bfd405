"""Hotspots, assets and replacement on the owner's pages of a file."""

import io
from typing import Any

import pytest

from docshare.server.services.files import hotspots
from tests.support.browsers.forms import Form
from tests.support.browsers.markup import parse_html
from tests.support.documents.images import make_mp3_frame, make_picture
from tests.support.owner.browser import put_settings
from tests.support.owner.file import UNKNOWN_UUID, OwnerFile, form_error
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.people.settings import insert_asset

ASSET = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"


def list_hotspots(file_pages: OwnerFile) -> list[dict[str, Any]]:
    return [hotspots.describe(row) for row in hotspots.list_hotspots(file_pages.world.rt, file_pages.made["uuid"])]


RECT = {"x": "10", "y": "20.5", "width": "30", "height": "40"}


def test_a_hotspot_is_created_from_four_numbers(owner_file: OwnerFile) -> None:
    form = owner_file.open_form("/hotspots/2", "/hotspots")
    words = form.send_and_follow(RECT | {"link": "https://film.example/one", "label": "See it"})
    assert words == "'See it' is on page 2."
    (spot,) = list_hotspots(owner_file)
    assert (spot["page"], spot["url"], spot["label"]) == (2, "https://film.example/one", "See it")
    assert spot["rect"] == {"x": 0.1, "y": 0.205, "width": 0.3, "height": 0.4}
    page = owner_file.get_page("/hotspots/2")
    spot_attributes = page.find_one("rect", class_="spot").attrs
    assert [float(spot_attributes[side]) for side in RECT] == pytest.approx([10, 20.5, 30, 40])
    assert owner_file.get_content_type(page.find_one("div", id="canvas").find_one("img").attrs["src"]) == "image/jpeg"
    assert owner_file.get_page("/hotspots/1").find_all("rect", class_="spot") == []


def test_a_hotspot_can_play_an_audio_asset(owner_file: OwnerFile) -> None:
    sent = {"kind": "hotspot-audio", "file": (io.BytesIO(make_mp3_frame() * 400), "hello.mp3")}
    sound = owner_file.owner.post(f"{owner_file.api}/assets", data=sent).get_json()["assetId"]
    owner_file.open_form("/hotspots").send_and_follow(RECT | {"audio": sound, "label": "Hello"})
    assert [(spot.get("url"), spot["assetId"]) for spot in list_hotspots(owner_file)] == [(None, sound)]


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ({}, "either a link or a sound"),
        ({"link": "http://film.example"}, "Link URL: "),
        ({"link": "https://film.example", "width": "95"}, "Position: Enter an area inside"),
        ({"link": "https://film.example", "x": "left"}, "numbers"),
        ({"link": "https://film.example", "x": "nan"}, "Position: Enter an area inside"),
    ],
)
def test_an_invalid_hotspot_is_rejected_and_remains_in_the_form(
    owner_file: OwnerFile, typed: dict[str, str], named: str
) -> None:
    values = RECT | {"label": "See it"} | typed
    page = owner_file.open_form("/hotspots/2", "/hotspots").send_refused(400, values)
    again = Form(owner_file.http, f"{owner_file.path}/hotspots", page=page)
    assert {name: again.fields[name] for name in values} == values
    assert again.fields["page"] == "2"
    assert named in form_error(page)
    assert list_hotspots(owner_file) == []


def test_a_hotspot_can_be_removed_only_on_its_own_file(owner_file: OwnerFile) -> None:
    other = OwnerFile(owner_file.world, owner_file.world.pia)
    owner_file.open_form("/hotspots").send_and_follow(RECT | {"link": "https://film.example"})
    uuid = list_hotspots(owner_file)[0]["uuid"]
    assert other.http.post(f"{other.path}/hotspots/{uuid}/delete", data={"csrf": other.csrf_token()}).status_code == 404
    assert len(list_hotspots(owner_file)) == 1
    assert (
        owner_file.open_form("/hotspots", f"/hotspots/{uuid}/delete").send_and_follow() == "'film.example' was removed."
    )
    assert list_hotspots(owner_file) == []


@pytest.mark.parametrize(("asked", "shown"), [("3", 3), ("99", 3), ("0", 1), ("", 1), ("x", 1), ("9" * 30, 1)])
def test_the_editor_opens_the_requested_page(owner_file: OwnerFile, asked: str, shown: int) -> None:
    page = parse_html(owner_file.http.get(f"{owner_file.path}/hotspots?page={asked}").text)
    assert page.find_one("h2", id="draw-title").words == f"Page {shown} of 3"


def test_an_uploaded_background_can_be_put_to_use(owner_file: OwnerFile) -> None:
    put_settings(owner_file.world, owner_file.made, viewerSettings={"flip": {"rtl": True}, "background": {"dim": 20}})
    sent = {"kind": "background", "file": (io.BytesIO(make_picture()), "sea.png")}
    asset = owner_file.owner.post(f"{owner_file.api}/assets", data=sent).get_json()["assetId"]
    assert (
        owner_file.get_content_type(owner_file.get_page("/assets").find_one("img", class_="asset").attrs["src"])
        == "image/png"
    )
    owner_file.open_form("/assets", f"/assets/{asset}/use").send_and_follow()
    assert owner_file.get_from_api("")["viewerSettings"] == {
        "background": {"type": "image", "assetId": asset, "dim": 20},
        "flip": {"rtl": True},
    }
    page = owner_file.get_page("/assets")
    assert "in use" in page.find_one("li", class_="thing").words
    assert page.find_all("form", action=f"{owner_file.path}/assets/{asset}/use") == []


def test_audio_and_images_of_another_file_cannot_be_used(owner_file: OwnerFile) -> None:
    other = OwnerFile(owner_file.world, owner_file.world.pia)
    insert_asset(owner_file.world, other.made["uuid"], "logo", ASSET)
    answer = owner_file.http.post(f"{owner_file.path}/assets/{ASSET}/use", data={"csrf": owner_file.csrf_token()})
    insert_asset(owner_file.world, owner_file.made["uuid"], "hotspot-audio", UNKNOWN_UUID)
    sound = owner_file.http.post(f"{owner_file.path}/assets/{UNKNOWN_UUID}/use", data={"csrf": owner_file.csrf_token()})
    assert (answer.status_code, sound.status_code, owner_file.get_from_api("")["viewerSettings"]) == (404, 404, {})


def test_assets_require_the_basic_plan(world: World) -> None:
    words = OwnerFile(world, world.fay).get_page("/assets").find_one("p", class_="note").words
    assert words == "Basic Pictures and sounds require the Basic plan or higher."


def test_the_replacement_page_lists_the_items_on_the_pages(owner_file: OwnerFile) -> None:
    assert owner_file.get_page("/replace").find_all("p", class_="note") == []
    put_settings(owner_file.world, owner_file.made, **ALL_FEEDBACK_SETTINGS)
    for _ in range(2):
        hotspots.add(
            owner_file.world.rt,
            owner_file.made["uuid"],
            {"page": "1", "rect": "0.1,0.1,0.2,0.2", "link": "https://a.example"},
        )
    ann = FeedbackClient(owner_file.world, owner_file.made["shortId"])
    ann.leave_note("On the whole: fine.")
    ann.leave_note("Here is a typo", page=2)
    ann.mark_page(1, "pick")
    ann.annotate(3, "Move this")
    page = owner_file.get_page("/replace")
    assert page.find_one("p", class_="note").words == (
        "Its pages have 2 hotspots, 1 note, 1 mark, 1 annotation. In a new document they may point to something else."
    )
    form = page.find_one("form", **{"data-upload": f"/api/account{owner_file.path}/content"})
    after = owner_file.get_page(form.attrs["data-next"].removeprefix(owner_file.path))
    assert after.find_one("p", class_="said").words == "The document was replaced; its link stays the same."
    assert [node.attrs["value"] for node in form.find_all("input", name="clearAnchors")] == ["true", "false"]
