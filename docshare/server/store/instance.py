"""One data directory, opened by the one process that owns it."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.server.backup import placing
from docshare.server.backup.reading import IDENTITY_SECRET
from docshare.server.config import Config, ConfigError
from docshare.server.http import faults
from docshare.server.logs import LOGGER
from docshare.server.runtime import Runtime, build_runtime
from docshare.server.services.operations import sweeps
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.store import reserve
from docshare.server.store.lock import DirectoryLock
from docshare.server.store.migrations import migrate
from docshare.server.store.tables import instance as instance_rows

_VAULT_FINGERPRINT = "vault-fingerprint"
_DIRECTORIES = ("blobs", "tmp", "cache")


@dataclass(frozen=True)
class Instance:
    """An open data directory. ``key`` opens the admin channel and never leaves the directory."""

    rt: Runtime
    key: str


@dataclass(frozen=True)
class DirectoryOwner:
    """The server that owns a data directory: ``url`` is its loopback address, ``host`` the one it listens on (empty if
    it did not say), ``key`` the instance key."""

    pid: int
    url: str
    base_url: str
    host: str
    key: str


@contextmanager
def open_instance(config: Config) -> Iterator[Instance]:
    """Own the data directory of ``config`` for the length of the block; made and brought up to date as needed.

    On a full disk it opens as far as it can be read, and the log says so. Raises ``AlreadyLocked`` when another process
    owns it, ``TooNew`` when a later version wrote it, and whatever ``faults.fault_of`` knows.
    """
    os.umask(0o077)
    create_directories(config.data_dir)
    reserve.release_if_full(config.data_dir)
    with DirectoryLock(config.data_dir):
        placing.finish_restore(config.data_dir)  # if a crash came between its steps
        rt = build_runtime(config)
        try:
            migrate(rt.db)
            _require_same_key(rt)
            key = instance_key(config.data_dir)
            _clean_up(rt)
            yield Instance(rt, key)
        finally:
            rt.close()


def _require_same_key(rt: Runtime) -> None:
    """Raise ConfigError if other instances on the same database seal secrets with another key than this one.

    A single instance may lose its key, and then signs no webhook that it had; it must start nevertheless.
    """
    if not rt.db.is_shared:
        return
    fingerprint = rt.vault.fingerprint()
    instance_rows.insert_secret(rt.db, _VAULT_FINGERPRINT, fingerprint)
    if instance_rows.find_secret(rt.db, _VAULT_FINGERPRINT) != fingerprint:
        raise ConfigError(
            f"secret_key_file: {rt.config.vault_path} is not the key of this database; "
            "every instance on it needs the same file"
        )


def _clean_up(rt: Runtime) -> None:
    """Clean up after a crash. A disk that takes no write puts that off until the next start."""
    try:
        instance_secret(rt, IDENTITY_SECRET)
        sweeps.clean_at_start(rt)
        reserve.ensure_reserve(rt.config.data_dir)
    except Exception as error:
        if faults.find_fault(error) in (None, faults.DATABASE_DAMAGED):
            raise
        faults.log_error(error, "the data directory could not be tidied")
    if reserve.is_spent(rt.config.data_dir):
        LOGGER.warning("the disk is full: documents can be read, but every change is answered with 503")


def create_directories(data_dir: Path) -> None:
    """Make the data directory and its folders, readable by their owner alone."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _DIRECTORIES:
        (data_dir / name).mkdir(mode=0o700, exist_ok=True)


def instance_key(data_dir: Path) -> str:
    """The key of the admin channel, made once."""
    path = data_dir / "instance.key"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        key = secrets.token_hex(32)
        _write_private(path, key + "\n")
        return key


def announce(instance: Instance, url: str, host: str) -> None:
    """Leave word in the data directory of where its server answers (``url``) and listens (``host``)."""
    rt = instance.rt
    word = {"pid": os.getpid(), "url": url, "host": host, "baseUrl": rt.config.base_url, "startedAt": rt.clock()}
    path, text = _announcement_path(rt.config.data_dir), json.dumps(word) + "\n"
    try:
        _write_private(path, text)
    except OSError as error:
        if not _overwrite(path, text):
            faults.log_error(error, "docshare admin cannot reach this server before its next start")


def read_owner(data_dir: Path) -> DirectoryOwner | None:
    """The server that last said it owns ``data_dir``, or None. Only a held lock shows that it still does."""
    try:
        word: dict[str, Any] = json.loads(_announcement_path(data_dir).read_text(encoding="utf-8"))
        url, base_url, host = str(word["url"]), str(word["baseUrl"]), str(word.get("host", ""))
        return DirectoryOwner(int(word["pid"]), url, base_url, host, instance_key(data_dir))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _announcement_path(data_dir: Path) -> Path:
    return data_dir / "server.json"


def _write_private(path: Path, text: str) -> None:
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


def _overwrite(path: Path, text: str) -> bool:
    """Write ``text`` over what an existing file holds, and blanks over the rest; returns whether that was possible.

    A full disk has no room for a new file, but most file systems take new bytes for the ones that are there.
    """
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "wb", buffering=0) as file:
            data = text.encode().ljust(os.fstat(file.fileno()).st_size)
            written = file.write(data)
            os.fsync(file.fileno())
    except OSError:
        return False
    return written == len(data)
