"""Functions for all views: the runtime, and the client, the proxy and the origin of a request."""

import ipaddress
import re
from typing import cast

from flask import Flask, current_app, request

from docshare.server.http.proxy_probes import is_within
from docshare.server.logs import LOGGER
from docshare.server.outbound.location import parse_country_code
from docshare.server.runtime import Runtime

_EXTENSION_KEY = "docshare"
_HEALTH_PATH = "/healthz"  # docshare doctor sends X-Forwarded-For there
_HOP_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5}", re.ASCII)


def attach_runtime(app: Flask, runtime: Runtime) -> None:
    """Attach ``runtime`` to the application."""
    app.extensions[_EXTENSION_KEY] = runtime


def current_runtime() -> Runtime:
    """Return the runtime of the application that answers this request."""
    return cast(Runtime, current_app.extensions[_EXTENSION_KEY])


def client_address() -> str:
    """Return the IP address of the client. ``X-Forwarded-For`` is only used if it comes from a trusted proxy."""
    return resolve_client_address(current_runtime(), request.remote_addr or "", request.headers.get("X-Forwarded-For"))


def report_untrusted_proxy() -> None:
    """Log a warning if the request comes from a proxy that is not trusted.

    The server sees all readers behind such a proxy under one address. If one of them requests too many unknown links,
    the rate limit rejects the requests of all of them.
    """
    if "X-Forwarded-For" not in request.headers or request.path == _HEALTH_PATH:
        return
    runtime, peer = current_runtime(), request.remote_addr or ""
    if is_trusted_proxy(runtime, peer):
        return
    if runtime.untrusted_proxies.record(peer, runtime.clock()):
        LOGGER.warning("proxy not trusted", extra={"peer": peer, "fix": f"DOCSHARE_TRUSTED_PROXIES={peer}"})


def is_trusted_proxy(runtime: Runtime, peer: str) -> bool:
    """Return whether ``peer``, the address at the other end of the socket, is a proxy trusted by the operator."""
    return is_within(peer, runtime.config.trusted_proxies)


def resolve_client_address(runtime: Runtime, peer: str, forwarded: str | None) -> str:
    """Return the address of the client: the first one that is not a trusted proxy, starting with ``peer`` and then
    from the last hop of ``forwarded`` backwards."""
    for hop in reversed((forwarded or "").split(",")):
        if not is_trusted_proxy(runtime, peer):
            break
        try:
            peer = str(ipaddress.ip_address(_strip_port(hop.strip())))
        except ValueError:
            break
    return peer


def is_same_origin(runtime: Runtime, site: str | None, origin: str | None) -> bool:
    """Return whether a request that changes something came from a page of this server.

    ``site`` and ``origin`` are the values of ``Sec-Fetch-Site`` and ``Origin`` (None: not sent). A client that sends
    neither is not a browser, so it cannot send the cookies of a person by accident.
    """
    return site == "same-origin" if site is not None else origin in (None, runtime.config.base_url)


def _strip_port(hop: str) -> str:
    """Return ``hop`` without a port.

    It may be an address, ``1.2.3.4:5678``, ``[::1]`` or ``[::1]:80``; some proxies add the port.
    """
    found = _HOP_WITH_PORT.fullmatch(hop)
    return found[1] or found[2] if found else hop


def client_country() -> str | None:
    """Return the reader's country: from the header of a trusted proxy, else from the operator's database, else
    unknown."""
    runtime = current_runtime()
    header = runtime.config.country_header
    if header and is_trusted_proxy(runtime, request.remote_addr or ""):
        code = parse_country_code(request.headers.get(header, "").strip())
        if code is not None:
            return code
    return runtime.locate(client_address())
