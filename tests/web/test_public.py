"""Share pages, embed pages, page images and page texts: what is served and what is rejected."""

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from werkzeug.test import TestResponse

from docshare.server.pdf.pages import PageStore
from docshare.server.store.stored_bytes import StoredBytes
from tests.support.browsers.markup import parse_html
from tests.support.documents.hostile_pdfs import memory_bomb_on_page_2
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf, simple_pdf
from tests.support.engines.database import dump_database
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

pytestmark = pytest.mark.file_document(name="Report.pdf")


def get_path(world: World, path: str) -> TestResponse:
    return world.http.get(path, buffered=True)


def build_page_paths(name: str, version: int = 1) -> tuple[str, str]:
    return f"/{name}/pages/1-800.jpg?v={version}", f"/{name}/text/1.json?v={version}"


def test_a_short_id_a_uuid_and_a_slug_open_the_page(world: World, uploaded_file: dict[str, str]) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    for name in (uploaded_file["shortId"], uploaded_file["uuid"], uploaded_file["uuid"].upper(), "the-report"):
        answer = get_path(world, f"/{name}")
        assert answer.status_code == 200, name
        assert "<title>Report.pdf</title>" in answer.text


def test_page_resources_are_addressed_by_the_id_the_page_was_opened_with(
    world: World, uploaded_file: dict[str, str]
) -> None:
    """The addresses contain the public id, never the slug."""
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    keys = {
        name: FakeReader(world, name).facts["base"]
        for name in (uploaded_file["shortId"], uploaded_file["uuid"].upper(), "the-report")
    }
    assert keys == {
        uploaded_file["shortId"]: f"/{uploaded_file['shortId']}",
        uploaded_file["uuid"].upper(): f"/{uploaded_file['uuid']}",
        "the-report": f"/{uploaded_file['shortId']}",
    }


def test_the_embed_page_does_not_accept_a_slug(world: World, uploaded_file: dict[str, str]) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    assert get_path(world, "/embed/the-report").status_code == 404
    assert get_path(world, f"/embed/{uploaded_file['shortId']}").status_code == 200
    assert get_path(world, f"/embed/{uploaded_file['uuid']}").status_code == 200


def test_short_ids_are_case_sensitive(world: World, uploaded_file: dict[str, str]) -> None:
    assert get_path(world, f"/{uploaded_file['shortId'].swapcase()}").status_code == 404


@pytest.mark.parametrize("width", [800, 1600])
def test_a_page_image_is_a_jpeg_of_the_requested_width(world: World, uploaded_file: dict[str, str], width: int) -> None:
    answer = get_path(world, f"/{uploaded_file['shortId']}/pages/2-{width}.jpg?v=1")
    assert (answer.status_code, answer.mimetype) == (200, "image/jpeg")
    assert Image.open(io.BytesIO(answer.data)).size == (width, round(width * 792 / 612))


def test_a_page_text_contains_words_and_links(world: World) -> None:
    annotation = "<< /Type /Annot /Subtype /Link /Rect [72 700 200 740] /A << /S /URI /URI (https://example.com/) >> >>"
    document = sheets_pdf([Sheet(lines_content("Hello reader"), annots=(annotation,))])
    name = world.pia.upload(document)["shortId"]
    answer = get_path(world, f"/{name}/text/1.json?v=1")
    assert answer.mimetype == "application/json"
    assert answer.json is not None
    assert "".join(box[4] for box in answer.json["boxes"]).strip() == "Hello reader"
    assert [link[4] for link in answer.json["links"]] == [{"url": "https://example.com/"}]


