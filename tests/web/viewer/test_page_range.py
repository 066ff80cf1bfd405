"""Documents with a page range: other pages do not exist for readers, and nothing reveals the position of the range."""

import base64
import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf
from tests.support.engines.database import dump_database
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, list_view_rows
from tests.support.people.share_page import parse_facts

SIZES = [(612, 792), (400, 400), (500, 500), (600, 600), (612, 792), (612, 792)]
WORDS = ["Alpha", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot"]


def make_document() -> bytes:
    """Return six pages of different text and size; page 3 links to pages 1, 4 and 6 and to the web."""

    def link(top: int, target: str) -> str:
        return f"<< /Type /Annot /Subtype /Link /Rect [72 {top} 200 {top + 20}] {target} >>"

    targets = ["/Dest [@1 /Fit]", "/Dest [@4 /Fit]", "/Dest [@6 /Fit]", "/A << /S /URI /URI (https://example.com/) >>"]
    links = [link(100 + 30 * row, target) for row, target in enumerate(targets)]
    sheets = [
        Sheet(lines_content(word, top=300), size, annots=links if word == "Charlie" else ())
        for word, size in zip(WORDS, SIZES, strict=True)
    ]
    return sheets_pdf(sheets)


pytestmark = [
    pytest.mark.file_document(make_document(), "Plan.pdf"),
    pytest.mark.file_settings(pageRange={"from": 2, "to": 4}),
]


def get_path(http: FlaskClient, path: str) -> TestResponse:
    return http.get(path, buffered=True)


def read_facts(http: FlaskClient, path: str) -> dict[str, Any]:
    return parse_facts(http.get(path).text)


def list_page_texts(http: FlaskClient, name: str) -> list[str]:
    """Return the text of each page that this reader sees."""
    facts = read_facts(http, f"/{name}")
    found = []
    for page in range(1, facts["pages"] + 1):
        answer = get_path(http, f"/{name}/text/{page}.json?v={facts['version']}")
        assert answer.status_code == 200
        found.append("".join(box[4] for box in answer.get_json()["boxes"]).strip())
    return found


def test_readers_see_the_range_numbered_from_one(world: World, uploaded_file: dict[str, Any]) -> None:
    facts = read_facts(world.http, f"/{uploaded_file['shortId']}")
    assert (facts["pages"], facts["start"]) == (3, 1)
    assert facts["sizes"] == [[1, 400.0, 400.0], [1, 500.0, 500.0], [1, 600.0, 600.0]]
    assert list_page_texts(world.http, uploaded_file["shortId"]) == ["Bravo", "Charlie", "Delta"]


@pytest.mark.usefixtures("patient_readers")
@pytest.mark.parametrize("path", ["{name}", "embed/{name}", "{name}?page=1", "{name}?page=3", "{name}?page=999"])
def test_the_html_does_not_reveal_hidden_pages(world: World, uploaded_file: dict[str, Any], path: str) -> None:
    html = get_path(world.http, "/" + path.format(name=uploaded_file["shortId"])).text
    assert "of 3" in html
    assert [word for word in ("Alpha", "Echo", "Foxtrot", "of 6", "6 pages") if word in html] == []
    if "?page" in path:
        assert [word for word in ("Bravo", "Charlie", "Delta") if word not in html] == []


@pytest.mark.parametrize("page", [0, 4, 5, 6, 7])
def test_hidden_pages_respond_like_nonexistent_pages(world: World, uploaded_file: dict[str, Any], page: int) -> None:
    name = uploaded_file["shortId"]
    version = read_facts(world.http, f"/{name}")["version"]
    for path in (f"pages/{page}-800.jpg", f"pages/{page}-1600.jpg", f"text/{page}.json"):
        hidden = get_path(world.http, f"/{name}/{path}?v={version}")
        lacking = get_path(world.http, f"/{name}/{path.replace(str(page), '777', 1)}?v={version}")
        assert (hidden.status_code, hidden.data) == (404, lacking.data)


@pytest.mark.parametrize("page", range(1, 7))
def test_addresses_of_the_whole_document_are_404_for_readers(
    world: World, uploaded_file: dict[str, Any], page: int
) -> None:
    for version in ("1", "1-", "1-000000000000"):
        for path in (f"pages/{page}-800.jpg", f"text/{page}.json"):
            assert get_path(world.http, f"/{uploaded_file['shortId']}/{path}?v={version}").status_code == 404


def test_page_images_show_the_pages_of_the_range(world: World, uploaded_file: dict[str, Any]) -> None:
    """The images are identical to those that the owner receives for pages 2 to 4."""
    name, owner = uploaded_file["shortId"], sign_in_browser(world, world.pia)
    version = read_facts(world.http, f"/{name}")["version"]
    for page in (1, 2, 3):
        seen = get_path(world.http, f"/{name}/pages/{page}-800.jpg?v={version}")
        assert seen.status_code == 200
        assert seen.data == get_path(owner, f"/{name}/pages/{page + 1}-800.jpg?v=1").data


def test_links_to_hidden_pages_are_removed_and_others_are_renumbered(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    name = uploaded_file["shortId"]
    version = read_facts(world.http, f"/{name}")["version"]
    links = get_path(world.http, f"/{name}/text/2.json?v={version}").get_json()["links"]
    assert [link[4] for link in links] == [{"page": 3}, {"url": "https://example.com/"}]


def test_the_owner_sees_the_whole_document(world: World, uploaded_file: dict[str, Any]) -> None:
    assert list_page_texts(sign_in_browser(world, world.pia), uploaded_file["shortId"]) == WORDS
    assert list_page_texts(sign_in_browser(world, world.mal), uploaded_file["shortId"]) == WORDS[1:4]


def test_the_range_is_enforced_after_a_downgrade(world: World, uploaded_file: dict[str, Any]) -> None:
    """After a downgrade, readers still must not see more pages than the owner shared."""
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    assert list_page_texts(world.http, uploaded_file["shortId"]) == WORDS[1:4]


def test_clearing_the_range_shows_all_pages(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 0, "to": 0})
    assert list_page_texts(world.http, uploaded_file["shortId"]) == WORDS


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({}, ["Bravo", "Charlie", "Delta"]),
        ({"pageRange": {"from": 0, "to": 0}}, WORDS),
        ({"pageRange": {"from": 5, "to": 6}}, ["Echo", "Foxtrot"]),
        ({"allowDownload": False}, ["Bravo", "Charlie", "Delta"]),
    ],
)
def test_a_variant_can_override_the_range(
    world: World, uploaded_file: dict[str, Any], overrides: dict[str, Any], words: list[str]
) -> None:
    """``{from: 0, to: 0}`` on a variant serves the full document."""
    body = {"label": "Ada", "overrides": overrides}
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json=body).get_json()
    assert list_page_texts(world.http, variant["shortId"]) == words
    assert list_page_texts(world.http, uploaded_file["shortId"]) == WORDS[1:4]


