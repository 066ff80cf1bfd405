"""Base addresses and origins. A credential is bound to the origin of its base address."""

from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from docshare.client.errors import BadAddress

_DEFAULT_PORTS = {"http": 80, "https": 443}


class BaseAddress(NamedTuple):
    """``base``: the address without a trailing slash; ``origin``: scheme, host, and port unless it is the default."""

    base: str
    origin: str


def parse_address(base_url: str, *, with_token: bool, allow_http: bool) -> BaseAddress:
    """Parse a base URL. Raise ``BadAddress`` if it is not an http(s) address, contains userinfo, a query, or a
    fragment, or if a token would leave this machine unencrypted without ``allow_http``."""
    text = base_url.strip()
    try:
        parts = urlsplit(text)
        origin = _format_origin(parts)
    except ValueError as error:
        raise BadAddress(f"'{base_url}' is not a usable address: {error}") from error
    blank = " " in text or not text.isprintable()
    if not origin or blank or parts.query or parts.fragment or "@" in parts.netloc:
        raise BadAddress(f"'{base_url}' is not an address of the form https://host[:port][/path]")
    if with_token and parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname or ""):
        raise BadAddress(
            f"the credential would travel unencrypted to {parts.hostname}",
            hint="Use https, or pass --allow-http to send it over plain http.",
        )
    return BaseAddress(base=origin + parts.path.rstrip("/"), origin=origin)


def parse_origin(url: str) -> str:
    """Return the scheme, host, and non-default port of a URL; empty if it has none."""
    try:
        return _format_origin(urlsplit(url))
    except ValueError:
        return ""


def _format_origin(parts: SplitResult) -> str:
    host, port = parts.hostname, parts.port
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return ""
    name = f"[{host}]" if ":" in host else host
    return (
        f"{parts.scheme}://{name}"
        if port in (None, _DEFAULT_PORTS[parts.scheme])
        else f"{parts.scheme}://{name}:{port}"
    )


def is_loopback(host: str) -> bool:
    """Return whether ``host`` (without brackets) is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
