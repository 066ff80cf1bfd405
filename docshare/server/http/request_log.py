"""Around every request: an id that the log and the answer share, and one line in the log."""

import logging
import time

from flask import Flask, Response, g, request

from docshare.server.http.views import client_address, current_runtime, report_untrusted_proxy
from docshare.server.logs import LOGGER

_REQUEST_ID_HEADER = "X-Request-Id"


def register_request_log(app: Flask) -> None:
    """Give every request an id and log it once it is answered."""

    @app.before_request
    def _begin() -> None:
        g.request_id = current_runtime().random_token(16)
        g.begun = time.monotonic()
        report_untrusted_proxy()

    @app.after_request
    def _end(response: Response) -> Response:
        response.headers[_REQUEST_ID_HEADER] = g.request_id
        if LOGGER.isEnabledFor(logging.INFO):
            LOGGER.info(
                "request",
                extra={
                    "method": request.method,
                    # The template, not the address: the address holds link ids.
                    "route": request.url_rule.rule if request.url_rule else None,
                    "status": response.status_code,
                    "ms": round((time.monotonic() - g.begun) * 1000, 1),
                    "request": g.request_id,
                    "client": client_address(),
                    "account": _find_account_uuid(),
                },
            )
        return response


def _find_account_uuid() -> str | None:
    """The UUID of the account whose credential was shown, if any was."""
    caller = getattr(g.get("admission"), "caller", None)
    return None if caller is None else caller.uuid or None
