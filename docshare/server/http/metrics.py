"""Answer ``/metrics`` for Prometheus, to callers that the setting ``metrics`` admits.

For all others, the path is an ordinary custom link. It is unknown, unless a file got it before it was reserved.
"""

import hmac
import ipaddress
from collections.abc import Iterable
from typing import cast
from urllib.parse import urlsplit

from flask import Flask, Response, current_app, request

from docshare.server import exposition
from docshare.server.config import METRICS_TOKEN_PREFIX, Config
from docshare.server.http.views import current_runtime
from docshare.server.services.operations import worker_metrics

_NAME = "metrics"
_LINK_ENDPOINT = "public.share_page"
_SCHEME = "Bearer "
# A proxy on this machine connects from loopback on behalf of anybody.
_FORWARDING_HEADERS = frozenset({"forwarded", "via", "x-real-ip"})
_FORWARDING_PREFIX = "x-forwarded-"


def register(app: Flask) -> None:
    """Register the route of the metrics."""
    app.add_url_rule(f"/{_NAME}", _NAME, _report_metrics, methods=["GET"])


def _report_metrics() -> Response:
    rt = current_runtime()
    if not _is_admitted(rt.config):
        return cast(Response, current_app.view_functions[_LINK_ENDPOINT](_NAME))
    text = exposition.render(worker_metrics.collect_all(rt))
    return Response(text, headers={"Cache-Control": "no-store"}, content_type=exposition.CONTENT_TYPE)


def _is_admitted(config: Config) -> bool:
    access = config.metrics or ("local" if _is_loopback(urlsplit(config.base_url).hostname) else "off")
    if access.startswith(METRICS_TOKEN_PREFIX):
        expected = _SCHEME + access.removeprefix(METRICS_TOKEN_PREFIX)
        return hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected.encode())
    return access == "local" and _is_loopback(request.remote_addr) and not _is_forwarded(request.headers.keys())


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _is_forwarded(names: Iterable[str]) -> bool:
    return any(name.lower() in _FORWARDING_HEADERS or name.lower().startswith(_FORWARDING_PREFIX) for name in names)
