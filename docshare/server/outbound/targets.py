"""Parse a URL, once for both the check and the connection."""

from dataclasses import dataclass
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class OutboundTarget:
    """A parsed URL: ``scheme`` is ``http`` or ``https``; ``host`` in lower case, an IPv6 address without brackets;
    ``path`` with the query, as sent in the request line."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def bare_host(self) -> str:
        """Return the host as written in a URL: brackets around IPv6, without the port."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def host_header(self) -> str:
        """Return the value of ``Host``, with the port unless it is the default of the scheme."""
        return self.bare_host if self.port == _DEFAULT_PORTS[self.scheme] else f"{self.bare_host}:{self.port}"


def parse_target(url: str) -> OutboundTarget:
    """Parse ``url``.

    Raises ValueError for anything that two parsers could read differently: backslashes, spaces, control characters,
    non-ASCII letters, a user name; and for any other scheme than http and https.
    """
    if not url.isascii() or not url.isprintable() or "\\" in url or " " in url:
        raise ValueError("the address contains invalid characters")
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc:
        raise ValueError("not an http or https address")
    port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    if not port:
        raise ValueError("no port")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return OutboundTarget(parts.scheme, parts.hostname, port, path)
