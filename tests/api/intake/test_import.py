"""Imports through the API from a real HTTPS host with a self-signed certificate."""

import io
import ipaddress
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from docshare.server.store.blobs import FolderStore
from tests.api.intake.imports import assert_import_refused, post_import
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows
from tests.support.outside.import_source import ImportSource, endless_response, http_response, open_source, raw_response
from tests.support.people.cast import World
from tests.support.polling import wait_until

MB = 1024 * 1024
PDF = simple_pdf(pages=2)


@pytest.fixture
def world(import_world: World) -> World:
    return import_world


# --- success ---------------------------------------------------------------------------------------------------------


def test_an_import_returns_the_link(world: World, source: ImportSource) -> None:
    """``palette`` is omitted for a document without images."""
    result = post_import(world.pia, source.url())
    assert result.status_code == 200
    made = result.get_json()
    assert list(made) == ["uuid", "shortId", "shareUrl"]
    assert made["shareUrl"] == f"http://127.0.0.1:8787/{made['shortId']}"


def test_the_pdf_of_the_source_is_stored_unchanged(world: World, source: ImportSource) -> None:
    made = post_import(world.pia, source.url()).get_json()
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data == PDF
    detail = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert (detail["originalName"], detail["totalPages"], detail["size"]) == ("design.pdf", 2, len(PDF))
    assert (detail["contentVersion"], len(detail["revisions"])) == (1, 1)
    assert list(world.rt.blobs.tmp.iterdir()) == []


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Q3 Überblick.pdf", "Q3 Überblick.pdf"),
        ("C:\\designs\\deck.pdf", "deck.pdf"),
        ("../../etc/passwd", "passwd"),
        ("", "design.pdf"),
        ("..", "design.pdf"),
        ("\u202e\x00\n", "design.pdf"),
        ("x" * 400 + ".pdf", "x" * 251 + ".pdf"),
    ],
)
def test_the_file_name_is_sanitized_and_defaults_to_design_pdf(
    world: World, source: ImportSource, sent: str, kept: str
) -> None:
    """A name that is empty after sanitizing gets the default, too."""
    body = {"url": source.url(), "filename": sent}
    result = world.pia.post("/api/v1/files/import", json=body)
    if "\x00" in sent:  # NUL is rejected in JSON
        assert_import_refused(world, result, 400, "bad_request")
        return
    detail = world.pia.get(f"/api/v1/files/{result.get_json()['uuid']}").get_json()
    assert detail["originalName"] == kept


def test_unverifiable_design_tokens_are_ignored(world: World, source: ImportSource) -> None:
    """The import creates a new file with 200; it is not 401."""
    tokens = {"designToolUserToken": "eyJhbGciOiJub25lIn0.e30.", "designToken": "nonsense"}
    first, second = (post_import(world.pia, source.url(), **tokens).get_json() for _ in range(2))
    assert first["uuid"] != second["uuid"]
    assert "republished" not in first
    assert count_rows(world, "files") == 2


def test_unknown_keys_are_ignored(world: World, source: ImportSource) -> None:
    assert post_import(world.pia, source.url(), tint="red").status_code == 200


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"])
def test_length_and_type_headers_of_the_source_are_ignored(world: World, source: ImportSource, head: bytes) -> None:
    source.respond = raw_response(head + PDF)
    made = post_import(world.pia, source.url()).get_json()
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data == PDF


def test_the_source_does_not_receive_credentials(world: World, source: ImportSource) -> None:
    post_import(world.pia, source.url("/export?token=a%20b"))
    head = source.request_heads[0].decode()
    assert head.startswith("GET /export?token=a%20b HTTP/1.1\r\n")
    assert "uthorization" not in head
    assert "ookie" not in head


