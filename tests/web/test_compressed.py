"""Which responses are compressed, and that no other response is."""

import gzip
import re
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.scopes import OPERATIONS, Lane
from docshare.server.api import files
from docshare.server.web import assets
from tests.api.raw_client import open_listener
from tests.support.documents.outlines import add_outline
from tests.support.documents.pdfs import dense_text_pdf
from tests.support.engines.rows import insert_gate_response, insert_view
from tests.support.outside.oauth_app import make_app
from tests.support.owner.browser import put_settings
from tests.support.people.cast import Person, World
from tests.web.test_every_route import list_paths

GZIP = {"Accept-Encoding": "gzip, deflate, br"}
FILE = "/api/v1/files/<uuid>"
FIXED = {
    "/api/v1", "/api/v1/openapi.json", "/static/<mark>/<path:name>",
    "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource", "/docs/", "/docs/<path:path>",
}  # fmt: skip
"""Documents that are the same for everybody."""
LISTS = {
    "/api/v1/files", FILE, f"{FILE}/variants", f"{FILE}/readership/pages", "/api/v1/webhooks/<uuid>/deliveries",
    "/api/v1/events",
}  # fmt: skip
"""Lists for API keys and access tokens, without any text that a reader wrote."""
SAME_FOR_ALL = {"/<name>", "/embed/<name>", "/<name>/text/<page>.json", "/<name>/outline.json"}
"""The viewer of links without conditions, for requests without a cookie."""


def upload_many(person: Person, files: int = 8) -> dict[str, Any]:
    made = [person.upload(name=f"Quarterly report, part {number}.pdf") for number in range(files)]
    return made[0]


def decompress_response(answer: TestResponse) -> bytes:
    assert answer.headers["Content-Encoding"] == "gzip"
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    return gzip.decompress(answer.data)


def test_a_list_is_identical_with_and_without_compression(world: World) -> None:
    upload_many(world.pia)
    plain = world.pia.get("/api/v1/files")
    assert "Content-Encoding" not in plain.headers
    packed = world.pia.get("/api/v1/files", headers=GZIP)
    assert decompress_response(packed) == plain.data
    assert len(packed.data) < len(plain.data) / 3
    for answer in (plain, packed):
        assert answer.headers["Vary"] == "Authorization, Cookie, Accept-Encoding"
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert answer.content_type == "application/json"


def test_a_list_spooled_to_a_file_is_compressed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    upload_many(world.pia)
    monkeypatch.setattr(files, "_MAX_BUFFERED_BYTES", 100)
    plain = world.pia.get("/api/v1/files", buffered=True)
    assert decompress_response(world.pia.get("/api/v1/files", headers=GZIP, buffered=True)) == plain.data
    assert int(plain.headers["Content-Length"]) == len(plain.data)
    with open_listener(world) as listener:
        reply = listener.request("GET", "/api/v1/files", {**world.pia.headers, **GZIP})
        assert gzip.decompress(reply.body) == plain.data


def test_short_responses_and_errors_are_not_compressed(world: World) -> None:
    for answer in (
        world.pia.get("/api/v1/files", headers=GZIP),
        world.pia.get("/api/v1/files/unknown", headers=GZIP),
        world.pia.get("/api/v1/events?type=" + "x" * 3_000, headers=GZIP),
    ):
        assert "Content-Encoding" not in answer.headers
        assert answer.headers["Vary"].startswith("Authorization, Cookie")


