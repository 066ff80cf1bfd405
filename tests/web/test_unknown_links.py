"""A shared budget of unknown links for every route that responds differently to known and unknown links."""

import itertools
import uuid
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.server.services.links import links
from tests.support.engines.database import sqlite_only
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World

LINK_ROUTES = {
    ("GET", "/<name>"): "",
    ("GET", "/embed/<name>"): "",
    ("GET", "/<name>/enter"): "",
    ("POST", "/<name>/enter"): "",
    ("GET", "/embed/<name>/enter"): "",
    ("POST", "/embed/<name>/enter"): "",
    ("GET", "/<name>/pages/<page>-<width>.jpg"): "/<name>/pages/1-800.jpg?v=1",
    ("GET", "/<name>/tiles/<page>/<grid>/<column>-<row>.jpg"): "/<name>/tiles/1/400/0-0.jpg?v=1",
    ("GET", "/<name>/text/<page>.json"): "/<name>/text/1.json?v=1",
    ("GET", "/<name>/outline.json"): "/<name>/outline.json?v=1",
    ("GET", "/<name>/search"): "/<name>/search?v=1&q=x",
    ("GET", "/<name>/style.css"): "",
    ("GET", "/<name>/assets/<asset_id>"): "/<name>/assets/none",
    ("GET", "/<name>/logo"): "",
    ("POST", "/<name>/download"): "",
    ("POST", "/<name>/beacon"): "",
    ("POST", "/<name>/visit"): "",
    ("GET", "/<name>/feedback"): "",
    ("POST", "/<name>/notes"): "",
    ("DELETE", "/<name>/notes/<uuid>"): "/<name>/notes/none",
    ("PUT", "/<name>/marks/<page>"): "/<name>/marks/1",
    ("POST", "/<name>/annotations"): "",
    ("DELETE", "/<name>/annotations/<uuid>"): "/<name>/annotations/none",
    ("POST", "/<name>/receipt"): "",
    ("POST", "/<name>/taps"): "",
    ("GET", "/api/files/<uuid>/metadata"): "/api/files/<name>/metadata",
    ("GET", "/api/files/<uuid>/qr-code"): "/api/files/<name>/qr-code",
    ("GET", "/oembed"): "/oembed?url=http://127.0.0.1:8787/<name>",
}
"""Every public route: its rule, and the requested path if it differs from the rule."""
OWNER_PREFIXES = (
    "/api/v1/",
    "/api/account/",
    "/api/webhooks/",
    "/account/",
    "/files/",
    "/trash/",
    "/webhooks/",
    "/readership/",
)
# These contain no link name, but a fingerprint or a secret of at least 160 bits.
UNLINKED_PREFIXES = ("/static/", "/login/", "/notices/", "/docs/")
# Without the token of an opened page, the link is not looked up.
TOKEN_ROUTES = (("POST", "/<name>/beacon"), ("POST", "/<name>/visit"))


def request_link(world: World, route: tuple[str, str], name: str, *, method: str | None = None) -> TestResponse:
    path = (LINK_ROUTES[route] or route[1]).replace("<name>", name)
    return world.http.open(
        path,
        method=method or route[0],
        data="{}" if route in TOKEN_ROUTES else None,
        content_type="application/json" if route in TOKEN_ROUTES else None,
        environ_overrides={"REMOTE_ADDR": "198.51.100.4"},
        buffered=True,
    )


def spend_budget(world: World, routes: list[tuple[str, str]]) -> None:
    """Request 60 unknown links at ``routes`` in turn."""
    turns = itertools.cycle(routes)
    for _ in range(60):
        route = next(turns)
        assert request_link(world, route, str(uuid.uuid4())).status_code == 404, route


def get_comparable_response(answer: TestResponse) -> Any:
    headers = {name: value for name, value in answer.headers if name not in ("X-Request-Id", "Set-Cookie", "RateLimit")}
    return answer.status_code, {key: value for key, value in headers.items() if "RateLimit" not in key}, answer.data


def test_the_table_contains_every_public_link_route(world: World) -> None:
    found = {
        (method, rule.rule)
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.arguments and not rule.rule.startswith((*OWNER_PREFIXES, *UNLINKED_PREFIXES))
    }
    assert found | {("GET", "/oembed")} == set(LINK_ROUTES)


