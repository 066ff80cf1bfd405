"""Answer ``/healthz``: 200 if the database and the storage work.

``/healthz?details`` reports as JSON which of them work, whether Redis responds if it is configured, which layers
confine the processes that open documents, and how many documents are encrypted. An instance that cannot reach Redis
still serves everybody, so it returns 200 and proxies keep it in service. With the token of a probe (``?probe=``), the
server also records how the request arrived, for ``docshare doctor``.
"""

import json
from typing import Any
from urllib.parse import parse_qs

from flask import Flask, Response, request

from docshare.server.http.views import client_address, current_runtime, is_trusted_proxy
from docshare.server.services.operations.encryption import count_encrypted

PATH = "/healthz"
_RETRY_SECONDS = "5"
_PROBE_PARAMETER = "probe"
# Headers that proxies often drop. They carry API keys, sessions, revalidation of caches, and resumed downloads.
_RECORDED_HEADERS = ("Authorization", "Cookie", "If-None-Match", "Range")


def register(app: Flask) -> None:
    """Register the routes of health checks and probes."""
    app.add_url_rule(PATH, "health", _report_health, methods=["GET"])
    app.add_url_rule(PATH, "probe", _receive_probe, methods=["POST"])


def parse_probe_token(query: str) -> str:
    """Return the token in the query of a probe, or an empty text."""
    return parse_qs(query).get(_PROBE_PARAMETER, [""])[0]


def _report_health() -> Response:
    _record_probe()
    runtime = current_runtime()
    components = {"database": runtime.db.is_answering(), "storage": runtime.blobs.is_writable()}
    is_healthy = all(components.values())
    if "details" in request.args:
        status = "ok" if is_healthy else "unavailable"
        body = {
            "status": status,
            **components,
            **_describe_redis(),
            "confinement": _describe_confinement(),
            "encryption": _describe_encryption(has_database=components["database"]),
        }
        if runtime.db.is_shared:
            body["instance"] = runtime.config.process_name
        return _build_response(json.dumps(body), 200 if is_healthy else 503, "application/json")
    return _text_response(*(("ok\n", 200) if is_healthy else ("unavailable\n", 503)))


def _receive_probe() -> Response:
    """Answer a probe whose body the listener has counted and discarded: it tests how large a body may be."""
    return _text_response("ok\n", 200) if _record_probe() else _text_response("Not found\n", 404)


def _record_probe() -> bool:
    """Record the request if it belongs to a probe; return whether it does."""
    runtime, token = current_runtime(), request.args.get(_PROBE_PARAMETER, "")
    if not runtime.probes.is_active(token, runtime.clock()):
        return False
    peer = request.remote_addr or ""
    facts = {
        "method": request.method,
        "peer": peer,
        "trusted": is_trusted_proxy(runtime, peer),
        "client": client_address(),
        "size": request.content_length or 0,
        "arrived": [name for name in _RECORDED_HEADERS if name in request.headers],
        "forwardedFor": request.headers.get("X-Forwarded-For"),
        "host": request.headers.get("Host"),
    }
    runtime.probes.record(token, facts)
    return True


def _describe_redis() -> dict[str, bool]:
    """Return whether Redis responds; nothing for an instance without Redis."""
    shared = current_runtime().shared
    return {} if shared is None else {"redis": shared.is_answering()}


def _describe_encryption(*, has_database: bool) -> dict[str, Any]:
    """Return whether new documents are encrypted, and how many of the stored ones are."""
    found: dict[str, Any] = {"on": current_runtime().config.encryption}
    if has_database:
        found["encrypted"], found["stored"] = count_encrypted(current_runtime())
    return found


def _describe_confinement() -> dict[str, Any]:
    """Return the names of the active and of the missing layers, or neither before the first measurement."""
    found: dict[str, Any] = {"required": current_runtime().confinement.required}
    layers = current_runtime().confinement.layers
    if layers is None:
        return found
    missing = list(layers.list_missing())
    active = [name for name in layers.missing if name not in missing]
    return {**found, "active": active, "missing": missing, "landlock": layers.landlock}


def _text_response(text: str, status: int) -> Response:
    return _build_response(text, status, "text/plain; charset=utf-8")


def _build_response(text: str, status: int, content_type: str) -> Response:
    headers = {"Cache-Control": "no-store"}
    if status == 503:
        headers["Retry-After"] = _RETRY_SECONDS
    return Response(text, status, headers=headers, content_type=content_type)
