"""The addresses of engines in the settings: PostgreSQL, Redis, and the store of documents."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from docshare.server.rules.storage_url import parse_storage_url

_REDIS_PATH = re.compile(r"(?:/[0-9]{0,4})?", re.ASCII)  # the number of a database
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_NUMBERS = (
    "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
)  # fmt: skip
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_REDIS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


def parse_database_url(text: str) -> str:
    """Return the address of a PostgreSQL database. Raises ValueError, which never shows its password."""
    parts = urlsplit(text)
    if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
        raise ValueError("expected an address like postgresql://user:password@host/database")
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise ValueError("PostgreSQL needs the extra packages of docshare[cluster]")
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        is_valid = _is_valid(conninfo_to_dict(text))
    except ProgrammingError:
        is_valid = False
    if not is_valid:
        # Messages of the driver would show the password.
        raise ValueError("invalid address; check its options, and encode special characters, such as %25 for %")
    return text


def _is_valid(options: Mapping[str, Any]) -> bool:
    """Return whether the options of an address have values that the driver accepts: it checks them on each connection
    only. There may be a port for each of several hosts."""
    ports = str(options.get("port", "")).split(",")
    return (
        all(port == "" or (_NUMBER.fullmatch(port) and 0 < int(port) < 65_536) for port in ports)
        and all(_NUMBER.fullmatch(str(options.get(name, 0))) for name in _NUMBERS)
        and options.get("sslmode", "prefer") in _SSL_MODES
    )


def parse_redis_url(text: str) -> str:
    """Return the address of a Redis server. Raises ValueError."""
    parts = urlsplit(text)
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or not _REDIS_PATH.fullmatch(parts.path):
        raise ValueError("expected an address like redis://user:password@host:6379/0 or rediss://host")
    _ = parts.port  # raises ValueError
    for name, file in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _REDIS_FILES or parts.scheme != "rediss":
            raise ValueError(f"unknown option '{name}'; rediss:// accepts {', '.join(_REDIS_FILES)}")
        if not Path(file).expanduser().is_file():
            raise ValueError(f"no such file: {file}")
    if find_spec("redis") is None:
        raise ValueError("Redis needs the extra packages of docshare[cluster]")
    return text


def parse_storage(text: str) -> str:
    """Return the address of a bucket or folder. Raises ValueError."""
    address = parse_storage_url(text)
    if isinstance(address, Path):
        if not address.is_dir():
            raise ValueError(f"no such folder: {address}")
    elif find_spec("obstore") is None:
        raise ValueError("a bucket needs the extra packages of docshare[cluster]")
    return text