# --- the body --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"filename": "a.pdf"},
        *({"url": url} for url in (
            None, 1, True, [], {}, "", "files.example", "http://{host}/a.pdf", "ftp://{host}/a.pdf", "file:///etc/passwd",
            "https://", "https:///a.pdf", "https://{host} /", "https://me@{host}/", "https://me:pw@{host}/",
            "https://evil.example\\@{host}/", "https://{host}\\.evil.example/", "https://\u0192iles.example/",
            "https://{host}/\u00e9", "https://{host}/a b", "https://{host}/\t", "https://{name}:0/", "https://{name}:99999/",
            "https://[::zz]/", "https://[:::]/", "https://{host}/" + "a" * 8192, "//{host}/a.pdf", " https://{host}/",
        )),
        *({"url": "https://{host}/a.pdf", key: value}
          for key in ("filename", "designToolUserToken", "designToken") for value in (1, True, None, [], {})),
    ],
)  # fmt: skip
def test_a_malformed_import_request_is_400(world: World, source: ImportSource, body: dict[str, Any]) -> None:
    """URLs without HTTPS, malformed URLs and values of the wrong type are rejected before any request."""
    if isinstance(body.get("url"), str):
        body = {**body, "url": body["url"].replace("{host}", source.host).replace("{name}", "files.example")}
    assert_import_refused(world, world.pia.post("/api/v1/files/import", json=body), 400, "bad_request")
    assert source.connections == 0


@pytest.mark.parametrize("raw_body", [b"[]", b'"x"', b"{", b'{"url": NaN}', b'{"url": "a", "url": "b"}', b"\xff", b"1"])
def test_a_body_that_is_not_a_json_object_is_400(world: World, raw_body: bytes) -> None:
    result = world.pia.post("/api/v1/files/import", data=raw_body, content_type="application/json")
    assert_import_refused(world, result, 400, "bad_request")


def test_a_form_is_415(world: World) -> None:
    form = {"file": (io.BytesIO(PDF), "a.pdf")}
    assert_import_refused(world, world.pia.post("/api/v1/files/import", data=form), 415, "unsupported_media_type")


# --- the allow list --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/", "https://{name}/", "https://{name}:443/", "https://{name}:1/", "https://{name}.:{port}/",
        "https://{name}.evil.example:{port}/", "https://evil{name}:{port}/", "https://sub.{name}:{port}/",
        "https://evil.example/{name}:{port}", "https://evil.example?{name}:{port}", "https://evil.example#@{name}:{port}/",
        "https://evil.example:{port}/@{name}/", "https://127.0.0.1:{port}/", "https://127.1:{port}/",
        "https://2130706433:{port}/", "https://0x7f000001:{port}/", "https://[::1]:{port}/", "https://localhost:{port}/",
        "https://[::ffff:127.0.0.1]:{port}/", "https://169.254.169.254/latest/meta-data/", "https://plain.example:8443/",
        "https://example/", "https://xn--fles-epa.example:{port}/", "https://files-example:{port}/",
        "https://files_example:{port}/", "https://filesxexample:{port}/",
    ],
)  # fmt: skip
def test_a_host_that_is_not_listed_is_403_and_not_fetched(world: World, source: ImportSource, url: str) -> None:
    """Host and port must match an entry exactly; the port of an entry defaults to 443."""
    url = url.replace("{name}", "files.example").replace("{port}", str(source.port))
    problem = assert_import_refused(world, post_import(world.pia, url), 403, "forbidden")
    assert "requires the" not in problem["detail"]
    assert source.connections == 0


def test_every_host_is_403_without_an_allow_list(make: Callable[..., World], source: ImportSource) -> None:
    assert_import_refused(alone := make(), post_import(alone.pia, source.url()), 403, "forbidden")


@pytest.mark.parametrize("form", ["https://FILES.example:{port}/", "HTTPS://files.Example:{port}"])
def test_host_names_are_case_insensitive(world: World, source: ImportSource, form: str) -> None:
    assert post_import(world.pia, form.replace("{port}", str(source.port))).status_code == 200


@pytest.mark.parametrize("url", ["https://plain.example/a.pdf", "https://plain.example:443/a.pdf"])
def test_an_entry_without_a_port_allows_port_443(world: World, url: str) -> None:
    """The URL is allowed and then fails, because the host does not resolve."""
    world.rt.outbound.resolve = lambda host: []
    assert_import_refused(world, post_import(world.pia, url), 502, "bad_gateway")


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "0.0.0.0", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254"]
)
def test_an_allowed_host_that_resolves_to_a_metadata_service_is_502(
    world: World, source: ImportSource, address: str
) -> None:
    """An allowed host may have a private address, but not a link-local one."""
    world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address(address)]
    problem = assert_import_refused(world, post_import(world.pia, source.url()), 502, "bad_gateway")
    assert address not in problem["detail"]
    assert source.connections == 0


