"""Find the loopback URL and key of the server that runs on this host's data directory.

They are in files that only the operator can read.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from docshare.client.address import is_loopback, parse_origin
from docshare.private_files import is_locked

LOCAL_PROFILE = "local"  # the profile that ``docshare serve`` keeps


@dataclass(frozen=True)
class LocalServer:
    """``url``: where the server answers on this host; ``key``: the key of its data directory."""

    url: str
    key: str = field(repr=False)


def read_local_server(data_dir: Path, base: str, *, by_public_address: bool) -> LocalServer | None:
    """Return access to the server at ``base`` if it runs on ``data_dir`` and answers on loopback, else None.

    ``by_public_address``: ``base`` may be its public URL. Return None, too, if the files are not readable.
    """
    try:
        record = json.loads((data_dir / "server.json").read_text(encoding="utf-8"))
        url, public, pid = str(record["url"]), str(record["baseUrl"]), int(record["pid"])
        # The record may be stale and its port reused by now: it is valid only if the holder of the lock wrote it.
        if (data_dir / "lock").read_text(encoding="ascii").strip() != str(pid):
            return None
        key = (data_dir / "instance.key").read_text(encoding="ascii").strip()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_meant = _is_loopback_port(base, url) or (by_public_address and parse_origin(base) == parse_origin(public))
    if not key or not is_meant or not _is_loopback_port(url, url) or not is_locked(data_dir / "lock"):
        return None
    return LocalServer(url, key)


def _is_loopback_port(base: str, url: str) -> bool:
    """Return whether ``base`` is the port of ``url`` on this host, whichever name of this host it has."""
    try:
        parts, known = urlsplit(base), urlsplit(url)
        return is_loopback(parts.hostname or "") and (parts.scheme, parts.port) == (known.scheme, known.port)
    except ValueError:
        return False