def test_responses_with_text_of_readers_are_never_compressed(world: World) -> None:
    """A reader who can observe the length of the owner's responses could find out who else has read the file."""
    made = upload_many(world.pia, 1)
    for number in range(30):
        insert_gate_response(
            world, made["uuid"], {"email": f"reader{number}@corp.example", "company": "Example Corporation"}
        )
        insert_view(world, made["uuid"])
    for path in ("/api/v1/events?type=gate", "/api/v1/gate-responses", f"/api/v1/files/{made['uuid']}/readership"):
        answer = world.pia.get(path, headers=GZIP)
        assert len(answer.data) > 2_000
        assert "Content-Encoding" not in answer.headers
    assert decompress_response(world.pia.get("/api/v1/events?type=view", headers=GZIP)).count(b'"type":"view"') == 30


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/openapi.json", "script", "/.well-known/oauth-protected-resource"])
def test_a_fixed_document_is_revalidated_with_304(world: World, path: str) -> None:
    address = assets.asset_url("viewer/main.js") if path == "script" else path
    plain, packed = world.http.get(address), world.http.get(address, headers=GZIP)
    if len(plain.data) >= 1024:
        assert decompress_response(packed) == plain.data
        assert plain.headers["ETag"] != packed.headers["ETag"]
    for answer, more in ((plain, {}), (packed, GZIP)):
        tag = answer.headers["ETag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = world.http.get(address, headers={**more, "If-None-Match": known})
            assert (again.status_code, again.data) == (304, b"")
            for name in ("ETag", "Cache-Control", "Vary"):
                assert again.headers.get(name) == answer.headers.get(name)
        assert world.http.get(address, headers={**more, "If-None-Match": '"other"'}).data == answer.data
        head = world.http.head(address, headers=more)
        assert head.headers["Content-Length"] == str(len(answer.data))


def test_a_font_is_not_compressed_again(world: World) -> None:
    answer = world.http.get(assets.asset_url("fonts/inter-latin.woff2"), headers=GZIP)
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer.headers


def test_every_static_file_is_served_completely(world: World) -> None:
    for name, content in assets._FILES.items():
        packed, plain = world.http.get(assets.asset_url(name), headers=GZIP), world.http.get(assets.asset_url(name))
        assert plain.data == content
        data = decompress_response(packed) if "Content-Encoding" in packed.headers else packed.data
        assert data == plain.data


def test_compressed_routes_accept_no_cookie_and_change_nothing() -> None:
    """Another site can send requests with a cookie, and the response to a write can contain a credential."""
    rows = [
        row for row in OPERATIONS.values() if re.sub(r"{(\w+)}", r"<\1>", row.path) in LISTS and row.method == "GET"
    ]
    assert len(rows) == len(LISTS)
    for row in rows:
        assert Lane.SESSION not in row.lanes
        assert row.scope


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_other_route_compresses_its_response(make: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other pages, images, documents and responses with a credential are not compressed at any length."""
    monkeypatch.setattr("docshare.server.http.compression.MIN_BYTES", 1)
    world = make(rate_limit=1_000_000, address_limit=1_000_000)
    app = make_app(world)
    routes = world.app.url_map.bind("127.0.0.1")
    found = set()
    for path in list_paths(world):
        for http, headers in ((world.http, {}), (world.http, world.pia.headers), (app.owner, {})):
            answer = http.open(path, method=method, headers={**headers, **GZIP}, buffered=True)
            if "Content-Encoding" in answer.headers:
                rule, _ = routes.match(path.partition("?")[0], method=method, return_rule=True)
                found.add(rule.rule)
                assert "Accept-Encoding" in answer.headers["Vary"]
    assert found <= FIXED | LISTS | SAME_FOR_ALL
    assert bool(found) == (method == "GET")


def test_the_viewer_is_compressed_only_where_it_is_the_same_for_everybody(world: World) -> None:
    rows = [(0, 1 + number % 60, f"Section {number}") for number in range(200)]
    made = world.pia.upload(add_outline(dense_text_pdf(60, seed=1), rows))
    paths = [f"/{made['shortId']}", f"/embed/{made['shortId']}", f"/{made['shortId']}/text/1.json?v=1"]
    paths += [f"/{made['shortId']}/outline.json?v=1"]
    for path in paths:
        plain = world.http.get(path, buffered=True)
        packed = world.http.get(path, headers=GZIP, buffered=True)
        token = re.compile(rb'"token": ?"[^"]+"')  # different for each load
        assert token.sub(b"", decompress_response(packed)) == token.sub(b"", plain.data)
        assert len(packed.data) < len(plain.data) / 2
        for answer in (plain, packed):
            assert answer.headers["Vary"] == "Authorization, Cookie, Accept-Encoding"
        returning = world.app.test_client()
        returning.set_cookie("viewer-cookies", "1")
        assert "Content-Encoding" not in returning.get(path, headers=GZIP, buffered=True).headers
    text = world.http.get(paths[2], headers=GZIP, buffered=True)
    tags = {text.headers["ETag"], world.http.get(paths[2], buffered=True).headers["ETag"]}
    assert len(tags) == 2
    again = world.http.get(paths[2], headers=GZIP | {"If-None-Match": text.headers["ETag"]}, buffered=True)
    assert (again.status_code, again.data) == (304, b"")
    for settings in ({"password": "secret"}, {"password": "", "requireEmail": True}):
        put_settings(world, made, **settings)
        assert "Content-Encoding" not in world.http.get(paths[0], headers=GZIP).headers


def test_every_compressed_list_names_accept_encoding_in_vary(world: World) -> None:
    made = upload_many(world.pia, 1)
    hook = world.pia.post("/api/v1/webhooks", json={"url": "https://93.184.216.34/in", "events": ["file.viewed"]})
    for rule in LISTS:
        name = hook.get_json()["webhook"]["uuid"] if "webhooks" in rule else made["uuid"]
        answer = world.pia.get(rule.replace("<uuid>", name))
        assert answer.status_code == 200, rule
        assert answer.headers["Vary"] == "Authorization, Cookie, Accept-Encoding"
