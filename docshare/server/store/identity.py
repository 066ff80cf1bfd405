"""The identity of a data directory: a random key that never leaves it, and a name derived from that key."""

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path


def instance_key(data_dir: Path) -> str:
    """Return the key of the admin channel, which is created on first use."""
    path = data_dir / "instance.key"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        key = secrets.token_hex(32)
        write_private(path, key + "\n")
        return key


def directory_id(data_dir: Path) -> str:
    """Return an id of the data directory, by which its processes identify each other in a shared database."""
    return hashlib.sha256(instance_key(data_dir).encode()).hexdigest()[:16]


def write_private(path: Path, text: str) -> None:
    """Write ``text`` atomically to a file that only its owner may read. Raises OSError."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
