"""Wires the application together."""

import re
from collections.abc import Callable
from typing import Any

from flask import Flask

from docshare.contract.fields import RESERVED_SLUGS
from docshare.server import admin, api, web
from docshare.server.http import health, metrics, views
from docshare.server.http.fair_queue import ComputedKind
from docshare.server.http.request_log import register_request_log
from docshare.server.http.uploads import UploadRequest
from docshare.server.runtime import Runtime

_PUBLIC_API = re.compile(r"/api/files/[^/]+/(?:qr-code|metadata)")


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


def find_kind(method: str, path: str) -> ComputedKind | None:
    """Return the kind of a request that this process computes by itself, or None: for all that changes something, and
    for health, metrics and administration, which must not wait."""
    if method not in ("GET", "HEAD"):
        return None
    first, _, rest = path[1:].partition("/")
    if first in ("embed", "oembed") or _PUBLIC_API.fullmatch(path):
        return ComputedKind.LINK_PAGE
    if first in ("_admin", "healthz", "metrics"):
        return None
    if first == "api":
        return ComputedKind.API
    if first == "static":
        return ComputedKind.PAGE_PART
    if not first or first in RESERVED_SLUGS:
        return ComputedKind.OTHER_PAGE
    return ComputedKind.PAGE_PART if rest else ComputedKind.LINK_PAGE


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
