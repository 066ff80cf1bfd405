"""The watermark in the viewer: every page image for readers has it, and those for the owner do not."""

import io
from typing import Any

import pytest
from flask.testing import FlaskClient
from PIL import Image, ImageChops

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.engines.database import dump_database
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.share_page import parse_facts


def get_page_image(http: FlaskClient, name: str, page: int = 1, prefix: str = "") -> tuple[str, bytes]:
    """Return the version in the address of a page image, and its bytes."""
    html = http.get(f"{prefix}/{name}").text
    version = str(parse_facts(html)["version"])
    answer = http.get(f"/{name}/pages/{page}-800.jpg?v={version}", buffered=True)
    assert answer.status_code == 200
    return version, answer.data


def test_readers_see_watermarked_pages_and_the_owner_does_not(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    plain = [get_page_image(world.http, name, page) for page in (1, 2, 3)]
    put_settings(world, uploaded_file, watermark=True)
    marked = [get_page_image(world.http, name, page) for page in (1, 2, 3)]
    framed = [get_page_image(world.http, name, page, "/embed") for page in (1, 2, 3)]
    assert framed == marked
    assert all(before != after for (_, before), (_, after) in zip(plain, marked, strict=True))
    owner = sign_in_browser(world, world.pia)
    assert [get_page_image(owner, name, page) for page in (1, 2, 3)] == plain


@pytest.mark.parametrize("width", [160, 240])
def test_small_pictures_are_watermarked(world: World, uploaded_file: dict[str, Any], width: int) -> None:
    name = uploaded_file["shortId"]
    path = f"/{name}/pages/1-{width}.jpg"
    plain = world.http.get(f"{path}?v=1", buffered=True).data
    put_settings(world, uploaded_file, watermark=True)
    version, _ = get_page_image(world.http, name)
    marked = world.http.get(f"{path}?v={version}", buffered=True)
    assert marked.status_code == 200
    before, after = (Image.open(io.BytesIO(each)).convert("L") for each in (plain, marked.data))
    assert sum(value > 8 for value in ImageChops.difference(before, after).tobytes()) > 20
    assert world.http.get(f"{path}?v=1").status_code == 404


def test_readers_cannot_load_the_plain_image(world: World, uploaded_file: dict[str, Any]) -> None:
    version, _ = get_page_image(world.http, uploaded_file["shortId"])
    put_settings(world, uploaded_file, watermark=True)
    assert world.http.get(f"/{uploaded_file['shortId']}/pages/1-800.jpg?v={version}").status_code == 404


def test_another_watermark_style_has_another_address(world: World, uploaded_file: dict[str, Any]) -> None:
    seen = set()
    for style in ({}, {"opacity": 0.4}, {"density": "dense"}):
        put_settings(world, uploaded_file, watermark=True, viewerSettings={"watermarkStyle": style} if style else {})
        seen.add(get_page_image(world.http, uploaded_file["shortId"]))
    assert len({version for version, _ in seen}) == len({image for _, image in seen}) == 3


def test_links_of_one_document_have_different_watermarks(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, watermark=True)
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": "Ada"}).get_json()
    _, canonical = get_page_image(world.http, uploaded_file["shortId"])
    assert get_page_image(world.http, uploaded_file["uuid"])[1] == canonical
    assert get_page_image(world.http, variant["shortId"])[1] != canonical
    assert get_page_image(world.http, variant["shortId"])[1] == get_page_image(world.http, variant["uuid"])[1]


def test_a_downgrade_removes_the_watermark(world: World, uploaded_file: dict[str, Any]) -> None:
    """The watermark is a feature of Pro."""
    before = get_page_image(world.http, uploaded_file["shortId"])
    put_settings(world, uploaded_file, watermark=True)
    assert get_page_image(world.http, uploaded_file["shortId"]) != before
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert get_page_image(world.http, uploaded_file["shortId"]) == before


def test_opening_a_watermarked_document_stores_nothing(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, watermark=True)
    before = dump_database(world)
    get_page_image(world.http, uploaded_file["shortId"])
    assert dump_database(world) == before
