"""The rows of the owner's library: thumbnails and readings."""

import io
import re
from typing import Any

import PIL.Image
import pytest
from flask.testing import FlaskClient

from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf, simple_pdf
from tests.support.engines.rows import insert_files, update_file_row
from tests.support.owner.browser import count_statements, put_settings, sign_in_browser
from tests.support.people.cast import BASE_URL, Person, World
from tests.support.people.reader import FakeReader, end_all_sessions

# --- thumbnails ------------------------------------------------------------------------------------------------------


def get_library(http: FlaskClient) -> str:
    return http.get("/files").text


def list_thumbnails(http: FlaskClient) -> list[str]:
    """Return the URLs of the thumbnails in the library."""
    return re.findall(r'<img src="([^"]+)"', get_library(http))


def test_sixteen_thumbnails_have_at_most_150_kilobytes(world: World, owner_browser: FlaskClient) -> None:
    """The pages are full of text, which compresses badly: an image 800 pixels wide has more than 100 KB."""
    words = "the quick brown fox jumps over the lazy dog " * 2
    for number in range(16):
        text = "\n".join(f"{number * 60 + line} {words}" for line in range(60))
        sheet = Sheet(lines_content(text, size=9, left=40, top=760))
        world.pia.upload(sheets_pdf([sheet]), f"{number}.pdf")
    images = [owner_browser.get(address) for address in list_thumbnails(owner_browser)]
    assert [image.content_type for image in images] == ["image/jpeg"] * 16
    assert {PIL.Image.open(io.BytesIO(image.data)).width for image in images} == {160}
    assert sum(len(image.data) for image in images) <= 150_000


def test_a_thumbnail_is_served_to_nobody_but_its_owner(world: World, owner_browser: FlaskClient) -> None:
    """Strangers and other owners get the response to an unknown file; so does the owner of an ended link."""
    made = world.pia.upload()
    (address,) = list_thumbnails(owner_browser)
    unknown = address.replace(made["uuid"], "00000000-0000-4000-8000-000000000000")
    assert owner_browser.get(address).status_code == 200
    for other in (world.http, sign_in_browser(world, world.mal)):
        answers = [other.get(path) for path in (address, unknown)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].data == answers[1].data
        assert "Set-Cookie" not in answers[0].headers  # a sign-in must not return to an image
    assert world.http.get(address, headers=world.pia.headers).status_code == 404
    for wrong in (address.replace("?v=1", ""), address.replace("?v=1", "?v=2"), unknown):
        assert owner_browser.get(wrong).status_code == 404
    update_file_row(world, made["uuid"], delete_at=1_000)
    assert owner_browser.get(address).status_code == 404


