"""Responses of import sources: errors, invalid and slow responses, other formats, and palettes of PDFs."""

import gzip
import ipaddress
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docshare.server.services.files import imports
from tests.api.intake.imports import assert_import_refused, post_import
from tests.support.documents.pdfs import simple_pdf
from tests.support.documents.picture_pdfs import BLUE, RED, make_stripes, picture_pdf
from tests.support.outside.import_source import (
    ImportSource,
    endless_response,
    hold_connection,
    http_response,
    open_source,
    raw_response,
)
from tests.support.people.cast import World

PDF = simple_pdf(pages=2)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
POWERPOINT = OLE + b"\0" * 504 + b"\x00\x6e\x1e\xf0"
DOCX = b"PK\x03\x04" + b"\0" * 22 + b"\x11\x00\x00\x00word/document.xml"


@pytest.fixture
def world(import_world: World) -> World:
    return import_world


# --- errors of the source --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "304 Not Modified", "307 X", "308 X"])
@pytest.mark.parametrize("location", ["https://169.254.169.254/", "http://127.0.0.1/", "/other.pdf", "{self}"])
def test_a_redirect_is_502_and_never_followed(world: World, source: ImportSource, status: str, location: str) -> None:
    """Every 3xx status of the source is an error."""
    where = location.replace("{self}", source.url("/other.pdf"))
    source.respond = http_response(PDF, status, f"Location: {where}")
    assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")
    assert source.connections == 1


@pytest.mark.parametrize(
    "status", ["204 No Content", "206 Part", "400 Bad", "401 No", "404 Gone", "500 Oops", "503 No"]
)
def test_an_error_of_the_source_is_502(world: World, source: ImportSource, status: str) -> None:
    source.respond = http_response(b"" if status.startswith("204") else PDF, status)
    problem = assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")
    assert status[:3] in problem["detail"]


@pytest.mark.parametrize(
    "script",
    [
        raw_response(b""),
        raw_response(b"220 smtp.example\r\n"),
        http_response(PDF[:100], length=len(PDF)),
        raw_response(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n" + PDF),
        raw_response(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n" + PDF),
        raw_response(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\n"),
    ],
    ids=["nothing", "other protocol", "short", "long header", "many headers", "cut chunks"],
)
def test_a_truncated_or_invalid_response_of_the_source_is_502(world: World, source: ImportSource, script: Any) -> None:
    source.respond = script
    assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")


@pytest.mark.parametrize(
    "script",
    [
        hold_connection,
        endless_response(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.05),
        endless_response(b"HTTP/1.1 200 OK\r\n\r\n" + PDF, b"\n", 0.05),
    ],
    ids=["silence", "headers", "body"],
)
def test_a_slow_source_is_502_at_the_deadline(
    world: World, source: ImportSource, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadline covers the whole request, because every byte restarts the timeout of a socket."""
    monkeypatch.setattr(imports, "DEADLINE_S", 0.5)
    source.respond = script
    began = time.monotonic()
    assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")
    assert time.monotonic() - began < 5


def test_a_deadline_during_the_connect_closes_the_socket(
    world: World, source: ImportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open socket would cause a warning, which fails the test."""
    source.respond = hold_connection
    for thousandths in range(1, 21):
        monkeypatch.setattr(imports, "DEADLINE_S", thousandths / 1000)
        assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")


def test_an_untrusted_certificate_is_502(make: Callable[..., World], source: ImportSource) -> None:
    """No request is sent."""
    world = make(import_hosts=(source.host,))
    world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
    problem = assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")
    assert "certificate" in problem["detail"]
    assert source.request_heads == []


def test_a_host_that_does_not_resolve_is_502(world: World, source: ImportSource) -> None:
    """A DNS error is an error of the source."""

    def resolve(host: str) -> list[Any]:
        raise OSError("Name or service not known")

    world.rt.outbound.resolve = resolve
    assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")


def test_an_unreachable_source_is_502(make: Callable[..., World], cert: Path) -> None:
    with open_source(cert) as gone:
        url, host = gone.url(), gone.host
    world = make(import_hosts=(host,), ca_bundle=cert)
    world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
    assert_import_refused(world, post_import(world.pia, url), 502, "bad_gateway")


# --- content ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Please sign in</html>", b"x" * 1020 + b"%PDF-1.7", DOCX, POWERPOINT, gzip.compress(PDF), PDF[5:]],
    ids=["empty", "html", "late mark", "docx", "ppt", "gzip", "headless"],
)  # fmt: skip
def test_content_that_is_not_a_pdf_is_400(world: World, source: ImportSource, body: bytes) -> None:
    """Office documents are not converted by an import."""
    source.respond = http_response(body, "200 OK", "Content-Type: application/pdf")
    problem = assert_import_refused(world, post_import(world.pia, source.url()), 400, "bad_request")
    assert problem["detail"] == "The source is not a PDF."


def test_content_that_is_not_a_pdf_is_not_fetched_completely(world: World, source: ImportSource) -> None:
    source.respond = endless_response(b"HTTP/1.1 200 OK\r\n\r\n", b"<html>" * 10_000)
    assert_import_refused(world, post_import(world.fay, source.url()), 400, "bad_request")


def test_a_broken_pdf_is_400(world: World, source: ImportSource) -> None:
    """It is 422 only for uploads and replacements."""
    source.respond = http_response(b"%PDF-1.7 and nothing else")
    assert_import_refused(world, post_import(world.pia, source.url()), 400, "bad_request")


# --- palette ---------------------------------------------------------------------------------------------------------


def test_an_import_returns_the_palette_of_the_first_page(
    world: World, source: ImportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``palette`` is a list of ``#rrggbb`` strings, dominant color first."""
    monkeypatch.setattr("docshare.server.pdf.engine.PALETTE_BUDGET_S", 30.0)  # enough on a busy machine
    source.respond = http_response(picture_pdf([make_stripes((RED, 30), (BLUE, 70))], [300]))
    # Import twice: a worker is replaced after every 500 documents, and the document has no palette then.
    made = max((post_import(world.pia, source.url()).get_json() for _ in range(2)), key=len)
    assert list(made) == ["uuid", "shortId", "shareUrl", "palette"]
    assert made["palette"] == ["#143cdc", "#c81e28"]


def test_a_palette_that_takes_too_long_is_omitted(
    world: World, source: ImportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The palette never delays or fails the import."""
    monkeypatch.setattr("docshare.server.pdf.engine.PALETTE_BUDGET_S", 0.0)
    source.respond = http_response(picture_pdf([make_stripes((RED, 30))], [300]))
    result = post_import(world.pia, source.url())
    assert result.status_code == 200
    assert "palette" not in result.get_json()
