"""One data directory, opened by the one process that owns it."""

import json
import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.server import faults
from docshare.server.backup import database_marker, placing
from docshare.server.backup.reading import IDENTITY_SECRET, hash_identity
from docshare.server.config import Config, ConfigError
from docshare.server.logs import LOGGER
from docshare.server.runtime import Runtime, build_runtime
from docshare.server.services.operations import encryption, sweeps
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.store import reserve
from docshare.server.store.database import SERVING_LOCK
from docshare.server.store.identity import directory_id, instance_key, write_private
from docshare.server.store.lock import DirectoryLock, read_holder
from docshare.server.store.migrations import migrate
from docshare.server.store.tables import contents as content_rows
from docshare.server.store.tables import instance as instance_rows

_DIRECTORIES = ("blobs", "tmp", "cache")
_REQUIRED_DOCUMENTS = 8  # of which one must be in the store


@dataclass(frozen=True)
class Instance:
    """An open data directory. ``key`` authenticates the admin channel and never leaves the directory."""

    rt: Runtime
    key: str


@dataclass(frozen=True)
class DirectoryOwner:
    """The server that owns a data directory: ``url`` is its loopback address, ``host`` the one it listens on (empty
    if unknown), ``key`` the instance key."""

    pid: int
    url: str
    base_url: str
    host: str
    key: str


@contextmanager
def open_instance(config: Config) -> Iterator[Instance]:
    """Open the data directory of ``config`` for the duration of the block; it is created and upgraded if necessary.

    On a full disk it is opened as far as it can be read, and a message is logged. Raises ``AlreadyLocked`` if another
    process owns it, ``DatabaseTooNew`` if a later version wrote it, and all errors that ``faults.find_fault`` knows.
    """
    os.umask(0o077)
    create_directories(config.data_dir)
    reserve.release_if_full(config.data_dir)
    with DirectoryLock(config.data_dir):
        placing.finish_restore(config.data_dir)  # if a crash interrupted it
        _require_database(config)
        rt = build_runtime(config, may_create_key=True)
        try:
            if rt.db.is_locked(SERVING_LOCK):
                raise ConfigError("database_url: docshare admin move is copying this database; start its copy instead")
            migrate(rt.db)
            encryption.require_master_key(rt)
            _require_same_folder(rt)
            _claim_storage(rt)
            _require_documents(rt)
            key = instance_key(config.data_dir)
            _clean_up(rt)
            yield Instance(rt, key)
        finally:
            rt.close()


@contextmanager
def join_instance(config: Config) -> Iterator[Instance]:
    """Use a data directory and a database that another process has opened, for the duration of the block: as one of
    its worker processes, or for an admin command."""
    os.umask(0o077)
    rt = build_runtime(config)
    try:
        yield Instance(rt, instance_key(config.data_dir))
    finally:
        rt.close()


def _require_database(config: Config) -> None:
    """Raise ConfigError if the directory has documents but no database: a new one would have no rows for them, so all
    of them would be removed as leftovers of a crash."""
    database = config.database_path
    if config.database_url is not None or (database.exists() and database.stat().st_size > 0):
        return
    if any(path.is_file() for path in (config.data_dir / "blobs").rglob("*")):
        raise ConfigError(
            f"{database} is missing or empty, but its documents are in {config.data_dir / 'blobs'}: put the database "
            "back, or restore a backup (docshare admin restore); to begin anew, use another directory"
        )


def _require_same_folder(rt: Runtime) -> None:
    """Raise ConfigError if the documents of a shared database are in the data directory of another instance."""
    if not rt.db.is_shared or rt.blobs.is_shared:
        return
    own_id = directory_id(rt.config.data_dir).encode()
    instance_rows.insert_secret(rt.db, instance_rows.FOLDER_SECRET, own_id)
    if instance_rows.find_secret(rt.db, instance_rows.FOLDER_SECRET) != own_id:
        raise ConfigError(
            "storage_url: the documents of this database are in another data directory; for several instances set "
            "DOCSHARE_STORAGE_URL, and on a new machine copy the whole directory with its instance.key"
        )


def _claim_storage(rt: Runtime) -> None:
    """Raise ConfigError if a store that several instances may use has the documents of others, whose bytes would be
    orphans here, and StorageUnreachableError or OSError if it cannot be used now."""
    if not rt.blobs.is_shared:
        return
    own_name = hash_identity(instance_secret(rt, IDENTITY_SECRET))
    try:
        owner = rt.blobs.claim(own_name)
    except OSError as error:
        if faults.find_fault(error) is not None:
            raise
        raise ConfigError(f"storage_url: {error.strerror}: {error.filename}") from None
    if owner != own_name:
        raise ConfigError(
            "storage_url: the store has the documents of another database; name another bucket, prefix, or folder"
        )


