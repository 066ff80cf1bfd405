"""The watermark contains the email address of the reader if it is known, and never that of another."""

import io
import os
from typing import Any

import pypdfium2
import pytest
from flask.testing import FlaskClient
from PIL import Image, ImageChops

from docshare.server.pdf.engine import PdfEngine, UnrenderableError, WatermarkText
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World, stop_background_rendering
from tests.support.people.known_readers import insert_invite, make_known_reader
from tests.web.viewer.test_watermark import get_page_image

pytestmark = pytest.mark.file_settings(watermark=True)


INVITED = "InviteInvite"


def download_text(http: FlaskClient, name: str) -> str:
    """Return the text of the first page of a download, on one line."""
    answer = http.post(f"/{name}/download", buffered=True)
    assert answer.status_code == 200
    with pypdfium2.PdfDocument(io.BytesIO(answer.data)) as pdf:
        return " ".join(str(pdf[0].get_textpage().get_text_range()).split())


def count_cached_files(world: World) -> int:
    """Return the number of cached derived files."""
    stop_background_rendering(world)
    return sum(len(names) for _, _, names in os.walk(world.rt.config.data_dir / "cache"))


def test_the_download_names_a_reader_with_a_known_address(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    assert "127.0.0.1 - copy " in download_text(world.http, name)
    assert "@" not in download_text(world.http, name)
    assert "ann@acme.test - 127.0.0.1 - copy " in download_text(make_known_reader(world, name, "ann@acme.test"), name)


def test_an_invitee_is_named_without_submitting_anything(world: World, uploaded_file: dict[str, Any]) -> None:
    insert_invite(world, uploaded_file["uuid"], "cleo@acme.test", INVITED)
    assert "cleo@acme.test - " in download_text(world.http, INVITED)
    assert get_page_image(world.http, INVITED) != get_page_image(world.http, uploaded_file["shortId"])


def test_an_address_submitted_on_a_personal_link_replaces_that_of_the_invite(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    insert_invite(world, uploaded_file["uuid"], "cleo@acme.test", INVITED)
    assert "dan@acme.test - " in download_text(make_known_reader(world, INVITED, "dan@acme.test"), INVITED)


def test_each_reader_has_separate_page_images_and_addresses(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    ann, bob = (make_known_reader(world, name, f"{who}@acme.test") for who in ("ann", "bob"))
    nameless = make_known_reader(world, name, None)
    seen = [get_page_image(http, name) for http in (ann, bob, world.http)]
    assert len({version for version, _ in seen}) == len({image for _, image in seen}) == 3
    assert get_page_image(ann, name) == seen[0]
    assert get_page_image(nameless, name) == seen[2]


def test_page_addresses_of_another_reader_are_404(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    ann = make_known_reader(world, name, "ann@acme.test")
    version, _ = get_page_image(ann, name)
    for http in (make_known_reader(world, name, "bob@acme.test"), world.http, sign_in_browser(world, world.pia)):
        assert http.get(f"/{name}/pages/1-800.jpg?v={version}", buffered=True).status_code == 404


def test_the_viewer_token_of_another_link_is_ignored(world: World, uploaded_file: dict[str, Any]) -> None:
    other = world.pia.upload()
    ann = make_known_reader(world, other["shortId"], "ann@acme.test")
    token = ann.get_cookie(f"viewer-{other['shortId']}")
    assert token is not None
    ann.set_cookie(f"viewer-{uploaded_file['shortId']}", token.value)
    assert get_page_image(ann, uploaded_file["shortId"]) == get_page_image(world.http, uploaded_file["shortId"])


def test_a_page_is_cached_once_for_all_readers(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    get_page_image(make_known_reader(world, name, "ann@acme.test"), name)
    before = count_cached_files(world)
    for number in range(4):
        get_page_image(make_known_reader(world, name, f"reader{number}@acme.test"), name)
        download_text(make_known_reader(world, name, f"reader{number}@acme.test"), name)
    assert count_cached_files(world) == before


def test_the_page_below_the_watermark_is_unchanged(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    _, marked = get_page_image(make_known_reader(world, name, "ann@acme.test"), name)
    put_settings(world, uploaded_file, watermark=False)
    _, plain = get_page_image(world.http, name)
    pages = [Image.open(io.BytesIO(image)).convert("L") for image in (plain, marked)]
    pixel_difference = ImageChops.difference(*pages)
    assert pages[0].size == pages[1].size
    assert (
        max(pixel_difference.tobytes()) <= 0.12 * 255 + 12
    )  # the gray of the watermark at its opacity, plus JPEG artifacts
    assert sum(value > 8 for value in pixel_difference.tobytes()) > 1000


def test_a_page_is_not_sent_if_its_watermark_fails(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server fails closed."""
    name = uploaded_file["shortId"]
    ann = make_known_reader(world, name, "ann@acme.test")
    version, _ = get_page_image(ann, name)

    def fail(self: PdfEngine, image: object, mark: WatermarkText, tenant: object, tile: object) -> bytes:
        raise UnrenderableError("the mark cannot be drawn", is_permanent=False)

    monkeypatch.setattr(PdfEngine, "stamp", fail)
    answer = ann.get(f"/{name}/pages/1-800.jpg?v={version}", buffered=True)
    assert (answer.status_code, answer.mimetype) == (422, "text/plain")
    assert b"\xff\xd8\xff" not in answer.data


@pytest.mark.parametrize(
    ("email", "expected_stamp"),
    [
        ("jürgen.groß@exämple.test", "jurgen.gro?@example.test - 127.0.0.1"),
        (f"{'a' * 64}@{'b' * 60}.test", f"{'a' * 64} - 127.0.0.1"),
        ("o'neil\\(x)@acme.test", "o'neil\\(x)@acme.test - 127.0.0.1"),
    ],
)
def test_unsupported_characters_of_an_address_are_replaced_in_the_watermark(
    world: World, uploaded_file: dict[str, Any], email: str, expected_stamp: str
) -> None:
    name = uploaded_file["shortId"]
    assert expected_stamp in download_text(make_known_reader(world, name, email), name)
