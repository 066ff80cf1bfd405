"""The public address of the server, in the form that browsers use for an origin, because it is compared with theirs."""

import ipaddress
from urllib.parse import urlsplit

from docshare.contract.wire import to_ascii_host

_DEFAULT_PORTS = {"http": 80, "https": 443}


def parse_base_url(text: str) -> str:
    """Return the origin of an address that an operator wrote. Raises ValueError."""
    parts = urlsplit(text.rstrip("/"))
    extras = parts.query or parts.fragment or parts.path or parts.username is not None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or extras:
        raise ValueError("expected an address like https://docs.example.com, without a path")
    host = _format_ipv6(parts.hostname) if ":" in parts.hostname else to_ascii_host(parts.hostname)
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _format_ipv6(host: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(host).compressed}]"
    except ValueError as error:
        raise ValueError("expected an IPv6 address in the brackets") from error
