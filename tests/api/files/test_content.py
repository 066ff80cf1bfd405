"""Owners download the stored bytes of a file."""

import json
import re
from email.message import Message

import pytest
from werkzeug.http import parse_options_header

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.people.cast import World

CONTENT = simple_pdf(pages=5)


def upload_content(world: World) -> tuple[str, str]:
    made = world.pia.upload(CONTENT)
    return made["uuid"], f"/api/v1/files/{made['shortId']}/content"


def test_the_owner_gets_the_exact_bytes_despite_restrictions_of_the_link(world: World) -> None:
    """Password, gate, page range, watermark and view limit do not apply to the owner."""
    uuid, path = upload_content(world)
    settings = {"requireEmail": True, "watermark": True, "pageRange": {"from": 1, "to": 2}, "allowDownload": False}
    update_file_row(world, uuid, password_hash="x", view_limit=1, settings=json.dumps(settings))
    answer = world.pia.get(path, buffered=True)
    assert answer.status_code == 200
    assert answer.data == CONTENT
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Length"] == str(len(CONTENT))
    assert answer.headers["Content-Disposition"] == 'inline; filename="report.pdf"'


def test_a_download_by_the_owner_is_not_counted(world: World) -> None:
    """It adds no view, no event and no readership data."""
    uuid, path = upload_content(world)
    before = world.pia.get(f"/api/v1/files/{uuid}").get_json()
    world.pia.get(path, buffered=True)
    world.pia.http.head(path, headers=world.pia.headers, buffered=True)
    assert world.pia.get(f"/api/v1/files/{uuid}").get_json() == before
    assert [count_rows(world, table) for table in ("view_rows", "download_rows", "view_sessions")] == [0, 0, 0]


@pytest.mark.parametrize("value", ["bytes=0-9", "bytes=-5", "bytes=99999999-", "bytes=0-1,3-4", "bytes=5-2", "lines=1"])
def test_range_headers_are_ignored(world: World, value: str) -> None:
    """The response is 200 with the whole file and without ``Accept-Ranges``, never 206, 304 or 416."""
    answer = world.pia.get(upload_content(world)[1], headers={"Range": value}, buffered=True)
    assert answer.status_code == 200
    assert answer.data == CONTENT
    assert "Accept-Ranges" not in answer.headers
    assert "Content-Range" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"If-None-Match": "*"},
        {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"},
        {"If-Match": '"nothing"'},
        {"If-Range": '"x"', "Range": "bytes=0-1"},
    ],
)
def test_conditional_headers_are_ignored(world: World, headers: dict[str, str]) -> None:
    answer = world.pia.get(upload_content(world)[1], headers=headers, buffered=True)
    assert (answer.status_code, answer.data) == (200, CONTENT)
    assert "ETag" not in answer.headers
    assert "Last-Modified" not in answer.headers


def test_a_file_is_410_as_soon_as_its_view_limit_is_reached(world: World) -> None:
    """The bytes are deleted 30 minutes later."""
    uuid, path = upload_content(world)
    update_file_row(world, uuid, burned_at=world.clock.now)
    answer = world.pia.get(path)
    assert answer.status_code == 410
    assert answer.get_json()["code"] == "gone"


def test_the_owner_can_download_an_expired_file(world: World) -> None:
    """A file that has reached its view limit is 410 even for the owner."""
    uuid, path = upload_content(world)
    update_file_row(world, uuid, delete_at=world.clock.now - 1)
    assert world.pia.get(path, buffered=True).status_code == 200
    update_file_row(world, uuid, burned_at=world.clock.now - 2)
    assert world.pia.get(path).status_code == 410


def test_head_returns_the_length_without_a_body(world: World) -> None:
    answer = world.pia.http.head(upload_content(world)[1], headers=world.pia.headers, buffered=True)
    assert answer.headers["Content-Length"] == str(len(CONTENT))
    assert answer.data == b""


def test_missing_bytes_are_404(world: World) -> None:
    uuid, path = upload_content(world)
    row = world.rt.db.fetch_one("SELECT blob FROM files WHERE uuid = ?", (uuid,))
    assert row is not None
    world.rt.blobs.delete(row[0])
    assert world.pia.get(path).status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "report.pdf",
        'say "hi".pdf',
        "100 %.pdf",
        "a;b=c.pdf",
        "Übersicht 日本 🙂.pdf",
        "it's.pdf",
        "%41.pdf",
        "a,b.pdf",
        "utf-8''x.pdf",
    ],
)
def test_two_parsers_read_the_file_name_from_content_disposition(world: World, name: str) -> None:
    """The header follows RFC 6266 and RFC 8187, has no control bytes and never has an empty fallback."""
    uuid, path = upload_content(world)
    update_file_row(world, uuid, original_name=name)
    header = world.pia.get(path, buffered=True).headers["Content-Disposition"]
    assert header.isascii()
    assert header.isprintable()
    kind, options = parse_options_header(header)
    assert (kind, options["filename"]) == ("inline", name)
    message = Message()
    message["Content-Disposition"] = re.sub(r"filename=\S.*; (?=filename\*)", "", header)
    assert message.get_filename() == name
    assert re.search(r'filename="[^"\\]+"', header)