@pytest.mark.parametrize(
    "path",
    [
        "pages/4-800.jpg?v=1",
        "pages/0-800.jpg?v=1",
        "pages/-1-800.jpg?v=1",
        "pages/01-800.jpg?v=1",
        "pages/１-800.jpg?v=1",
        "pages/1e0-800.jpg?v=1",
        "pages/99999999999999999999-800.jpg?v=1",
        "pages/1-801.jpg?v=1",
        "pages/1-0800.jpg?v=1",
        "pages/1-99999999.jpg?v=1",
        "pages/1-800.png?v=1",
        "pages/1-800.jpg",
        "pages/1-800.jpg?v=",
        "pages/1-800.jpg?v=2",
        "pages/1-800.jpg?v=01",
        "tiles/0/400/0-0.jpg?v=1",
        "tiles/4/400/0-0.jpg?v=1",
        "tiles/1/0/0-0.jpg?v=1",
        "tiles/1/250/0-0.jpg?v=1",
        "tiles/1/1600/0-0.jpg?v=1",
        "tiles/1/0400/0-0.jpg?v=1",
        "tiles/1/0w/0-0.jpg?v=1",
        "tiles/1/0400w/0-0.jpg?v=1",
        "tiles/1/12000w/0-0.jpg?v=1",
        "tiles/1/400/4-0.jpg?v=1",
        "tiles/1/400/0-5.jpg?v=1",
        "tiles/1/400/00-0.jpg?v=1",
        "tiles/1/400/-1-0.jpg?v=1",
        "tiles/1/400/9999-0.jpg?v=1",
        "tiles/1/400/0-0.jpg",
        "tiles/1/400/0-0.jpg?v=2",
        "text/4.json?v=1",
        "text/1.json",
        "text/1.json?v=2",
    ],
)
def test_an_invalid_page_address_is_404(world: World, uploaded_file: dict[str, str], path: str) -> None:
    assert get_path(world, f"/{uploaded_file['shortId']}/{path}").status_code == 404


def test_pages_of_an_older_version_are_404_after_a_replacement(world: World, uploaded_file: dict[str, str]) -> None:
    update_file_row(world, uploaded_file["uuid"], content_version=2)
    assert [get_path(world, path).status_code for path in build_page_paths(uploaded_file["shortId"], 1)] == [404, 404]
    assert [get_path(world, path).status_code for path in build_page_paths(uploaded_file["shortId"], 2)] == [200, 200]


def test_a_page_that_crashes_the_engine_is_422_as_plain_text(world: World) -> None:
    name = world.pia.upload(memory_bomb_on_page_2())["shortId"]
    answer = get_path(world, f"/{name}/pages/2-1600.jpg?v=1")
    assert (answer.status_code, answer.mimetype, answer.text.strip()) == (
        422,
        "text/plain",
        "This page cannot be shown.",
    )
    assert get_path(world, f"/{name}").status_code == 200


def replace_document(world: World, uuid: str) -> None:
    world.pia.replace(uuid, simple_pdf(pages=2), "next.pdf")


def trash_file(world: World, uuid: str) -> None:
    assert world.pia.delete(f"/api/v1/files/{uuid}").status_code in (200, 204)


