"""Refusals, drawn in one place: problem documents under /api, plain text elsewhere (section Errors)."""

import json

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from docshare.contract.problems import MEDIA_TYPE, PROBLEMS, Problem
from docshare.contract.scopes import CHALLENGE
from docshare.server.api.ratelimit import Headers, rate_headers, unattributed
from docshare.server.limits import Allowance
from docshare.server.logs import LOGGER
from docshare.server.runtime import Runtime
from docshare.server.shell import rt
from docshare.server.verdicts import Refuse

_CHALLENGED = (401, 403)  # Spec: Authentication 8
_PLAIN_TYPE = "text/plain; charset=utf-8"

# Spec gap: nothing under /api, and no error of the listener anywhere, may be kept by a cache, framed, or taken for
# another type than declared.
COMMON_HEADERS: Headers = [
    ("Cache-Control", "private, no-store"),
    ("Vary", "Authorization, Cookie"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
]


def under_api(path: str) -> bool:
    """Whether errors of this address are problem documents."""
    return path.startswith("/api/")


def draw(problem: Problem) -> Response:
    """``problem`` as a problem document."""
    body = _document(rt(), problem)
    return Response(body, problem.status, _headers(problem), content_type=MEDIA_TYPE)


def draw_plain(problem: Problem) -> Response:
    """``problem`` as one line of text, for the public pages and the gate stream."""
    return Response(problem.detail, problem.status, _headers(problem), content_type=_PLAIN_TYPE)


def refuse(rt: Runtime, problem: Problem, allowance: Allowance) -> Refuse:
    """``problem`` as the listener sends it, complete with what the application adds to every answer under /api."""
    headers = [("Content-Type", MEDIA_TYPE), *_headers(problem).items(), *COMMON_HEADERS, *rate_headers(allowance)]
    return Refuse(problem.status, [*headers, ("X-Request-Id", rt.token(16))], _document(rt, problem))


def draw_error(rt: Runtime, status: int, path: str | None, detail: str) -> Refuse:
    """An error that the listener made itself.

    Parameters: ``status`` its HTTP status; ``path`` the request's path, None if it could not be read; ``detail`` one
    sentence. Where the path is unknown a program may be listening, so it is a problem document too.
    """
    problem = _problem(status, detail)
    if path is None or under_api(path):
        return refuse(rt, problem, unattributed(rt))
    headers = [("Content-Type", _PLAIN_TYPE), *_headers(problem).items(), *COMMON_HEADERS]
    return Refuse(status, [*headers, ("X-Request-Id", rt.token(16))], detail.encode())


def http_problem(error: HTTPException) -> Problem:
    """What Flask itself refuses, as ours: unknown routes, methods, bodies that are too large or cut off."""
    status = error.code or 500
    problem = _problem(status, _DETAILS.get(status, f"{error.name}."))
    methods = getattr(error, "valid_methods", None)
    if methods:
        problem.headers["Allow"] = ", ".join(sorted(methods))
    return problem


def register(app: Flask) -> None:
    """Draw every exception that leaves a view."""
    app.register_error_handler(Problem, _answer)
    app.register_error_handler(HTTPException, _answer_http)
    app.register_error_handler(Exception, _answer_unexpected)


def _answer(problem: Problem) -> Response:
    return draw(problem) if under_api(request.path) else draw_plain(problem)


def _answer_http(error: HTTPException) -> Response:
    return _answer(http_problem(error))


def _answer_unexpected(error: Exception) -> Response:
    LOGGER.error("request failed", exc_info=error, extra={"request": g.get("request_id")})
    return _answer(Problem("internal", "Something went wrong here; it was logged."))


_DETAILS = {
    400: "The request cannot be read.",
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
    413: "The body is too large.",
    415: "This content type is not taken here.",
}


def _problem(status: int, detail: str) -> Problem:
    codes = [code for code, row in PROBLEMS.items() if row.status == status]
    code = codes[0] if codes else "internal" if status >= 500 else "bad_request"
    return Problem(code, detail, status=status)


def _headers(problem: Problem) -> dict[str, str]:
    headers = dict(problem.headers)
    if problem.status in _CHALLENGED:
        headers.setdefault("WWW-Authenticate", CHALLENGE)
    return headers


def _document(rt: Runtime, problem: Problem) -> bytes:
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
