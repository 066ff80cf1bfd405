"""Credentials over time: when they end, what they allow, and what is checked again after a long body."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant
from docshare.server.services.accounts import accounts
from docshare.server.services.accounts.callers import authenticate, digest, recheck_caller
from tests.support.outside.oauth_app import make_app
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import World

HOUR_MS = 3_600_000


def get_files(world: World, token: str) -> TestResponse:
    return world.http.get("/api/v1/files", headers={"Authorization": f"Bearer {token}"})


def create_key(world: World, **more: object) -> str:
    answer = world.pia.post("/api/v1/keys", json={"name": "ci", "scopes": ["files:read"], **more})
    assert answer.status_code == 201, answer.text
    return str(answer.get_json()["key"])


def make_ending_key(world: World) -> str:
    return create_key(world, expiresAt=format_instant(world.clock() + HOUR_MS))


def make_access_token(world: World) -> str:
    return str(make_app(world).approve_and_exchange()["access_token"])


@pytest.mark.parametrize("make_token", [make_ending_key, make_access_token])
def test_a_credential_ends_after_its_hour_and_never_works_again(
    world: World, make_token: Callable[[World], str]
) -> None:
    token = make_token(world)
    world.clock.advance(milliseconds=HOUR_MS - 1)
    assert get_files(world, token).status_code == 200
    for milliseconds in (1, 1, 60_000, 365 * 24 * HOUR_MS):
        world.clock.advance(milliseconds=milliseconds)
        refused = get_files(world, token)
        assert (refused.status_code, "expired" in refused.get_json()["detail"]) == (401, True)


def test_a_manage_token_ends_after_30_days_and_never_works_again(world: World) -> None:
    file = share_anonymously(world, days=90)
    path = f"/api/v1/files/{file.uuid}/settings"
    world.clock.advance(days=30, milliseconds=-1)
    assert file.manage("PUT", path, json={}).status_code == 200
    for days in (1, 30):
        world.clock.advance(days=days)
        assert file.manage("PUT", path, json={}).status_code == 401


def test_a_restricted_key_holds_its_scopes_and_a_personal_key_holds_all(world: World) -> None:
    restricted = authenticate(world.rt, f"Bearer {create_key(world)}")
    assert (restricted.scopes, restricted.is_restricted, restricted.only_file_id) == ({"files:read"}, True, None)
    personal = authenticate(world.rt, f"Bearer {world.pia.key}")
    assert personal.scopes == {"files:read", "files:write", "readership:read", "webhooks:manage", "profile"}
    assert (personal.is_restricted, personal.only_file_id, personal.is_expired) == (False, None, False)


def test_a_manage_token_belongs_to_no_account(world: World) -> None:
    caller = authenticate(world.rt, f"Bearer {share_anonymously(world).manage_token}")
    assert (caller.account_id,) not in world.rt.db.fetch_all("SELECT id FROM accounts")
    assert (caller.email, caller.plan, caller.is_restricted, caller.is_expired) == ("", Plan.FREE, False, False)


def test_the_credentials_of_one_account_are_told_apart_by_their_digests(world: World) -> None:
    """Rate limits are counted per credential."""
    key, token = create_key(world), make_access_token(world)
    found = [authenticate(world.rt, f"Bearer {each}").credential for each in (world.pia.key, key, token)]
    assert found == [digest(world.pia.key), digest(key), digest(token)]


@pytest.mark.parametrize("gap", ["", "\t", " \t "])
def test_spaces_around_the_header_value_are_ignored(world: World, gap: str) -> None:
    answer = world.http.get("/api/v1/files", headers={"Authorization": f"{gap}Bearer  {world.pia.key}{gap}"})
    assert answer.status_code == 200


# --- the check at the end of a request with a long body ---------------------------------------------------------------


def test_the_recheck_returns_the_plan_of_now(world: World) -> None:
    for token in (world.pia.key, make_access_token(world)):
        accounts.set_tier(world.rt, world.pia.email, Plan.PRO)
        caller = authenticate(world.rt, f"Bearer {token}")
        accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
        current = recheck_caller(world.rt, caller)
        assert (caller.plan, current.plan) == (Plan.PRO, Plan.BASIC)
        assert (current.account_id, current.scopes) == (caller.account_id, caller.scopes)


def test_the_recheck_refuses_a_key_that_was_revoked_meanwhile(world: World) -> None:
    caller = authenticate(world.rt, f"Bearer {world.pia.key}")
    accounts.revoke_key(world.rt, accounts.list_keys(world.rt, world.pia.email)[0]["uuid"])
    with pytest.raises(Problem, match="revoked in the meantime"):
        recheck_caller(world.rt, caller)


def test_the_recheck_refuses_an_app_that_was_revoked_meanwhile_but_not_a_token_that_expired(world: World) -> None:
    app = make_app(world)
    tokens = app.approve_and_exchange()
    caller = authenticate(world.rt, f"Bearer {tokens['access_token']}")
    world.clock.advance(hours=2)
    assert recheck_caller(world.rt, caller) == caller
    assert (
        app.http.post(
            "/oauth/revoke",
            data={"token": tokens["refresh_token"], "client_id": app.client_id, "client_secret": app.secret},
        ).status_code
        == 200
    )
    with pytest.raises(Problem, match="revoked in the meantime"):
        recheck_caller(world.rt, caller)


def test_the_recheck_accepts_a_manage_token_as_it_is(world: World) -> None:
    caller = authenticate(world.rt, f"Bearer {share_anonymously(world).manage_token}")
    assert recheck_caller(world.rt, caller) is caller
