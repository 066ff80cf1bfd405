"""An instance for Schemathesis: all optional features are on, rate limits are high, and accounts of all three plans
have files with views, variants, invitations and webhooks."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.contract.limits import RatePolicy
from docshare.server.rate_limits import Allowance, RateLimiter
from tests.support.engines.rows import insert_download
from tests.support.outside.design_tool import DesignTool, open_design_tool
from tests.support.outside.receivers import LOOPBACK_NETWORKS
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import find_csrf_token
from tests.support.people.cast import Person, World
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.support.servers.in_process_server import serve_world

PLANS = {"free": "fay", "basic": "bea", "pro": "pia"}
AMPLE_LIMIT = 1_000_000  # requests in any window
FAR_FUTURE_S = 10**10  # seconds since 1970, when a token of the design tool expires


@dataclass(frozen=True)
class FuzzAccount:
    """The account of one plan. ``environ``: environment variables with its credentials; ``known_values``: by kind, ids,
    URLs and tokens that a generator would not find."""

    environ: dict[str, str]
    known_values: dict[str, list[str]]


@dataclass(frozen=True)
class FuzzInstance:
    """``url``: its base URL; ``accounts``: by plan."""

    url: str
    accounts: dict[str, FuzzAccount]


@contextmanager
def open_fuzz_instance(cert: Path, make: Callable[..., World]) -> Iterator[FuzzInstance]:
    """Yield a running instance; ``cert``: certificate and key of the hosts that it calls."""
    settings: dict[str, Any] = {"anonymous_uploads": True, "webhook_allow": LOOPBACK_NETWORKS}
    with open_design_tool(
        cert, make, rate_limit=AMPLE_LIMIT, address_limit=AMPLE_LIMIT, design_rate=AMPLE_LIMIT, **settings
    ) as studio:
        world = studio.world
        _raise_limits(world.rt.limits)
        world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
        parts = {plan: _create_fuzz_account(studio, getattr(world, name)) for plan, name in PLANS.items()}
        with serve_world(world) as url:
            yield FuzzInstance(url, parts)


def _raise_limits(limits: RateLimiter) -> None:
    """Raise the rate limits that no setting can raise."""
    hit, look = limits.hit, limits.peek

    def hit_amply(policy: RatePolicy, key: str, limit: int) -> Allowance:
        return hit(policy, key, AMPLE_LIMIT)

    def peek_amply(policy: RatePolicy, key: str, limit: int) -> Allowance:
        return look(policy, key, AMPLE_LIMIT)

    limits.hit, limits.peek = hit_amply, peek_amply  # type: ignore[method-assign]


def _create_fuzz_account(studio: DesignTool, person: Person) -> FuzzAccount:
    world = studio.world
    browser = sign_in_browser(world, person)
    cookie = browser.get_cookie("docshare_session")
    assert cookie is not None
    environ = {
        "FUZZ_KEY": person.key,
        "FUZZ_DESIGN_USER": studio.make_user_token(exp=FAR_FUTURE_S),
        "FUZZ_SESSION": cookie.value,
        "FUZZ_CSRF": find_csrf_token(browser.get("/login").text),
    }
    made = person.upload()
    hook = _create_resource(
        person, "/api/v1/webhooks", {"url": "https://127.0.0.1:9/in", "events": ["file.viewed"]}, 201
    )
    known = {
        "file": [made["uuid"], made["shortId"]],
        "webhook": [hook["webhook"]["uuid"]],
        "export": [studio.source.url()],
        "user": [environ["FUZZ_DESIGN_USER"]],
        "design": [studio.make_design_token(exp=FAR_FUTURE_S)],
        "key": [person.key],
    }
    if person is world.pia:
        known["variant"] = [
            _create_resource(person, f"/api/v1/files/{made['uuid']}/variants", {"label": "Ada"}, 201)["uuid"]
        ]
        _create_resource(person, f"/api/v1/files/{made['uuid']}/invites", {"email": "ada@example.org"}, 201)
    reader = FakeReader(world, made["shortId"])
    reader.read_page(20, page=1, input=True)
    reader.read_page(20, page=2, turns=1)
    end_all_sessions(world)
    insert_download(world, made["uuid"])
    known["session"] = [
        row[0] for row in world.rt.db.fetch_all("SELECT uuid FROM view_sessions ORDER BY id DESC LIMIT 1")
    ]
    return FuzzAccount(environ, known)


def _create_resource(person: Person, path: str, body: dict[str, Any], status: int) -> dict[str, Any]:
    answer = person.post(path, json=body)
    assert answer.status_code == status, answer.text
    made: dict[str, Any] = answer.get_json()
    return made
