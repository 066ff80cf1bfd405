"""An instance for schemathesis to play on: everything that an operator can switch on is on, limits are out of the way,
and accounts of all three plans have files that were read, variants, invitations and webhooks."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.contract.limits import RatePolicy
from docshare.server.http.rate_limits import Allowance, Limits
from tests.support.cast import Person, World
from tests.support.designing import Studio, studio_at
from tests.support.owner import signed_in
from tests.support.pressing import token_in
from tests.support.reader import Reader, everybody_leaves
from tests.support.receivers import ALLOWED
from tests.support.rows import add_download
from tests.support.timed import listening

PLANS = {"free": "fay", "basic": "bea", "pro": "pia"}
AMPLE = 1_000_000  # requests in any window
LONG = 10**10  # seconds since 1970, when a token of the design tool ends


@dataclass(frozen=True)
class Part:
    """What one plan's account brings along: its credentials as environment variables, and by kind what it knows: ids,
    addresses and tokens that no generator would hit upon."""

    environ: dict[str, str]
    known: dict[str, list[str]]


@dataclass(frozen=True)
class Stage:
    """``url`` where the instance listens; ``parts`` by plan."""

    url: str
    parts: dict[str, Part]


@contextmanager
def stage_at(cert: Path, make: Callable[..., World]) -> Iterator[Stage]:
    """A running instance; ``cert`` vouches for the hosts around it."""
    settings: dict[str, Any] = {"anonymous_uploads": True, "webhook_allow": ALLOWED}
    with studio_at(cert, make, rate_limit=AMPLE, address_limit=AMPLE, design_rate=AMPLE, **settings) as studio:
        world = studio.world
        _lift(world.rt.limits)
        world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
        parts = {plan: _part(studio, getattr(world, name)) for plan, name in PLANS.items()}
        with listening(world) as url:
            yield Stage(url, parts)


def _lift(limits: Limits) -> None:
    """Let the policies that no setting raises be as ample as the others."""
    hit, look = limits.hit, limits.look

    def counted(policy: RatePolicy, key: str, limit: int) -> Allowance:
        return hit(policy, key, AMPLE)

    def looked(policy: RatePolicy, key: str, limit: int) -> Allowance:
        return look(policy, key, AMPLE)

    limits.hit, limits.look = counted, looked  # type: ignore[method-assign]


def _part(studio: Studio, person: Person) -> Part:
    world = studio.world
    browser = signed_in(world, person)
    cookie = browser.get_cookie("docshare_session")
    assert cookie is not None
    environ = {
        "FUZZ_KEY": person.key,
        "FUZZ_DESIGN_USER": studio.user(exp=LONG),
        "FUZZ_SESSION": cookie.value,
        "FUZZ_CSRF": token_in(browser.get("/login").text),
    }
    made = person.upload()
    hook = _made(person, "/api/v1/webhooks", {"url": "https://127.0.0.1:9/in", "events": ["file.viewed"]}, 201)
    known = {
        "file": [made["uuid"], made["shortId"]],
        "webhook": [hook["webhook"]["uuid"]],
        "export": [studio.source.url()],
        "user": [environ["FUZZ_DESIGN_USER"]],
        "design": [studio.design(exp=LONG)],
        "key": [person.key],
    }
    if person is world.pia:
        known["variant"] = [_made(person, f"/api/v1/files/{made['uuid']}/variants", {"label": "Ada"}, 201)["uuid"]]
        _made(person, f"/api/v1/files/{made['uuid']}/invites", {"email": "ada@example.org"}, 201)
    reader = Reader(world, made["shortId"])
    reader.reads(20, page=1, input=True)
    reader.reads(20, page=2, turns=1)
    everybody_leaves(world)
    add_download(world, made["uuid"])
    known["session"] = [row[0] for row in world.rt.db.rows("SELECT uuid FROM view_sessions ORDER BY id DESC LIMIT 1")]
    return Part(environ, known)


def _made(person: Person, path: str, body: dict[str, Any], status: int) -> dict[str, Any]:
    answer = person.post(path, json=body)
    assert answer.status_code == status, answer.text
    made: dict[str, Any] = answer.get_json()
    return made
