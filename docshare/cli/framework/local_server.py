"""The door of the server that runs on this host's data directory: its loopback address, and the key to prove it by.

Read from files that only the operator can read, without the server's modules: every command on this host asks.
"""

from pathlib import Path
from typing import NamedTuple

from docshare.client.address import is_loopback, origin_of


class LocalServer(NamedTuple):
    """``url``: where the server answers on this host; ``key``: that of its data directory."""

    url: str
    key: str


def read_local_server(data_dir: Path, origin: str, *, by_public_address: bool) -> LocalServer | None:
    """The door of the server at ``origin``, if it is the one that runs on ``data_dir`` now and answers on loopback.

    ``by_public_address``: ``origin`` may be its public one. None too where the files are not ours to read.
    """
    import json

    try:
        told = json.loads((data_dir / "server.json").read_text(encoding="utf-8"))
        url, public, pid = str(told["url"]), str(told["baseUrl"]), int(told["pid"])
        # Its last word may be old, and the port somebody else's by now: the one who holds the lock must have said it.
        if (data_dir / "lock").read_text(encoding="ascii").strip() != str(pid):
            return None
        key = (data_dir / "instance.key").read_text(encoding="ascii").strip()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    known = (origin_of(url), origin_of(public)) if by_public_address else (origin_of(url),)
    if not key or origin not in known or not _is_local_address(url) or not _is_held(data_dir / "lock"):
        return None
    return LocalServer(url, key)


def _is_local_address(url: str) -> bool:
    from urllib.parse import urlsplit

    return is_loopback(urlsplit(url).hostname or "")


def _is_held(path: Path) -> bool:
    from docshare.server.store.lock import is_locked

    return is_locked(path)