def test_the_host_is_resolved_only_once(world: World, source: ImportSource) -> None:
    """The server connects to the address that it has checked, which prevents DNS rebinding."""
    looked_up = []

    def resolve(host: str) -> list[Any]:
        looked_up.append(host)
        return [ipaddress.ip_address("127.0.0.1" if len(looked_up) == 1 else "169.254.169.254")]

    world.rt.outbound.resolve = resolve
    assert post_import(world.pia, source.url()).status_code == 200
    assert looked_up == ["files.example"]


# --- limits ----------------------------------------------------------------------------------------------------------


def test_an_account_at_its_file_limit_is_403_without_a_fetch(world: World, source: ImportSource) -> None:
    """The code is ``forbidden``, not ``plan_required``."""
    for _ in range(3):
        assert post_import(world.fay, source.url()).status_code == 200
    result = post_import(world.fay, source.url())
    assert (result.status_code, result.get_json()["code"]) == (403, "forbidden")
    assert "requires the" not in result.get_json()["detail"]
    assert source.connections == 3


def test_a_file_of_exactly_the_limit_is_imported_and_one_more_byte_is_413(world: World, source: ImportSource) -> None:
    exactly = PDF + b"\n" * (20 * MB - len(PDF))
    source.respond = http_response(exactly + b"\n")
    assert_import_refused(world, post_import(world.fay, source.url()), 413, "payload_too_large")
    assert post_import(world.bea, source.url()).status_code == 200
    source.respond = http_response(exactly)
    assert post_import(world.fay, source.url()).status_code == 200


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    ],
)
def test_an_endless_body_is_413_while_it_is_streamed(world: World, source: ImportSource, head: bytes) -> None:
    """The server closes the connection at the limit and stores nothing."""
    source.respond = endless_response(head + PDF, b"\n" * 65536)
    assert_import_refused(world, post_import(world.fay, source.url()), 413, "payload_too_large")


def test_a_nearly_full_disk_is_503_before_the_fetch(world: World, source: ImportSource, monkeypatch: Any) -> None:
    monkeypatch.setattr(FolderStore, "free_bytes", lambda self: 1024 * MB - 1)
    result = post_import(world.pia, source.url())
    assert_import_refused(world, result, 503, "unavailable")
    assert int(result.headers["Retry-After"]) > 0
    assert source.connections == 0


def test_a_disk_that_fills_up_during_the_import_is_503(world: World, source: ImportSource, monkeypatch: Any) -> None:
    def fail(self: Any, block: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("docshare.server.store.blobs.PartialFile.write", fail)
    assert_import_refused(world, post_import(world.pia, source.url()), 503, "unavailable")


def test_slow_sources_of_one_account_do_not_block_other_accounts(
    make: Callable[..., World], cert: Path, source: ImportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One account holds at most half of the slots, which are half of the threads; above that, imports are 429."""
    monkeypatch.setattr("docshare.server.services.files.imports._SLOT_WAIT_S", 30.0)
    over = threading.Event()
    with open_source(cert) as slow, ThreadPoolExecutor(4) as pool:
        slow.respond = lambda sock: http_response(PDF)(sock) if over.wait(30) else None
        world = make(import_hosts=(source.host, slow.host), ca_bundle=cert)
        world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
        body = {"url": slow.url()}
        held = [
            pool.submit(world.app.test_client().post, "/api/v1/files/import", json=body, headers=world.mal.headers)
            for _ in range(4)
        ]
        wait_until(lambda: len(slow.request_heads) == len(world.rt.outbound.transfer_slots._queue) == 2)
        refused = post_import(world.mal, source.url())
        assert (refused.status_code, refused.get_json()["code"]) == (429, "rate_limited")
        assert refused.headers["Retry-After"] == "10"
        assert post_import(world.pia, source.url()).status_code == 200
        over.set()
        assert [future.result().status_code for future in held] == [200] * 4
