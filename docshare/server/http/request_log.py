"""For every request: an id in the log and in the response, one line in the log, and one count for metrics."""

import logging
import time

from flask import Flask, Response, g, request

from docshare.server.http.views import client_address, current_runtime, report_untrusted_proxy
from docshare.server.logs import LOGGER
from docshare.server.runtime import random_request_id

_REQUEST_ID_HEADER = "X-Request-Id"
# Clients may send invented methods and paths; a time series for each would grow without limit.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"


def register_request_log(app: Flask) -> None:
    """Assign an id to every request and log it once it is answered."""

    @app.before_request
    def _begin() -> None:
        g.request_id = random_request_id()
        g.begun = time.monotonic()
        report_untrusted_proxy()

    @app.after_request
    def _end(response: Response) -> Response:
        response.headers[_REQUEST_ID_HEADER] = g.request_id
        seconds = time.monotonic() - g.begun
        method, rule = request.method, request.url_rule
        # The template, not the path: the path contains link ids.
        route = rule.rule if rule else None
        labels = (method if method in _METHODS else _OTHER, route or _OTHER, str(response.status_code))
        current_runtime().requests.add(labels, seconds)
        if LOGGER.isEnabledFor(logging.INFO):
            LOGGER.info(
                "request",
                extra={
                    "method": method,
                    "route": route,
                    "status": response.status_code,
                    "ms": round(seconds * 1000, 1),
                    "request": g.request_id,
                    "client": client_address(),
                    "account": _find_account_uuid(),
                },
            )
        return response


def _find_account_uuid() -> str | None:
    """Return the UUID of the account of the request's credential, if any."""
    caller = getattr(g.get("admission"), "caller", None)
    return None if caller is None else caller.uuid or None