def lose_documents(world: World, _uuid: str) -> None:
    """Delete the stored documents as an operator might."""
    for path in (world.rt.config.data_dir / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()


@pytest.mark.parametrize(
    ("changes", "status"),
    [((replace_document,), 404), ((trash_file, lose_documents), 404), ((lose_documents,), 422)],
    ids=["replaced", "deleted", "lost"],
)
@pytest.mark.parametrize("part", ["image", "text"])
def test_a_page_whose_document_is_gone_when_it_is_drawn(
    world: World,
    uploaded_file: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    changes: tuple[Callable[[World, str], None], ...],
    status: int,
) -> None:
    """The request had found the file before that."""
    make = getattr(PageStore, part)

    def change_and_make(*args: Any) -> StoredBytes:
        for change in changes:
            change(world, uploaded_file["uuid"])
        content: StoredBytes = make(*args)
        return content

    monkeypatch.setattr(PageStore, part, change_and_make)
    path = dict(zip(("image", "text"), build_page_paths(uploaded_file["shortId"]), strict=True))[part]
    assert get_path(world, path).status_code == status


def expire_file(world: World, uuid: str) -> None:
    update_file_row(world, uuid, delete_at=world.clock.now)


def burn_file(world: World, uuid: str) -> None:
    update_file_row(world, uuid, burned_at=world.clock.now)


@pytest.mark.parametrize(
    ("end", "headline"),
    [(expire_file, "This link has expired"), (burn_file, "This link has been used up")],
    ids=["expired", "burned"],
)
def test_a_dead_link_is_410_with_its_own_page_and_serves_no_content(
    world: World, uploaded_file: dict[str, str], end: Callable[[World, str], None], headline: str
) -> None:
    """This applies to the share page and the embed page, for expired and burned links."""
    name = uploaded_file["shortId"]
    before = [get_path(world, path).status_code for path in build_page_paths(name)]
    end(world, uploaded_file["uuid"])
    for path in (f"/{name}", f"/{uploaded_file['uuid']}", f"/embed/{name}"):
        answer = get_path(world, path)
        assert answer.status_code == 410
        assert headline in answer.text
        assert "21 September 2026 at 14:13 UTC" in answer.text
        assert "Report" not in answer.text
    assert before == [200, 200]
    for path in build_page_paths(name):
        assert (get_path(world, path).status_code, get_path(world, path).mimetype) == (410, "text/plain")


def test_a_future_expiry_has_no_effect_until_it_is_reached(world: World, uploaded_file: dict[str, str]) -> None:
    update_file_row(world, uploaded_file["uuid"], delete_at=world.clock.now + 1000)
    assert get_path(world, f"/{uploaded_file['shortId']}").status_code == 200
    world.clock.advance(seconds=1)
    assert get_path(world, f"/{uploaded_file['shortId']}").status_code == 410


def test_trashed_and_unknown_links_are_indistinguishable(world: World, uploaded_file: dict[str, str]) -> None:
    """Links of a trashed file respond like unknown ones."""
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    unknown = {"": "/aaaaaaaaaaaa", "embed": "/embed/aaaaaaaaaaaa", "image": build_page_paths("aaaaaaaaaaaa")[0]}
    trashed = {
        "": f"/{uploaded_file['shortId']}",
        "embed": f"/embed/{uploaded_file['shortId']}",
        "image": build_page_paths(uploaded_file["shortId"])[0],
    }
    for kind, path in unknown.items():
        expected = get_path(world, path)
        answer = get_path(world, trashed[kind])
        assert expected.status_code == answer.status_code == 404
        assert answer.data == expected.data
        assert get_stable_headers(answer) == get_stable_headers(expected)
    assert get_path(world, "/the-report").data == get_path(world, "/no-report").data


def get_stable_headers(answer: TestResponse) -> dict[str, str]:
    return {name: value for name, value in answer.headers if name not in ("X-Request-Id", "Date")}


def test_an_address_that_guesses_links_is_blocked_from_known_links_too(
    world: World, uploaded_file: dict[str, str]
) -> None:
    """An address may open 60 unknown links a minute; further requests get 429."""
    for number in range(60):
        assert get_path(world, f"/guess-{number}").status_code == 404
    refused = get_path(world, f"/{uploaded_file['shortId']}")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert [get_path(world, path).status_code for path in build_page_paths(uploaded_file["shortId"])] == [429, 429]
    elsewhere = {"REMOTE_ADDR": "198.51.100.9"}
    assert world.http.get(f"/{uploaded_file['shortId']}", environ_overrides=elsewhere).status_code == 200
    world.clock.advance(seconds=61)
    assert get_path(world, f"/{uploaded_file['shortId']}").status_code == 200


def test_automatic_browser_requests_do_not_count_as_guesses(world: World, uploaded_file: dict[str, str]) -> None:
    for _ in range(70):
        assert get_path(world, "/favicon.ico").status_code == 404
    assert get_path(world, f"/{uploaded_file['shortId']}").status_code == 200


def test_get_and_head_requests_do_not_change_the_database(world: World, uploaded_file: dict[str, str]) -> None:
    name = uploaded_file["shortId"]
    paths = [
        f"/{name}",
        f"/{name}?page=2",
        f"/{name}?via=qr",
        f"/embed/{name}",
        *build_page_paths(name),
        "/nothing",
        "/",
    ]
    before = dump_database(world)
    for path in paths:
        world.http.get(path, buffered=True)
        world.http.head(path, buffered=True)
    assert dump_database(world) == before


def test_head_responds_like_get_without_a_body(world: World, uploaded_file: dict[str, str]) -> None:
    for path in (f"/{uploaded_file['shortId']}", *build_page_paths(uploaded_file["shortId"]), "/nothing"):
        got, headed = world.http.get(path, buffered=True), world.http.head(path, buffered=True)
        assert headed.data == b""
        assert headed.status_code == got.status_code
        names = {name for name, _ in got.headers} - {"X-Request-Id"}
        assert {name for name, _ in headed.headers} - {"X-Request-Id"} == names, path


@pytest.mark.parametrize(
    ("prefix", "query", "referer", "purpose", "expected"),
    [
        ("", "", "", "", ["Direct link", None, False]),
        ("", "?via=qr", "", "", ["QR code", None, False]),
        ("/embed", "", "https://blog.example.org/post?secret", "", ["Embed", "blog.example.org", False]),
        ("", "", "http://127.0.0.1:8787/other", "", ["Direct link", None, False]),
        ("", "", "https://[broken", "", ["Direct link", None, False]),
        ("", "", "", "prefetch;prerender", ["Direct link", None, True]),
    ],
)
def test_the_view_token_records_source_referrer_and_prefetch(
    world: World,
    uploaded_file: dict[str, str],
    prefix: str,
    query: str,
    referer: str,
    purpose: str,
    expected: list[object],
) -> None:
    page_headers_sent = {"Referer": referer, "Sec-Purpose": purpose}
    reader = FakeReader(world, uploaded_file["shortId"], prefix=prefix, query=query, page_headers=page_headers_sent)
    *_, source, mode, referrer, prefetched = decode_token(reader.token)
    assert [source, referrer, prefetched] == expected
    assert mode == "standard"


def decode_token(token: str) -> list[object]:
    payload = token.partition(".")[0]
    fields: list[object] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return fields


def test_the_front_page_leads_to_signing_in_and_folds_the_commands(world: World) -> None:
    page = parse_html(get_path(world, "/").text)
    assert page.find_one("p", class_="sheet-act").find_one("a").attrs["href"] == "/login"
    assert [code.words for code in page.find_one("details").find_all("code")] == [
        "docshare dashboard", "docshare upload report.pdf"
    ]  # fmt: skip
    assert len(page.find_all("code")) == 2


def test_the_front_page_leads_a_signed_in_owner_to_their_files(world: World) -> None:
    page = parse_html(sign_in_browser(world, world.pia).get("/").text)
    assert page.find_one("p", class_="sheet-act").find_one("a").attrs["href"] == "/files"
    assert "You are signed in as pia@example.com." in page.words


def test_the_front_page_with_anonymous_uploads_also_leads_to_signing_in(make: Callable[..., World]) -> None:
    site = make(anonymous_uploads=True)
    section = parse_html(get_path(site, "/").text).find_one("section", class_="share-account")
    assert section.find_one("a").attrs["href"] == "/login"
    section = parse_html(sign_in_browser(site, site.pia).get("/").text).find_one("section", class_="share-account")
    assert section.words == "Go to your files as pia@example.com."


def lose_files(monkeypatch: pytest.MonkeyPatch, kind: str, times: int) -> None:
    """Delete the next ``times`` files that the page store returns before they are opened."""
    made, left = getattr(PageStore, kind), [None] * times

    def lose(*args: Any) -> StoredBytes:
        content: StoredBytes = made(*args)
        if left:
            left.pop()
            Path(content).unlink()
        return content

    monkeypatch.setattr(PageStore, kind, lose)


@pytest.mark.parametrize(("times", "status"), [(1, 200), (2, 404)])
def test_a_page_deleted_from_the_cache_while_served_is_rendered_once_more(
    world: World,
    uploaded_file: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    times: int,
    status: int,
) -> None:
    for kind, path in zip(("image", "text"), build_page_paths(uploaded_file["shortId"]), strict=True):
        lose_files(monkeypatch, kind, times)
        assert get_path(world, path).status_code == status, kind
    assert uploaded_file["uuid"] not in caplog.text


@pytest.mark.parametrize(("times", "shown"), [(1, True), (2, False)])
def test_text_deleted_from_the_cache_while_read_is_extracted_once_more(
    world: World, monkeypatch: pytest.MonkeyPatch, times: int, shown: bool
) -> None:
    name = world.pia.upload(simple_pdf(texts=["Unmistakable"]))["shortId"]
    lose_files(monkeypatch, "text", times)
    answer = get_path(world, f"/{name}?page=1")
    assert answer.status_code == 200
    assert ("Unmistakable" in answer.text) is shown