def test_no_thumbnail_is_rendered_ahead(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload(simple_pdf(pages=3))
    owner_browser.get(*list_thumbnails(owner_browser))
    cached = [path.name for path in (world.rt.config.cache_dir / made["uuid"]).rglob("*") if path.is_file()]
    assert [name.partition(".")[0] for name in cached] == ["1-160"]


def test_a_thumbnail_of_a_replaced_document_shows_the_new_one(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload()
    (before,) = list_thumbnails(owner_browser)
    assert owner_browser.get(before).status_code == 200
    world.pia.replace(made["uuid"], simple_pdf(pages=2), "new.pdf")
    (after,) = list_thumbnails(owner_browser)
    assert after == before.replace("?v=1", "?v=2")
    assert [owner_browser.get(address).status_code for address in (before, after)] == [404, 200]


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_row_has_the_custom_link_of_the_file_and_otherwise_its_share_link(
    world: World, owner_browser: FlaskClient
) -> None:
    plain, named, hidden = (world.pia.upload() for _ in range(3))
    put_settings(world, named, slug="q3-report")
    update_file_row(world, hidden["uuid"], slug="docs")  # set by a version that had no page of this name
    found = re.findall(r'<button [^>]*data-copy[^>]*>Copy link</button> <a href="([^"]+)"', get_library(owner_browser))
    assert found == [f"{BASE_URL}/{hidden['shortId']}", f"{BASE_URL}/q3-report", f"{BASE_URL}/{plain['shortId']}"]


# --- readings --------------------------------------------------------------------------------------------------------


def read(world: World, made: dict[str, Any], **more: Any) -> None:
    """Let a reader read the first page for 20 seconds."""
    reader = FakeReader(world, made["shortId"], **more)
    reader.read_page(20)
    reader.leave()
    end_all_sessions(world)


def list_readings(http: FlaskClient) -> list[tuple[str, str]]:
    """Return the description of the chart of each file and the text beside it; pseudonyms are "Reader"."""
    found = re.findall(
        r'<div class="item-reading">.*?<desc[^>]*>([^<]*)</desc>(.*?)</div>', http.get("/files").text, re.S
    )
    texts = [(days, " ".join(re.sub("<[^>]+>", " ", rest).split())) for days, rest in found]
    return [(days, re.sub(r"Reader [0-9A-F]{6}\b", "Reader", text)) for days, text in texts]


def test_each_file_has_its_views_of_seven_days_and_its_last_reading(world: World, owner_browser: FlaskClient) -> None:
    world.clock.now = 1_790_000_000_000  # 21 September 2026, 13:33 UTC
    unread, made = world.pia.upload(name="unread.pdf"), world.pia.upload(name="read.pdf")
    read(world, made)
    world.clock.advance(days=1)
    read(world, made)
    read(world, made)
    world.clock.advance(days=5)
    assert list_readings(owner_browser) == [
        (
            "21 Sep: 1, 22 Sep: 2, 23 Sep: 0, 24 Sep: 0, 25 Sep: 0, 26 Sep: 0, 27 Sep: 0",
            "3 views this week Last read 5 days ago Reader",
        ),
        (
            "21 Sep: 0, 22 Sep: 0, 23 Sep: 0, 24 Sep: 0, 25 Sep: 0, 26 Sep: 0, 27 Sep: 0",
            "0 views this week Not read yet",
        ),
    ]
    page = get_library(owner_browser)
    for file in (unread, made):
        key = f"week-{file['shortId']}"
        assert f'role="img" aria-labelledby="{key}-title {key}-desc"' in page
    world.clock.advance(days=1)  # the first day is now eight days ago
    assert list_readings(owner_browser)[0][1] == "2 views this week Last read 6 days ago Reader"


def test_the_last_reader_of_a_personal_link_is_its_recipient(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload()
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann Lee"}).get_json()
    read(world, link, address="203.0.113.7")
    assert [words for _, words in list_readings(owner_browser)] == [
        "1 view this week Last read 6 minutes ago Ann Lee · Germany"
    ]


def test_a_reading_that_goes_on_is_not_the_last_one(world: World, owner_browser: FlaskClient) -> None:
    FakeReader(world, world.pia.upload()["shortId"]).read_page(20)
    ((_, words),) = list_readings(owner_browser)
    assert words == "0 views this week First reading not finished"


@pytest.mark.parametrize(
    ("who", "readings"),
    [
        ("fay", []),
        ("bea", ["1 view this week Last read 6 minutes ago"]),
        ("pia", ["1 view this week Last read 6 minutes ago ann@example.com · Germany"]),
    ],
)
def test_the_plan_decides_what_is_shown_of_readings(world: World, who: str, readings: list[str]) -> None:
    """The report of the file includes views over time from Basic on, and sessions with their readers from Pro on."""
    person: Person = getattr(world, who)
    made = person.upload()
    read(world, made, address="203.0.113.7")
    with world.rt.db.write():
        world.rt.db.execute("UPDATE view_sessions SET email = 'ann@example.com'")
    http = sign_in_browser(world, person)
    assert [words for _, words in list_readings(http)] == readings
    assert ("ann@example.com" in get_library(http)) == (who == "pia")


def test_readings_cost_the_same_statements_for_5_files_and_for_50(world: World, owner_browser: FlaskClient) -> None:
    insert_files(world, 5)
    few = count_statements(world, owner_browser, "/files")
    insert_files(world, 45)
    for uuid, short_id in world.rt.db.fetch_all("SELECT uuid, short_id FROM files LIMIT 3"):
        read(world, {"uuid": uuid, "shortId": short_id})
    assert len(list_readings(owner_browser)) == 50
    assert count_statements(world, owner_browser, "/files") == few