@pytest.mark.parametrize("route", [route for route in LINK_ROUTES if route not in TOKEN_ROUTES], ids=" ".join)
def test_unknown_links_are_counted_at_every_route(world: World, route: tuple[str, str]) -> None:
    spend_budget(world, [route])
    assert request_link(world, route, str(uuid.uuid4())).status_code == 429
    assert request_link(world, ("GET", "/<name>"), str(uuid.uuid4())).status_code == 429


def test_after_the_budget_is_exhausted_no_route_reveals_anything(world: World) -> None:
    """Each route responds identically to known, unknown, revoked, expired, frozen, trashed and gated links."""
    files = [world.pia.upload() for _ in range(5)]
    live, expired, frozen, trashed, gated = (row["shortId"] for row in files)
    update_file_row(world, files[1]["uuid"], delete_at=world.clock.now)
    update_file_row(world, files[2]["uuid"], frozen_at=world.clock.now)
    update_file_row(world, files[3]["uuid"], trashed_at=world.clock.now, purge_at=world.clock.now + 10**9)
    put_settings(world, files[4], password="x")
    put_settings(world, files[0], slug="the-plan")
    variant, revoked = (world.pia.post(f"/api/v1/files/{live}/variants").get_json() for _ in range(2))
    world.pia.put(f"/api/v1/files/{live}/variants/{revoked['uuid']}", json={"revoked": True})
    names = [live, live.swapcase(), files[0]["uuid"], files[0]["uuid"].upper(), variant["shortId"], variant["uuid"]]
    names += ["the-plan", revoked["shortId"], expired, frozen, trashed, gated, "0" * 12, str(uuid.uuid4()), "no-such"]
    # Only reads: writes also count for the feedback of this address, whose limit must not be reached within a route.
    spend_budget(world, [route for route in LINK_ROUTES if route[0] == "GET"])
    for route in LINK_ROUTES:
        for method in {route[0], "HEAD" if route[0] == "GET" else route[0]}:
            answers = {repr(get_comparable_response(request_link(world, route, name, method=method))) for name in names}
            assert len(answers) == 1, route
            assert answers.pop().startswith("(429,"), route


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "OPTIONS", "DELETE"])
@pytest.mark.parametrize("shape", ["/{}", "/{}/", "/embed/{}/", "/api/files/{}/metadata", "/api/files/{}/metadata/"])
def test_other_methods_and_trailing_slashes_reveal_nothing_about_a_link(world: World, method: str, shape: str) -> None:
    live = world.pia.upload()["shortId"]
    known, unknown = (
        get_comparable_response(world.http.open(shape.format(name), method=method)) for name in (live, "0" * 12)
    )
    assert known == unknown


def test_the_budget_is_per_address_and_recovers(world: World) -> None:
    live = world.pia.upload()["shortId"]
    spend_budget(world, [("GET", "/api/files/<uuid>/metadata"), ("GET", "/api/files/<uuid>/qr-code")])
    assert request_link(world, ("GET", "/<name>"), live).status_code == 429
    elsewhere = {"REMOTE_ADDR": "198.51.100.9"}
    assert world.http.get(f"/{live}", environ_overrides=elsewhere).status_code == 200
    world.clock.advance(seconds=61)
    assert request_link(world, ("GET", "/<name>"), live).status_code == 200


def list_cached_links(world: World) -> list[str]:
    return [key[1] for key in world.rt.db._cached if isinstance(key, tuple) and key[0] == "link"]


@sqlite_only
def test_a_name_that_no_link_can_have_is_not_cached(world: World) -> None:
    """Anybody could fill the cache with such names."""
    assert [world.http.get(f"/{'a' * length}").status_code for length in (64, 65)] == [404, 404]
    assert list_cached_links(world) == ["a" * 64]


@sqlite_only
def test_all_spellings_of_a_uuid_are_cached_once(world: World) -> None:
    made = world.pia.upload()["uuid"]
    assert [world.http.get(f"/{name}").status_code for name in (made, made.upper(), made.title())] == [200] * 3
    assert list_cached_links(world) == [made]


@sqlite_only
def test_the_settings_that_a_request_reads_are_not_cached(world: World) -> None:
    """Those of a thousand links can take much memory."""
    made = world.pia.upload()
    put_settings(world, made, viewerMode="swipe")
    found = [links.resolve(world.rt, made["uuid"]) for _ in range(2)]
    first, second = (link.settings for link in found if link)
    assert first["viewerMode"] == "swipe"
    assert first == second
    assert first is not second
