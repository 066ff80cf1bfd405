"""Wires the application together."""

import re
from collections.abc import Callable
from typing import Any

from flask import Flask

from docshare.contract.fields import RESERVED_SLUGS
from docshare.server import admin, api, web
from docshare.server.http import health, metrics, views
from docshare.server.http.request_log import register_request_log
from docshare.server.http.uploads import UploadRequest
from docshare.server.runtime import Runtime

_LINK_PAGE = re.compile(r"/(?:embed/)?([^/]+)|/api/files/[^/]+/qr-code")


class SynchronousFlask(Flask):
    """A Flask application without coroutines.

    Flask would inspect every view and hook in every request, which is 5 % of the CPU time of a small JSON response.
    """

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``func`` as it is."""
        return func


def create_app(runtime: Runtime) -> Flask:
    """Return the WSGI application of one instance: API, pages, admin channel, and the request log.

    Parameters: ``runtime`` everything outside the process, its database migrated.
    """
    app = _build_app()
    set_runtime(app, runtime)
    return app


def is_link_page(method: str, path: str) -> bool:
    """Return whether a request is for a page, an embed page, a QR code or an oEmbed document of a link, which this
    process computes by itself."""
    found = _LINK_PAGE.fullmatch(path) if method in ("GET", "HEAD") else None
    return found is not None and (found[1] == "oembed" or found[1] not in RESERVED_SLUGS)


def set_runtime(app: Flask, runtime: Runtime) -> None:
    """Make ``app`` serve the instance of ``runtime`` from now on."""
    views.attach_runtime(app, runtime)
    web.prepare_pages(runtime)


def _build_app() -> Flask:
    app = SynchronousFlask("docshare.server", static_folder=None, template_folder="web/templates")
    app.request_class = UploadRequest
    app.json.sort_keys = False  # type: ignore[attr-defined]  # the contract fixes the order of keys
    register_request_log(app)
    api.register(app)
    web.register(app)
    admin.register(app)
    health.register(app)
    metrics.register(app)
    return app
