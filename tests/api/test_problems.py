"""Every error under /api is a problem document."""

import io
import logging
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.server.api import auth
from docshare.server.http import views
from tests.api.route_table import UNKNOWN_UUID
from tests.support.people.cast import World

MEMBERS = {"type", "title", "status", "code", "detail", "hint"}


class BrokenEngine:
    """A PDF engine that fails with an unexpected error."""

    def inspect(self, *arguments: Any) -> Any:
        raise RuntimeError("the secret of the engine room")


def assert_problem(answer: TestResponse, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = answer.get_json(force=True)
    assert set(problem) == MEMBERS
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["type"] == f"http://127.0.0.1:8787/problems/{code}"
    assert all(problem[name] for name in MEMBERS)
    return problem


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nope", "/api/v1/", "/api/v2", "/api/v1/files/a/b", "/api/nope"])
def test_an_unknown_route_is_a_problem(world: World, path: str) -> None:
    assert_problem(world.pia.get(path), 404, "not_found")


@pytest.mark.parametrize("path", ["/api//v1/user", "//api/v1/user", "/api/v1//files", "/api/v1/files/"])
def test_a_malformed_path_is_404_without_a_redirect(world: World, path: str) -> None:
    """A redirect would contain the value of the Host header."""
    answer = world.http.open(path, base_url="http://evil.example", headers=world.pia.headers)
    assert answer.status_code == 404
    assert "Location" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/api/v1", "GET, HEAD"),
        ("PATCH", "/api/v1/files", "GET, HEAD, POST"),
        ("POST", f"/api/v1/files/{UNKNOWN_UUID}", "DELETE, GET, HEAD"),
        ("DELETE", "/api/v1/events", "GET, HEAD"),
        ("OPTIONS", "/api/v1/user", "GET, HEAD"),
        ("TRACE", "/api/v1/user", "GET, HEAD"),
        ("POST", f"/api/files/{UNKNOWN_UUID}/qr-code", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_a_problem_that_lists_the_allowed_ones(
    world: World, method: str, path: str, allow: str
) -> None:
    answer = world.http.open(path, method=method, headers=world.pia.headers)
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == allow


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_an_upload_that_is_not_a_form_is_a_problem(world: World, content_type: str) -> None:
    answer = world.pia.post("/api/v1/files", data=b"%PDF-", content_type=content_type)
    assert_problem(answer, 415, "unsupported_media_type")


def test_an_empty_upload_is_400(world: World) -> None:
    """The problem is the missing ``file`` part, not the missing content type."""
    assert_problem(world.pia.post("/api/v1/files"), 400, "bad_request")


def test_an_unexpected_error_is_a_problem_without_details(world: World) -> None:
    views.attach_runtime(world.app, replace(world.rt, engine=BrokenEngine()))  # type: ignore[arg-type]
    answer = world.pia.post("/api/v1/files", data={"file": (io.BytesIO(b"%PDF-1.7"), "a.pdf")})
    assert_problem(answer, 500, "internal")
    assert b"secret" not in answer.data
    assert answer.headers["X-Request-Id"]
    assert answer.headers["RateLimit"]


def test_an_error_during_authentication_is_a_complete_problem(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The response has all headers, and the log has the id of the request."""

    def fail(*_: Any) -> Any:
        raise RuntimeError("the secret of the key room")

    monkeypatch.setattr(auth, "authenticate", fail)
    with caplog.at_level(logging.INFO, logger="docshare"):
        answer = world.pia.get("/api/v1/user")
    assert_problem(answer, 500, "internal")
    assert b"secret" not in answer.data
    assert (answer.headers["RateLimit"], answer.headers["RateLimit-Policy"]) == (
        '"default";r=120;t=60',
        '"default";q=120;w=60',
    )
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    lines = [(record.levelname, record.getMessage(), record.__dict__["request"]) for record in caplog.records]
    request_id = answer.headers["X-Request-Id"]
    assert lines == [("ERROR", "request failed", request_id), ("INFO", "request", request_id)]


def test_a_failed_upload_stores_no_bytes(world: World) -> None:
    views.attach_runtime(world.app, replace(world.rt, engine=BrokenEngine()))  # type: ignore[arg-type]
    world.pia.post("/api/v1/files", data={"file": (io.BytesIO(b"%PDF-1.7"), "a.pdf")})
    assert [path for path in world.rt.blobs.root.rglob("*") if path.is_file()] == []
    assert list(world.rt.blobs.tmp.iterdir()) == []


def test_errors_outside_the_api_are_not_problem_documents(world: World) -> None:
    answer = world.http.get("/static/nothing/here")
    assert answer.status_code == 404
    assert "json" not in answer.headers["Content-Type"]


def test_head_returns_the_headers_of_get_without_a_body(world: World) -> None:
    """This includes the content length."""
    got = world.pia.get("/api/v1/user")
    answer = world.http.head("/api/v1/user", headers=world.pia.headers)
    assert answer.status_code == 200
    assert answer.data == b""
    assert answer.headers["Content-Length"] == str(len(got.data))


def test_an_error_of_head_has_no_body(world: World) -> None:
    answer = world.http.head("/api/v1/nope")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.data == b""


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1", 200),
        ("/api/v1/user", 200),
        ("/api/v1/user", 401),
        ("/api/v1/nope", 404),
        ("/api/v1/gate-responses", 403),
    ],
)
def test_responses_are_not_cached_framed_or_sniffed(world: World, path: str, status: int) -> None:
    """Only a response that is the same for everybody may be cached."""
    answer = world.http.get(path, headers=world.fay.headers if status in (200, 403) else {})
    assert answer.status_code == status
    fixed = path == "/api/v1"
    assert answer.headers["Cache-Control"] == ("private, no-cache" if fixed else "private, no-store")
    assert answer.headers["Vary"] == ("Accept-Encoding" if fixed else "Authorization, Cookie")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/user", "/api/v1/nope"])
def test_no_response_is_marked_as_deprecated(world: World, path: str) -> None:
    """No response has a Deprecation or Sunset header."""
    answer = world.pia.get(path)
    assert not {"deprecation", "sunset", "link"} & {name.lower() for name in answer.headers.keys()}  # noqa: SIM118


def test_every_response_has_its_own_request_id(world: World) -> None:
    ids = {world.http.get(path).headers["X-Request-Id"] for path in ("/api/v1", "/api/v1/user", "/api/v1/nope")}
    assert len(ids) == 3
