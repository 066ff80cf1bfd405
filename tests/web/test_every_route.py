"""Properties of every route of the application, for every method and outcome."""

import inspect
import re
from collections import Counter
from http.client import HTTPConnection
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.exceptions import MethodNotAllowed
from werkzeug.test import TestResponse

from tests.api.raw_client import open_listener
from tests.support.outside.oauth_app import OAuthApp, make_app
from tests.support.people.cast import World

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND")
MAY_REPEAT = {"set-cookie", "link"}


@pytest.fixture
def app(make: Any) -> OAuthApp:
    """Return an app of Pia in a world without rate limits, so that no response is a 429."""
    return make_app(make(rate_limit=1_000_000, address_limit=1_000_000))


def list_paths(world: World) -> list[str]:
    """Return a path for each route, once for a file that exists and once for one that does not."""
    uploaded_file = world.pia.upload()
    stylesheet = re.search(r'"(/static/[^"]+\.css)"', world.http.get("/login").text)
    script = re.search(r'"(/static/[^"]+\.js)"', world.http.get(f"/{uploaded_file['shortId']}").text)
    assert stylesheet
    assert script
    found = [
        stylesheet[1],
        script[1],
        f"/{uploaded_file['shortId']}/pages/1-800.jpg?v=1",
        f"/{uploaded_file['shortId']}/tiles/1/400/0-0.jpg?v=1",
        f"/{uploaded_file['shortId']}/text/1.json?v=1",
        f"/{uploaded_file['shortId']}/outline.json?v=1",
        f"/{uploaded_file['shortId']}/search?v=1&q=page",
    ]
    for known, other in ((uploaded_file["uuid"], "1"), ("unknown", "unknown")):
        for rule in world.app.url_map.iter_rules():
            names = {name: known if name in ("name", "uuid") else other for name in rule.arguments}
            found.append(re.sub(r"<(?:[^:>]*:)?(\w+)>", lambda name, names=names: names[name[1]], rule.rule))  # type: ignore[misc]
    return sorted(set(found))


def find_repeated(names: list[str]) -> set[str]:
    return {name for name, times in Counter(name.lower() for name in names).items() if times > 1} - MAY_REPEAT


def assert_valid_headers(answer: TestResponse) -> None:
    assert not find_repeated([name for name, _ in answer.headers]), answer.headers
    assert answer.headers.get("Content-Type", "").lower().count("charset") <= 1, answer.headers
    for name, value in answer.headers:
        listed = (
            [item.strip().lower() for item in value.split(",")] if name in ("Vary", "Allow", "Cache-Control") else []
        )
        assert len(listed) == len(set(listed)), (name, value)


@pytest.mark.parametrize("method", METHODS)
def test_no_response_repeats_a_header(app: OAuthApp, method: str) -> None:
    world = app.world
    asked: list[tuple[FlaskClient, dict[str, str]]] = [
        (world.http, {}),
        (world.http, world.pia.headers),
        (app.owner, {}),
    ]
    for path in list_paths(world):
        for http, headers in asked:
            for more in ({}, {"Accept-Encoding": "gzip"}, {"If-None-Match": "*", "Range": "bytes=0-1"}):
                answer = http.open(path, method=method, headers={**headers, **more}, buffered=True)
                assert answer.status_code < 500 or answer.status_code == 503, (method, path)
                assert_valid_headers(answer)


def test_no_oauth_response_repeats_a_header(app: OAuthApp) -> None:
    tokens = app.exchange_code(app.create_code())
    refused = app.exchange_code("x")
    revoked = app.http.post("/oauth/revoke", data={"client_id": app.client_id, "token": "x"})
    assert (tokens.status_code, refused.status_code, revoked.status_code) == (200, 400, 401)
    for answer in (tokens, refused, revoked, app.owner.get(app.authorize_url()), app.decide("deny")):
        assert_valid_headers(answer)


def test_no_response_of_the_listener_repeats_a_header(app: OAuthApp) -> None:
    """The listener adds its own headers and responds to some requests itself."""
    uploaded_file = app.world.pia.upload()
    asked = [
        ("GET", "/api/v1"), ("POST", "/api/v1/files"), ("GET", "/api/v1/files"), ("POST", "/oauth/token"),
        ("GET", "/login"), ("GET", f"/api/v1/files/{uploaded_file['uuid']}/content"), ("GET", "/api/v1/openapi.json"),
        ("GET", f"/{uploaded_file['shortId']}/pages/1-800.jpg?v=1"), ("ODD[]", "/"), ("PATCH", "/api/v1/files/claim"),
    ]  # fmt: skip
    with open_listener(app.world) as server:
        for method, path in asked:
            headers = {**app.world.pia.headers, "Accept-Encoding": "gzip", "Content-Length": "0"}
            connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
            connection.request(method, path, headers=headers)
            names = [name for name, _ in connection.getresponse().getheaders()]
            assert not find_repeated(names), (method, path)
            connection.close()


def test_a_known_path_with_another_method_is_405_and_lists_the_allowed_methods(app: OAuthApp) -> None:
    """This includes paths that also match a placeholder: ``/api/v1/files/claim`` matches ``/api/v1/files/{uuid}``."""
    world = app.world
    methods: dict[str, set[str]] = {}
    for rule in world.app.url_map.iter_rules():
        methods.setdefault(rule.rule, set()).update(rule.methods or ())
    for rule, allowed in methods.items():
        path = re.sub(r"<int:\w+>", "1", rule)
        path = re.sub(r"<[^>]+>", "qqq", path)
        for method in set(METHODS) - allowed:
            answer = world.http.open(path, method=method, headers=world.pia.headers)
            assert answer.status_code == MethodNotAllowed.code, (method, rule)
            assert answer.headers["Allow"] == ", ".join(sorted(allowed))


@pytest.mark.parametrize("path", ["/api/v1/files/claim", "/api/v1/files/import"])
def test_claim_and_import_accept_post_only(world: World, path: str) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        for headers in ({}, world.pia.headers):
            answer = world.http.open(path, method=method, headers=headers, json={"x": 1})
            assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
            assert answer.headers["X-RateLimit-Limit"] == "120"
    with open_listener(world) as server:
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"):
            for size in (0, 2, 2 << 20):  # the listener handles requests with a body
                reply = server.request(
                    method, path, {**world.pia.headers, "Content-Type": "application/json"}, b"x" * size
                )
                assert (reply.status, reply.headers["allow"]) == (405, "POST"), (method, size)


def test_no_view_or_hook_is_a_coroutine(world: World) -> None:
    """The application calls all of them directly: the result of a coroutine would not be a response."""
    app = world.app
    hooks = [app.before_request_funcs, app.after_request_funcs, app.teardown_request_funcs]
    called = [
        *app.view_functions.values(),
        *(func for by_blueprint in hooks for funcs in by_blueprint.values() for func in funcs),
    ]
    assert len(called) > 100
    assert [func for func in called if inspect.iscoroutinefunction(func)] == []
