"""One budget of unknown links for every door that answers a known link otherwise than an unknown one."""

import itertools
import uuid
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.cast import World
from tests.support.owner import put_settings
from tests.support.rows import update_file_row

LINK_ROUTES = {
    ("GET", "/<name>"): "",
    ("GET", "/embed/<name>"): "",
    ("GET", "/<name>/enter"): "",
    ("POST", "/<name>/enter"): "",
    ("GET", "/embed/<name>/enter"): "",
    ("POST", "/embed/<name>/enter"): "",
    ("GET", "/<name>/pages/<page>-<width>.jpg"): "/<name>/pages/1-800.jpg?v=1",
    ("GET", "/<name>/text/<page>.json"): "/<name>/text/1.json?v=1",
    ("GET", "/<name>/style.css"): "",
    ("GET", "/<name>/assets/<asset_id>"): "/<name>/assets/none",
    ("POST", "/<name>/download"): "",
    ("POST", "/<name>/beacon"): "",
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
"""Every public door: its rule, and the address that is asked where that is not the rule."""
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
# They take no name of a link: a fingerprint, and a secret of 160 bits and more.
UNLINKED_PREFIXES = ("/static/", "/login/", "/notices/")
NEEDS_ITS_TOKEN = ("POST", "/<name>/beacon")  # of a page that was opened: nothing else is looked up there


def request_link(world: World, door: tuple[str, str], name: str, *, method: str | None = None) -> TestResponse:
    path = (LINK_ROUTES[door] or door[1]).replace("<name>", name)
    return world.http.open(
        path,
        method=method or door[0],
        data="{}" if door == NEEDS_ITS_TOKEN else None,
        content_type="application/json" if door == NEEDS_ITS_TOKEN else None,
        environ_overrides={"REMOTE_ADDR": "198.51.100.4"},
        buffered=True,
    )


def spend_budget(world: World, doors: list[tuple[str, str]]) -> None:
    """Try 60 links that do not exist at ``doors`` in turn."""
    turns = itertools.cycle(doors)
    for _ in range(60):
        door = next(turns)
        assert request_link(world, door, str(uuid.uuid4())).status_code == 404, door


def comparable_answer(answer: TestResponse) -> Any:
    headers = {name: value for name, value in answer.headers if name not in ("X-Request-Id", "Set-Cookie", "RateLimit")}
    return answer.status_code, {key: value for key, value in headers.items() if "RateLimit" not in key}, answer.data


def test_the_table_has_every_public_door_to_a_link(world: World) -> None:
    found = {
        (method, rule.rule)
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.arguments and not rule.rule.startswith((*OWNER_PREFIXES, *UNLINKED_PREFIXES))
    }
    assert found | {("GET", "/oembed")} == set(LINK_ROUTES)


@pytest.mark.parametrize("door", [door for door in LINK_ROUTES if door != NEEDS_ITS_TOKEN], ids=" ".join)
def test_unknown_links_count_at_every_door(world: World, door: tuple[str, str]) -> None:
    spend_budget(world, [door])
    assert request_link(world, door, str(uuid.uuid4())).status_code == 429
    assert request_link(world, ("GET", "/<name>"), str(uuid.uuid4())).status_code == 429


def test_who_used_up_the_budget_learns_nothing_at_any_door(world: World) -> None:
    """Known, unknown, revoked, expired, frozen, trashed, gated: each door has one answer for all of them."""
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
    spend_budget(world, [door for door in LINK_ROUTES if door != NEEDS_ITS_TOKEN])
    for door in LINK_ROUTES:
        for method in {door[0], "HEAD" if door[0] == "GET" else door[0]}:
            answers = {repr(comparable_answer(request_link(world, door, name, method=method))) for name in names}
            assert len(answers) == 1, door
            assert answers.pop().startswith("(429,"), door


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "OPTIONS", "DELETE"])
@pytest.mark.parametrize("shape", ["/{}", "/{}/", "/embed/{}/", "/api/files/{}/metadata", "/api/files/{}/metadata/"])
def test_another_method_or_a_slash_more_says_nothing_of_a_link(world: World, method: str, shape: str) -> None:
    live = world.pia.upload()["shortId"]
    known, unknown = (
        comparable_answer(world.http.open(shape.format(name), method=method)) for name in (live, "0" * 12)
    )
    assert known == unknown


def test_the_budget_comes_back_and_is_of_one_address(world: World) -> None:
    live = world.pia.upload()["shortId"]
    spend_budget(world, [("GET", "/api/files/<uuid>/metadata"), ("GET", "/api/files/<uuid>/qr-code")])
    assert request_link(world, ("GET", "/<name>"), live).status_code == 429
    elsewhere = {"REMOTE_ADDR": "198.51.100.9"}
    assert world.http.get(f"/{live}", environ_overrides=elsewhere).status_code == 200
    world.clock.advance(seconds=61)
    assert request_link(world, ("GET", "/<name>"), live).status_code == 200
