"""The HTTP layer of /api: parse the request, call one service, return the JSON of the contract.

Read ``routes`` first: every route with its view. ``auth`` authenticates the caller, ``bodies`` parses request bodies,
``represent`` turns rows into JSON, ``problems`` turns errors into problem documents. It imports services, never
tables.
"""

from collections.abc import Callable
from typing import Any

from flask import Flask, Response, current_app, g, request

from docshare.server.api import problems
from docshare.server.api.auth import NO_ROUTE, AccessRule, Admission, CountMode, admit
from docshare.server.api.ratelimit import full_allowance, rate_headers
from docshare.server.api.routes import ROUTES, Route
from docshare.server.http.multipart import FORM_ERROR_KEY, FORM_KEY
from docshare.server.http.views import client_address, current_runtime
from docshare.server.services.files.files import require_reachable

_ACCESS_BY_ENDPOINT: dict[str, AccessRule] = {f"api:{route.operation}": route.access for route in ROUTES}

_NEGOTIATED_HEADERS = [
    (name, f"{value}, Accept-Encoding" if name == "Vary" else value) for name, value in problems.COMMON_HEADERS
]
_CACHEABLE_HEADERS = [(name, value) for name, value in problems.COMMON_HEADERS if name not in ("Cache-Control", "Vary")]


def register(app: Flask) -> None:
    """Add the routes of /api, the check before each request, the headers after it, and the error handlers."""
    # Flask would redirect a doubled slash to a URL built from the Host header.
    app.url_map.merge_slashes = False
    for route in ROUTES:
        app.add_url_rule(
            route.rule,
            endpoint=f"api:{route.operation}",
            view_func=_make_view(route),
            methods=[route.method],
            provide_automatic_options=False,
        )
    app.before_request(_admit_request)
    app.after_request(_add_headers)
    problems.register_error_handlers(app)


def _make_view(route: Route) -> Callable[..., Response]:
    if route.access.is_public:
        return lambda **names: route.view(*names.values())

    def view(**names: str) -> Response:
        caller = g.admission.caller
        if route.is_about_a_file:
            require_reachable(current_runtime(), caller, names["uuid"])
        return route.view(caller, *names.values())

    return view


def _admit_request() -> None:
    # Before everything else: if authentication itself fails, the response still needs its headers.
    g.admission = Admission(full_allowance(current_runtime()))
    wrong_method = problems.find_wrong_method(current_app.url_map, request.path, request.method)
    if not problems.is_api_path(request.path):
        if wrong_method is not None:
            raise wrong_method
        return
    entrance = NO_ROUTE if wrong_method is not None else _ACCESS_BY_ENDPOINT.get(request.endpoint or "", NO_ROUTE)
    environ: dict[str, Any] = request.environ
    # The bundled listener authenticated and counted an upload by its headers; only it sets these two.
    tally = CountMode.ALREADY_COUNTED if FORM_KEY in environ or FORM_ERROR_KEY in environ else CountMode.NOW
    g.admission = admit(current_runtime(), entrance, _read_header, client_address, tally)
    if g.admission.refusal is not None:
        raise g.admission.refusal
    if wrong_method is not None:
        raise wrong_method


def _read_header(name: str) -> str | None:
    value: str | None = request.environ.get(f"HTTP_{name.upper().replace('-', '_')}")
    return value


def _add_headers(response: Response) -> Response:
    if not problems.is_api_path(request.path):
        return response
    common = problems.COMMON_HEADERS
    if "Cache-Control" in response.headers:  # a document that is the same for everybody: the view has set these
        common = _CACHEABLE_HEADERS
    elif "Vary" in response.headers:
        del response.headers["Vary"]
        common = _NEGOTIATED_HEADERS
    # No view sets any of the others, so they are added without looking them up: every response has many.
    response.headers.extend([*common, *rate_headers(g.admission.allowance)])
    return response
