"""Render problems, in one place: problem documents under /api, plain text elsewhere."""

import json
from functools import cache

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import Map

from docshare.contract.problems import MEDIA_TYPE, PROBLEMS, Problem
from docshare.contract.scopes import CHALLENGE
from docshare.server import faults
from docshare.server.api.ratelimit import Headers, full_allowance, rate_headers
from docshare.server.http.verdicts import Refusal
from docshare.server.http.views import current_runtime
from docshare.server.rate_limits import Allowance
from docshare.server.runtime import Runtime, random_request_id

_CHALLENGE_STATUSES = (401, 403)
_PLAIN_TYPE = "text/plain; charset=utf-8"

# Responses under /api and errors of the listener must not be cached, framed, or sniffed as another type.
COMMON_HEADERS: Headers = [
    ("Cache-Control", "private, no-store"),
    ("Vary", "Authorization, Cookie"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
]


def is_api_path(path: str) -> bool:
    """Return whether errors of this path are problem documents."""
    return path.startswith("/api/")


def render_problem(problem: Problem) -> Response:
    """Return ``problem`` as a problem document."""
    body = _encode_document(current_runtime(), problem)
    return Response(body, problem.status, _problem_headers(current_runtime(), problem), content_type=MEDIA_TYPE)


def render_plain_problem(problem: Problem) -> Response:
    """Return ``problem`` as one line of text, for the public pages and the gate stream."""
    return Response(
        problem.detail, problem.status, _problem_headers(current_runtime(), problem), content_type=_PLAIN_TYPE
    )


def build_refusal(rt: Runtime, problem: Problem, allowance: Allowance) -> Refusal:
    """Return ``problem`` for the listener, with all headers that the application adds to responses under /api."""
    headers = [
        ("Content-Type", MEDIA_TYPE),
        *_problem_headers(rt, problem).items(),
        *COMMON_HEADERS,
        *rate_headers(allowance),
    ]
    return Refusal(problem.status, [*headers, ("X-Request-Id", random_request_id())], _encode_document(rt, problem))


def build_error_refusal(rt: Runtime, status: int, path: str | None, detail: str) -> Refusal:
    """Return the response for an error of the listener itself.

    Parameters: ``status`` its HTTP status; ``path`` the request's path, None if it could not be read; ``detail`` one
    sentence. If the path is unknown, the client may be a program, so the response is a problem document too.
    """
    problem = _make_problem(status, detail)
    if path is None or is_api_path(path):
        return build_refusal(rt, problem, full_allowance(rt))
    headers = [("Content-Type", _PLAIN_TYPE), *_problem_headers(rt, problem).items(), *COMMON_HEADERS]
    return Refusal(status, [*headers, ("X-Request-Id", random_request_id())], detail.encode())


def convert_http_error(error: HTTPException) -> Problem:
    """Convert errors of Flask to problems: unknown routes, methods, bodies that are too large or truncated."""
    status = error.code or 500
    problem = _make_problem(status, _DETAILS.get(status, f"{error.name}."))
    methods = getattr(error, "valid_methods", None)
    if methods:
        problem.headers["Allow"] = ", ".join(sorted(methods))
    return problem


def find_wrong_method(routes: Map, path: str, method: str) -> HTTPException | None:
    """Return the problem for a ``path`` that is a complete route, but not with this method; None for others.

    Without it such a request would match a route with a placeholder in the same position: ``GET /api/v1/files/claim``
    would look for a file with the id ``claim``.
    """
    methods = _map_methods_by_path(routes).get(path)
    return None if methods is None or method in methods else MethodNotAllowed(valid_methods=sorted(methods))


@cache
def _map_methods_by_path(routes: Map) -> dict[str, set[str]]:
    """Return the methods of each path without a placeholder. ``routes`` is complete before the first request."""
    found: dict[str, set[str]] = {}
    for rule in routes.iter_rules():
        if not rule.arguments:
            found.setdefault(rule.rule, set()).update(rule.methods or ())
    return found


def register_error_handlers(app: Flask) -> None:
    """Register handlers that render every exception raised by a view."""
    app.register_error_handler(Problem, _handle_problem)
    app.register_error_handler(HTTPException, _handle_http_error)
    app.register_error_handler(Exception, _handle_unexpected)


def _handle_problem(problem: Problem) -> Response:
    return render_problem(problem) if is_api_path(request.path) else render_plain_problem(problem)


def _handle_http_error(error: HTTPException) -> Response:
    return _handle_problem(convert_http_error(error))


def _handle_unexpected(error: Exception) -> Response:
    faults.log_error(error, "request failed", request=g.get("request_id"))
    return _handle_problem(faults.to_problem(error) or Problem("internal", "The server failed; the error was logged."))


_DETAILS = {
    400: "The server cannot read the request.",
    404: "There is nothing at this URL.",
    405: "This URL does not support this method.",
    413: "The body is too large.",
    415: "This content type is not supported here.",
}


def _make_problem(status: int, detail: str) -> Problem:
    codes = [code for code, row in PROBLEMS.items() if row.status == status]
    code = codes[0] if codes else "internal" if status >= 500 else "bad_request"
    return Problem(code, detail, status=status)


def _problem_headers(rt: Runtime, problem: Problem) -> dict[str, str]:
    headers = dict(problem.headers)
    if problem.status in _CHALLENGE_STATUSES:
        headers.setdefault("WWW-Authenticate", CHALLENGE)
    if problem.status == 503:
        headers.setdefault("Retry-After", str(faults.RETRY_AFTER_S))
    if problem.status == 401:
        # RFC 9728, 5.1: this header names the authorization server that issues tokens for this API.
        challenge = headers["WWW-Authenticate"]
        metadata = f'resource_metadata="{rt.config.base_url}/.well-known/oauth-protected-resource"'
        headers["WWW-Authenticate"] = f"{challenge}{' ' if challenge == CHALLENGE else ', '}{metadata}"
    return headers


def _encode_document(rt: Runtime, problem: Problem) -> bytes:
    members = {
        "type": f"{rt.config.base_url}/problems/{problem.code}",
        "title": problem.title,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
        "hint": problem.hint,
        **problem.extra,
    }
    return json.dumps(members).encode()