@pytest.mark.parametrize(
    ("pages", "words"),
    [(3, ["Bravo", "Charlie"]), (2, ["Bravo"])],
    ids=["cut", "one left"],
)
def test_a_shorter_replacement_never_shows_pages_outside_of_the_range(
    world: World, uploaded_file: dict[str, Any], pages: int, words: list[str]
) -> None:
    sheets = [Sheet(lines_content(word)) for word in WORDS[:pages]]
    world.pia.replace(uploaded_file["uuid"], sheets_pdf(sheets), "Plan.pdf")
    assert list_page_texts(world.http, uploaded_file["shortId"]) == words


def test_changing_the_range_changes_the_page_addresses(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    seen = {read_facts(world.http, f"/{name}")["version"]}
    for first, last in ((2, 5), (3, 5), (2, 4)):
        old = read_facts(world.http, f"/{name}")["version"]
        put_settings(world, uploaded_file, pageRange={"from": first, "to": last})
        seen.add(read_facts(world.http, f"/{name}")["version"])
        assert get_path(world.http, f"/{name}/pages/1-800.jpg?v={old}").status_code == 404
    assert len(seen) == 3
    assert all(version.startswith("1-") for version in seen)


def test_beacons_are_stored_with_page_numbers_of_the_document(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    reader.read_page(10, page=1)
    reader.read_page(10, page=3)
    world.clock.advance(seconds=10)
    reader.send_next_beacon(read={4: 10_000})
    (row,) = list_view_rows(world)
    assert (row["pagesViewed"], row["timeMs"]) == (2, 20_000)
    assert world.rt.db.fetch_all("SELECT page, time_ms FROM session_pages ORDER BY page") == [(2, 10_000), (4, 10_000)]
    bodies = [json.loads(body) for (body,) in world.rt.db.fetch_all("SELECT body FROM beacons ORDER BY seq")]
    assert [[page["page"] for page in body["pages"]] for body in bodies] == [[2], [4], [5]]


def test_beacons_of_an_open_page_use_the_range_it_was_opened_with(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    reader.read_page(10, page=1)
    put_settings(world, uploaded_file, pageRange={"from": 5, "to": 6})
    reader.read_page(10, page=2)
    list_view_rows(world)
    assert world.rt.db.fetch_all("SELECT page, time_ms FROM session_pages ORDER BY page") == [(2, 10_000), (3, 10_000)]


def test_the_token_does_not_reveal_the_position_of_the_range(world: World, uploaded_file: dict[str, Any]) -> None:
    decoded_tokens = set()
    for _ in range(3):
        payload = FakeReader(world, uploaded_file["shortId"]).token.partition(".")[0]
        fields = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        numbers = [field for field in fields if isinstance(field, int) and not isinstance(field, bool)]
        assert 1 not in numbers[2:]  # the number of pages before the range
        decoded_tokens.add(str(fields))
    assert len(decoded_tokens) == 3


@pytest.mark.parametrize("through", ["{name}", "embed/{name}", "{name}?page=2"])
def test_opening_a_document_with_a_range_stores_nothing(
    world: World, uploaded_file: dict[str, Any], through: str
) -> None:
    before = dump_database(world)
    assert get_path(world.http, "/" + through.format(name=uploaded_file["shortId"])).status_code == 200
    assert list_page_texts(world.http, uploaded_file["shortId"])
    assert dump_database(world) == before


def test_a_range_of_all_pages_counts_as_no_range(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 1, "to": 6})
    assert read_facts(world.http, f"/{uploaded_file['shortId']}")["version"] == "1"