def _require_documents(rt: Runtime) -> None:
    """Raise ConfigError if the folder of documents has none of the newest, as on a disk that is not mounted: documents
    uploaded now would be hidden once it is. Only log a warning if several instances share the database or the store,
    where no command freezes the links of lost documents. Raises OSError and StorageUnreachableError."""
    newest = content_rows.list_open_blobs(rt.db, _REQUIRED_DOCUMENTS)
    if not newest or any(map(rt.blobs.exists, newest)):
        return
    if rt.db.is_shared or rt.blobs.is_shared:
        LOGGER.warning("the store has none of the %d newest documents of this database", len(newest))
        return
    folder, directory = rt.config.data_dir / "blobs", shlex.quote(str(rt.config.data_dir))
    raise ConfigError(
        f"{folder} has none of the newest documents: mount their disk, put them back, or restore a backup (docshare "
        f"admin restore); if they are lost, docshare admin check --repair --data {directory} freezes their links"
    )


def _mark_database(rt: Runtime) -> None:
    """Store in the data directory in which database its rows are. Raise ConfigError if its documents belong to another
    database, before they are removed as leftovers. Raises OSError."""
    if rt.config.database_url is None:
        return
    name = hash_identity(instance_secret(rt, IDENTITY_SECRET))
    if not rt.blobs.is_shared:
        database_marker.require_own_database(rt.config.data_dir, name)
    database_marker.mark_database(rt.config.data_dir, rt.config.database_url, name)


def _clean_up(rt: Runtime) -> None:
    """Clean up after a crash. If the disk is read-only or full, this is postponed until the next start."""
    try:
        instance_secret(rt, IDENTITY_SECRET)
        _mark_database(rt)
        sweeps.clean_at_start(rt)
        _remove_caches_of_earlier_workers(rt.config)
        reserve.ensure_reserve(rt.config.data_dir)
    except Exception as error:
        if faults.find_fault(error) in (None, faults.DATABASE_DAMAGED):
            raise
        faults.log_error(error, "the data directory could not be cleaned up")
    if reserve.is_spent(rt.config.data_dir):
        LOGGER.warning("the disk is full: documents can be read, but every change fails with 503")


def _remove_caches_of_earlier_workers(config: Config) -> None:
    """Remove the caches of former worker processes, if there were more than today. Each current one cleans up after
    itself."""
    with suppress(FileNotFoundError):
        for folder in (config.data_dir / "workers").iterdir():
            if config.workers == 1 or int(folder.name) > config.workers:
                shutil.rmtree(folder)


def create_directories(data_dir: Path) -> None:
    """Create the data directory and its folders, readable only by their owner."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _DIRECTORIES:
        (data_dir / name).mkdir(mode=0o700, exist_ok=True)


def announce(instance: Instance, url: str, host: str) -> None:
    """Store in the data directory where its server answers (``url``) and listens (``host``)."""
    rt = instance.rt
    facts = {"pid": os.getpid(), "url": url, "host": host, "baseUrl": rt.config.base_url, "startedAt": rt.clock()}
    path, text = _announcement_path(rt.config.data_dir), json.dumps(facts) + "\n"
    try:
        write_private(path, text)
    except OSError as error:
        if not _overwrite(path, text):
            faults.log_error(error, "docshare admin cannot reach this server before its next start")


def read_owner(data_dir: Path) -> DirectoryOwner | None:
    """Return the last server that announced itself for ``data_dir``, or None. It runs only if the lock is held."""
    try:
        facts: dict[str, Any] = json.loads(_announcement_path(data_dir).read_text(encoding="utf-8"))
        url, base_url, host = str(facts["url"]), str(facts["baseUrl"]), str(facts.get("host", ""))
        return DirectoryOwner(int(facts["pid"]), url, base_url, host, instance_key(data_dir))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def read_running_owner(data_dir: Path) -> DirectoryOwner | None:
    """Return the server that holds the lock of ``data_dir``, which is locked. Return None if its holder has not
    announced itself, because it is starting or no server: another program may listen at the address of the server
    before, and must not get the instance key."""
    owner = read_owner(data_dir)
    return owner if owner is not None and read_holder(data_dir / "lock") in (owner.pid, None) else None


def _announcement_path(data_dir: Path) -> Path:
    return data_dir / "server.json"


def _overwrite(path: Path, text: str) -> bool:
    """Overwrite an existing file with ``text``, padded with blanks; return whether that was possible.

    A full disk has no room for a new file, but most file systems can overwrite existing bytes.
    """
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "wb", buffering=0) as file:
            data = text.encode().ljust(os.fstat(file.fileno()).st_size)
            written = file.write(data)
            os.fsync(file.fileno())
    except OSError:
        return False
    return written == len(data)
