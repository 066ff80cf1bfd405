"""The watermark names the reader when their address is known, and never somebody else."""

import io
import os
from typing import Any

import pypdfium2
import pytest
from flask.testing import FlaskClient
from PIL import Image, ImageChops

from docshare.server.pdf.engine import PdfEngine, UnrenderableError, WatermarkText
from tests.support.cast import World
from tests.support.known_readers import insert_invite, make_known_reader
from tests.support.owner import put_settings, sign_in_browser
from tests.web.test_watermark import get_page_image

INVITED = "InviteInvite"


@pytest.fixture
def uploaded_file(world: World) -> dict[str, Any]:
    """Three marked pages that Pia shares."""
    made = world.pia.upload()
    put_settings(world, made, watermark=True)
    return made


def download_text(http: FlaskClient, name: str) -> str:
    """Everything that stands on the first page of a download, on one line."""
    answer = http.post(f"/{name}/download", buffered=True)
    assert answer.status_code == 200
    with pypdfium2.PdfDocument(io.BytesIO(answer.data)) as pdf:
        return " ".join(str(pdf[0].get_textpage().get_text_range()).split())


def count_cached_files(world: World) -> int:
    """How many derived files are kept."""
    world.rt.pages.close()  # nothing is drawn ahead from here on
    return sum(len(names) for _, _, names in os.walk(world.rt.config.data_dir / "cache"))


def test_a_reader_whose_address_is_known_is_named_on_the_download(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    assert "127.0.0.1 - copy " in download_text(world.http, name)
    assert "@" not in download_text(world.http, name)
    assert "ann@acme.test - 127.0.0.1 - copy " in download_text(make_known_reader(world, name, "ann@acme.test"), name)


def test_the_invitee_is_named_before_giving_anything(world: World, uploaded_file: dict[str, Any]) -> None:
    insert_invite(world, uploaded_file["uuid"], "cleo@acme.test", INVITED)
    assert "cleo@acme.test - " in download_text(world.http, INVITED)
    assert get_page_image(world.http, INVITED) != get_page_image(world.http, uploaded_file["shortId"])


def test_who_gave_another_address_on_a_personal_link_is_named_by_it(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    insert_invite(world, uploaded_file["uuid"], "cleo@acme.test", INVITED)
    assert "dan@acme.test - " in download_text(make_known_reader(world, INVITED, "dan@acme.test"), INVITED)


def test_each_reader_gets_pages_and_addresses_of_their_own(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    ann, bob = (make_known_reader(world, name, f"{who}@acme.test") for who in ("ann", "bob"))
    nameless = make_known_reader(world, name, None)
    seen = [get_page_image(http, name) for http in (ann, bob, world.http)]
    assert len({version for version, _ in seen}) == len({image for _, image in seen}) == 3
    assert get_page_image(ann, name) == seen[0]
    assert get_page_image(nameless, name) == seen[2]


def test_the_address_of_another_readers_page_leads_nowhere(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    ann = make_known_reader(world, name, "ann@acme.test")
    version, _ = get_page_image(ann, name)
    for http in (make_known_reader(world, name, "bob@acme.test"), world.http, sign_in_browser(world, world.pia)):
        assert http.get(f"/{name}/pages/1-800.jpg?v={version}", buffered=True).status_code == 404


def test_a_token_of_another_link_names_nobody(world: World, uploaded_file: dict[str, Any]) -> None:
    other = world.pia.upload()
    ann = make_known_reader(world, other["shortId"], "ann@acme.test")
    token = ann.get_cookie(f"viewer-{other['shortId']}")
    assert token is not None
    ann.set_cookie(f"viewer-{uploaded_file['shortId']}", token.value)
    assert get_page_image(ann, uploaded_file["shortId"]) == get_page_image(world.http, uploaded_file["shortId"])


def test_a_page_is_kept_once_however_many_readers_there_are(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    get_page_image(make_known_reader(world, name, "ann@acme.test"), name)
    before = count_cached_files(world)
    for number in range(4):
        get_page_image(make_known_reader(world, name, f"reader{number}@acme.test"), name)
        download_text(make_known_reader(world, name, f"reader{number}@acme.test"), name)
    assert count_cached_files(world) == before


def test_under_the_mark_is_the_page_that_everybody_gets(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    _, marked = get_page_image(make_known_reader(world, name, "ann@acme.test"), name)
    put_settings(world, uploaded_file, watermark=False)
    _, plain = get_page_image(world.http, name)
    pages = [Image.open(io.BytesIO(image)).convert("L") for image in (plain, marked)]
    apart = ImageChops.difference(*pages)
    assert pages[0].size == pages[1].size
    assert max(apart.tobytes()) <= 0.12 * 255 + 12  # the grey of the mark at its opacity, and what JPEG adds
    assert sum(value > 8 for value in apart.tobytes()) > 1000


def test_without_its_mark_no_page_is_sent(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failing closed."""
    name = uploaded_file["shortId"]
    ann = make_known_reader(world, name, "ann@acme.test")
    version, _ = get_page_image(ann, name)

    def fail(self: PdfEngine, image: object, mark: WatermarkText, tenant: object) -> bytes:
        raise UnrenderableError("the mark cannot be drawn", lasting=False)

    monkeypatch.setattr(PdfEngine, "stamp", fail)
    answer = ann.get(f"/{name}/pages/1-800.jpg?v={version}", buffered=True)
    assert (answer.status_code, answer.mimetype) == (422, "text/plain")
    assert b"\xff\xd8\xff" not in answer.data


@pytest.mark.parametrize(
    ("email", "stands"),
    [
        ("jürgen.groß@exämple.test", "jurgen.gro?@example.test - 127.0.0.1"),
        (f"{'a' * 64}@{'b' * 60}.test", f"{'a' * 64} - 127.0.0.1"),
        ("o'neil\\(x)@acme.test", "o'neil\\(x)@acme.test - 127.0.0.1"),
    ],
)
def test_an_address_stands_in_letters_that_every_page_can_bear(
    world: World, uploaded_file: dict[str, Any], email: str, stands: str
) -> None:
    name = uploaded_file["shortId"]
    assert stands in download_text(make_known_reader(world, name, email), name)
