"""Bearer credentials and scopes."""

import pytest

from docshare.contract.plans import Plan
from docshare.contract.scopes import LANES, SCOPES, Lane
from docshare.server.services.accounts import accounts
from tests.api.route_table import GUARDED_ROUTES, PUBLIC_ROUTES, fill_path
from tests.support.people.cast import INVALID_TOKEN, NO_CREDENTIAL, Person, World


def limit_scopes(monkeypatch: pytest.MonkeyPatch, *scopes: str) -> None:
    """Limit API keys to ``scopes``, as access tokens are."""
    monkeypatch.setitem(LANES, Lane.API_KEY, LANES[Lane.API_KEY]._replace(scopes=frozenset(scopes)))


@pytest.mark.parametrize(("method", "path", "scope"), GUARDED_ROUTES)
def test_every_guarded_route_requires_a_credential(world: World, method: str, path: str, scope: str) -> None:
    answer = world.http.open(fill_path(path), method=method)
    assert answer.status_code == 401
    assert answer.get_json()["code"] == "unauthorized"
    assert answer.headers["WWW-Authenticate"] == NO_CREDENTIAL


@pytest.mark.parametrize(
    "value",
    [
        "Bearer",
        "Bearer ",
        "Bearer ds_live_nobody",
        "Basic cGlhOnBpYQ==",
        "Token abc",
        "Bearer a b",
        "Bearer {key}, Bearer {key}",
        "Bearer {key},",
        "Bearer {key}\tx",
        "Bearer \xe9",
        "Bearer {key}\xa0",
        "Bearer " + "x" * 5000,
        "{key}",
    ],
)
def test_an_invalid_authorization_header_is_401(world: World, value: str) -> None:
    """A comma (two joined headers) or any unexpected byte is 401, never another status."""
    answer = world.http.get("/api/v1/user", headers={"Authorization": value.replace("{key}", world.pia.key)})
    assert answer.status_code == 401
    assert answer.get_json()["code"] == "unauthorized"
    assert answer.headers["WWW-Authenticate"] == INVALID_TOKEN


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_bearer_scheme_is_case_insensitive(world: World, scheme: str) -> None:
    assert world.http.get("/api/v1/user", headers={"Authorization": f"{scheme} {world.pia.key}"}).status_code == 200


def test_a_design_token_is_401_outside_the_design_routes(world: World) -> None:
    jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    assert world.http.get("/api/v1/files", headers={"Authorization": f"Bearer {jwt}"}).status_code == 401


def test_the_api_does_not_accept_a_session_cookie(world: World) -> None:
    world.http.set_cookie("docshare_session", world.pia.key)
    assert world.http.get("/api/v1/user").status_code == 401


def test_a_revoked_key_is_401_immediately(world: World) -> None:
    """Other keys of the account keep working."""
    made = accounts.create_key(world.rt, world.pia.email, "second")
    second = Person(world.pia.email, world.pia.uuid, made.key, world.http)
    assert second.get("/api/v1/user").status_code == 200
    accounts.revoke_key(world.rt, made.uuid)
    assert second.get("/api/v1/user").status_code == 401
    assert world.pia.get("/api/v1/user").status_code == 200


def test_a_key_has_the_current_plan_of_its_account(world: World) -> None:
    accounts.set_tier(world.rt, world.fay.email, Plan.BASIC)
    assert world.fay.get("/api/v1/user").get_json()["tier"] == "basic"


@pytest.mark.parametrize(("method", "path", "scope"), GUARDED_ROUTES)
def test_a_missing_scope_is_403_even_if_the_object_does_not_exist(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, path: str, scope: str
) -> None:
    """The scope is checked before the object is looked up."""
    limit_scopes(monkeypatch, *(set(SCOPES) - {scope}))
    answer = world.pia.http.open(fill_path(path), method=method, headers=world.pia.headers)
    assert answer.status_code == 403
    assert answer.get_json()["code"] == "insufficient_scope"
    assert scope in answer.get_json()["detail"]
    assert answer.headers["WWW-Authenticate"] == f'Bearer error="insufficient_scope", scope="{scope}"'


@pytest.mark.parametrize(("method", "path", "scope"), GUARDED_ROUTES)
def test_a_route_requires_only_its_own_scope(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, path: str, scope: str
) -> None:
    limit_scopes(monkeypatch, scope)
    answer = world.pia.http.open(fill_path(path), method=method, headers=world.pia.headers)
    assert answer.status_code not in (401, 403)


def test_api_keys_have_every_scope() -> None:
    """This includes scopes that are added later."""
    assert LANES[Lane.API_KEY].scopes == frozenset(SCOPES)


@pytest.mark.parametrize(("method", "path", "scope"), [row for row in PUBLIC_ROUTES if row[0] == "GET"])
@pytest.mark.parametrize("value", [None, "Bearer ds_live_nobody", "nonsense, nonsense"])
def test_public_routes_ignore_a_missing_or_invalid_credential(
    world: World, method: str, path: str, scope: None, value: str | None
) -> None:
    short_id = world.pia.upload()["shortId"]
    headers = {"Authorization": value} if value else {}
    assert world.http.open(fill_path(path, short_id), method=method, headers=headers).status_code == 200
