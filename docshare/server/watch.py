"""Around every request: an id that the log and the answer share, and one line in the log."""

import logging
import time

from flask import Flask, Response, g, request

from docshare.server.logs import LOGGER
from docshare.server.shell import rt

_HEADER = "X-Request-Id"


def watch(app: Flask) -> None:
    """Give every request an id and log it once it is answered."""

    @app.before_request
    def _begin() -> None:
        g.request_id = rt().token(16)
        g.begun = time.monotonic()

    @app.after_request
    def _end(response: Response) -> Response:
        response.headers[_HEADER] = g.request_id
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
                },
            )
        return response
