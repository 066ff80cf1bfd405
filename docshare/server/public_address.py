"""The public address of the server, in the form that browsers use for an origin, because it is compared with theirs."""

import ipaddress
from urllib.parse import urlsplit

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


def to_ascii_host(host: str) -> str:
    """Return a host name in lower case in the ASCII form of DNS (``xn--...``), which headers of responses require.

    Raises ValueError for a name that cannot be converted without a doubt: the codec maps some letters to others (ß to
    ss), which can result in the name of another host.
    """
    if host.isascii():
        return host
    try:
        encoded = host.encode("idna").decode()
        is_same = encoded.encode().decode("idna") == host
    except UnicodeError:
        is_same = False
    if not is_same:
        raise ValueError("write the host in ASCII, as xn--...")
    return encoded


def _format_ipv6(host: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(host).compressed}]"
    except ValueError as error:
        raise ValueError("expected an IPv6 address in the brackets") from error
