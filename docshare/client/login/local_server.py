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
        place = urlsplit(url)
        named = place._replace(netloc=f"localhost:{place.port or 80}").geturl()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # Another loopback address is not meant: another program may listen there.
    known = {parse_origin(each) for each in (url, named, *([public] if by_public_address else []))}
    if not key or parse_origin(base) not in known:
        return None
    is_reachable = is_loopback(place.hostname or "") and is_locked(data_dir / "lock")
    return LocalServer(url, key) if is_reachable else None
