"""The discovery document and the OpenAPI description."""

from typing import Any

import openapi_spec_validator
import pytest
import yaml

from docshare.server.api import discovery
from tests.api.route_table import ALL_ROUTES, DESIGN_ONLY, PUBLIC_ROUTES, fill_path
from tests.support.people.cast import World

SUCCESS = {
    ("POST", "/api/v1/files/{uuid}/variants"): "201",
    ("DELETE", "/api/v1/files/{uuid}/variants/{variantUuid}"): "204",
    ("POST", "/api/v1/keys"): "201",
    ("DELETE", "/api/v1/keys/{uuid}"): "204",
    ("POST", "/api/v1/webhooks"): "201",
    ("DELETE", "/api/v1/webhooks/{uuid}"): "204",
    ("POST", "/api/webhooks"): "201",
    ("DELETE", "/api/webhooks/{uuid}"): "204",
    ("POST", "/api/v1/webhooks/{uuid}/deliveries/{id}/redeliver"): "202",
}
"""Operations whose success status is not 200."""
OTHER_ROUTES = {("GET", "/oembed")}
"""Operations of the description that are not under /api."""
OAUTH_ROUTES = {("POST", "/oauth/device_authorization")}
"""Operations of the description that the discovery document leaves to the metadata of the authorization server."""


def test_the_discovery_document_has_the_documented_keys(world: World) -> None:
    document = world.http.get("/api/v1").get_json()
    assert list(document) == [
        "name",
        "version",
        "specification",
        "documentation",
        "authentication",
        "rateLimit",
        "errors",
        "versioning",
        "endpoints",
    ]
    assert document["specification"] == {"url": "http://127.0.0.1:8787/api/v1/openapi.json", "version": "1.1.0"}
    assert document["authentication"]["oauth"] == {
        "authorizationServer": "http://127.0.0.1:8787/.well-known/oauth-authorization-server",
        "protectedResource": "http://127.0.0.1:8787/.well-known/oauth-protected-resource",
    }
    assert document["rateLimit"]["policy"] == '"default";q=120;w=60'
    assert {"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit"} <= set(document["rateLimit"]["headers"])
    assert document["errors"] == {"mediaType": "application/problem+json"}


def test_the_discovery_document_lists_every_kind_of_credential(world: World) -> None:
    """A refresh token is not listed: only the token endpoint accepts it."""
    lanes = world.http.get("/api/v1").get_json()["authentication"]["lanes"]
    scopes = ["files:read", "files:write", "profile", "readership:read", "webhooks:manage"]
    told = {
        lane["name"]: (lane.get("scheme") or lane.get("field"), lane.get("prefix"), lane["scopes"]) for lane in lanes
    }
    assert told == {
        "api-key": ("Bearer", "ds_live_", scopes),
        "oauth": ("Bearer", "ds_at_", scopes),
        "manage-token": ("Bearer", "ds_mt_", []),
        "claim-token": ("claimToken", "ds_ct_", []),
        "design-jwt": ("Bearer", None, []),
        "session": ("Cookie", None, scopes),
    }
    assert all(lane["description"] for lane in lanes)
    operations = {lane["name"]: lane.get("operations") for lane in lanes}
    assert operations["manage-token"] == ["files.settings", "files.replace"]
    assert operations["claim-token"] == ["files.claim"]
    assert operations["design-jwt"] == ["design.import", "design.status"]
    assert operations["api-key"] is operations["oauth"] is None
    assert "session.files.upload" in operations["session"]


def test_the_discovery_document_does_not_load_openapi_which_is_loaded_once(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsing the description takes most of a second of CPU time, which the first request would wait for."""
    read = []
    load = yaml.load
    monkeypatch.setattr(yaml, "load", lambda *args: (read.append(1), load(*args))[1])
    base_url = "http://prepared.example:8787"
    world = make(base_url=base_url)
    assert world.http.get("/api/v1").status_code == 200
    assert not read
    discovery.load_openapi(base_url)
    assert read == [1]
    for _ in range(2):
        assert world.http.get("/api/v1/openapi.json").get_json()["servers"] == [{"url": base_url}]
    assert read == [1]


def test_the_discovery_document_lists_every_route(world: World) -> None:
    endpoints = world.http.get("/api/v1").get_json()["endpoints"]
    named = [(method, path) for method, path, _ in ALL_ROUTES]
    assert sorted(endpoints.values()) == sorted(f"{method} {path}" for method, path in [*named, *OTHER_ROUTES])


def test_the_discovery_document_shows_the_configured_rate_limit(make: Any) -> None:
    assert make(rate_limit=600).http.get("/api/v1").get_json()["rateLimit"]["policy"] == '"default";q=600;w=60'


@pytest.fixture
def description(world: World) -> dict[str, Any]:
    described: dict[str, Any] = world.http.get("/api/v1/openapi.json").get_json()
    return described


def test_the_description_is_valid_openapi_3_0_3(description: dict[str, Any]) -> None:
    """The version of the API is 1.1.0."""
    assert description["openapi"] == "3.0.3"
    assert description["info"]["version"] == "1.1.0"
    openapi_spec_validator.validate(description)


def test_the_description_lists_the_url_of_this_server(description: dict[str, Any]) -> None:
    assert description["servers"] == [{"url": "http://127.0.0.1:8787"}]


def test_the_description_and_the_application_have_the_same_routes(world: World, description: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, item in description["paths"].items() for method in item} - {
        ("PARAMETERS", path) for path in description["paths"]
    }
    served = {
        (method, rule.rule.replace("<", "{").replace(">", "}"))
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD"}
        if rule.rule.startswith("/api/") or (method, rule.rule) in OTHER_ROUTES | OAUTH_ROUTES
    }
    assert described == served == {(method, path) for method, path, _ in ALL_ROUTES} | OTHER_ROUTES | OAUTH_ROUTES


def test_the_description_marks_public_routes(description: dict[str, Any]) -> None:
    public = {
        (method.upper(), path)
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method != "parameters" and operation.get("security") == []
    }
    assert public == {(method, path) for method, path, _ in PUBLIC_ROUTES} | OTHER_ROUTES | OAUTH_ROUTES


def test_the_description_mentions_the_scope_of_every_guarded_route(description: dict[str, Any]) -> None:
    for method, path, scope in ALL_ROUTES:
        if scope is not None:
            assert scope in description["paths"][path][method.lower()]["description"]


@pytest.mark.parametrize(("method", "path", "scope"), ALL_ROUTES)
def test_the_description_lists_the_common_error_statuses_of_every_route(
    description: dict[str, Any], method: str, path: str, scope: str | None
) -> None:
    listed = set(description["paths"][path][method.lower()]["responses"])
    expected = (
        {SUCCESS.get((method, path), "200"), "400", "413", "429", "431", "500", "501", "503"}
        | ({"401", "403"} if scope else set())
        | ({"401", "503"} if (method, path, scope) in DESIGN_ONLY else set())
        | ({"404"} if "{uuid}" in path else set())
    )
    assert expected <= listed


@pytest.mark.parametrize(("method", "path", "scope"), ALL_ROUTES)
def test_the_description_lists_the_status_of_every_response(
    world: World, description: dict[str, Any], method: str, path: str, scope: str | None
) -> None:
    listed = description["paths"][path][method.lower()]["responses"]
    name = world.pia.upload()["shortId"]
    for headers in ({}, world.pia.headers, world.fay.headers):
        for target in (fill_path(path, name), fill_path(path)):
            answer = world.http.open(target, method=method, headers=headers, buffered=True)
            assert str(answer.status_code) in listed
