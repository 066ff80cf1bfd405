"""Make a backup of an instance, whether its server is running or not.

The order makes it complete: first the lock that keeps blobs from being deleted, then a snapshot of the database, then
the blobs that the snapshot refers to. A blob whose row is deleted meanwhile is in the backup, and is deleted from the
store once the backup has ended or its process has died.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from docshare import __version__
from docshare.server.backup import contents, durable, reading
from docshare.server.backup.archive import Progress, Sink
from docshare.server.backup.manifest import CONFIG, DATABASE, VAULT_KEY, BlobContent, Manifest, Member
from docshare.server.store.blobs import BACKUP_LOCK, REMOVAL_JOB, BlobPath, BlobStore, open_folder
from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.lock import AlreadyLocked, DirectoryLock
from docshare.server.store.master_keys import KeyFile, MasterKeyError
from docshare.server.store.stored_bytes import RemoteBlob
from docshare.server.store.tables import contents as content_rows
from docshare.server.store.tables.contents import BlobRow
from docshare.server.store.vault import Vault

_LOCK_ATTEMPTS, _LOCK_PAUSE_S = 100, 0.05  # a server that deletes blobs holds the lock for a moment


@dataclass(frozen=True)
class BackupResult:
    """A finished backup. ``sha256`` of its manifest; ``written``: bytes that were not in the backup before;
    ``undecryptable``: how many documents and assets the key file in it does not decrypt."""

    manifest: Manifest
    sha256: str
    written: int
    undecryptable: int


@dataclass(frozen=True)
class ExternalParts:
    """The parts of an instance that are not in its data directory.

    ``copy_database`` writes a snapshot of a PostgreSQL database to a new SQLite file and reports the bytes, None where
    the database is in the directory; ``hold`` keeps other instances from deleting bytes and raises AlreadyLocked;
    ``key`` is the file that decrypts secrets; ``blobs`` the store of the bytes, None for the directory.
    """

    copy_database: Callable[[Path, Progress], None] | None
    hold: Callable[[], AbstractContextManager[None]]
    key: Path
    blobs: BlobStore | None


@dataclass
class _BlobCollector:
    """Copy the blobs of the instance into the backup. ``counts_keys``: count those that the master key does not
    decrypt."""

    store: BlobStore
    vault: Vault
    sink: Sink
    progress: Progress
    counts_keys: bool
    undecryptable: int = 0
    found: dict[str, tuple[int, list[str]]] = field(default_factory=dict)  # size and keys, by digest
    damaged: dict[str, str] = field(default_factory=dict)

    def collect(self, row: BlobRow) -> None:
        """Add the bytes of ``row`` to the backup, unless it contains them."""
        if self.counts_keys and not contents.has_key(row, self.vault):
            self.undecryptable += 1
        digest = row.sha256 or self.sink.find_digest(row.blob)
        if digest is None or not self.sink.has(digest, row.size):
            digest = self._copy_blob(row)
        else:
            self.progress(row.size)
        if digest is not None:
            self.found.setdefault(digest, (row.size, []))[1].append(row.blob)

    def list_contents(self) -> dict[str, BlobContent]:
        """Return the collected contents by SHA-256."""
        return {digest: BlobContent(size, tuple(keys)) for digest, (size, keys) in self.found.items()}

    def _copy_blob(self, row: BlobRow) -> str | None:
        """Copy the bytes of ``row`` if necessary; return their SHA-256, or None if they are missing or unreadable."""
        try:
            source, digest, size, is_intact = self._read_blob(row)
        except OSError as error:
            if not isinstance(error, FileNotFoundError) and not contents.is_unreadable(error):
                raise
            self.damaged[row.blob] = "missing"  # of both, because earlier programs know no other word
            return None
        if not is_intact:
            self.damaged[row.blob] = "changed"  # kept, because it may be the only remaining copy of the document
            self.found.setdefault(digest, (size, []))
        if self.sink.has(digest, size):
            self.progress(size)
        else:
            self.sink.add_blob(source, digest, size, self.progress)
        return digest

    def _read_blob(self, row: BlobRow) -> tuple[Path, str, int, bool]:
        """Return the file of ``row``, its SHA-256 and size, and whether it is intact.

        A damaged local copy of a blob in a bucket is fetched again: the bucket may have the intact bytes.
        """
        blob = self.store.path(row.blob)
        if not isinstance(blob, RemoteBlob):
            return self._hash_file(blob, row)
        try:
            found = self._hash_file(blob, row)
            if found[-1]:
                return found
        except OSError as error:
            if not contents.is_unreadable(error):
                raise
        blob.discard_copy()
        return self._hash_file(blob, row)

    def _hash_file(self, blob: BlobPath, row: BlobRow) -> tuple[Path, str, int, bool]:
        path = Path(os.fspath(blob))
        digest, size = durable.hash_file(path)
        is_intact = size == row.size and digest == (row.sha256 or digest) and self._can_decrypt(row, path)
        return path, digest, size, is_intact

    def _can_decrypt(self, row: BlobRow, path: Path) -> bool:
        """Return False if the bytes at ``path`` are encrypted and damaged; True if there is no key to find out."""
        try:
            with path.open("rb", buffering=0) as file:
                return row.sealed_key is None or contents.has_content(durable.read_blocks(file), row, self.vault)
        except (MasterKeyError, ValueError):
            return True


def make_backup(
    data_dir: Path,
    sink: Sink,
    staging: Path,
    vault: Vault,
    *,
    now: int,
    with_key: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
    external: ExternalParts | None = None,
) -> BackupResult:
    """Back up the instance in ``data_dir`` to ``sink``. The caller holds its ``hold_backup_lock``.

    Parameters: ``staging`` a path for the temporary copy of the database; ``vault`` with the master keys, by which
    encrypted bytes are checked; ``now`` ms; ``with_key`` whether to include
    the key that decrypts the secrets in the database; ``progress`` is called with the bytes done and the total;
    ``external`` names what is not in ``data_dir``. Raises AlreadyLocked while another host backs up the
    instance, OtherInstance, OSError, sqlite3.Error.
    """
    key = external.key if external else data_dir / VAULT_KEY
    copy = (external and external.copy_database) or partial(reading.copy_database, data_dir / DATABASE)
    with external.hold() if external else nullcontext():
        total = reading.database_size(data_dir / DATABASE) if (data_dir / DATABASE).exists() else 0
        done = 0

        def report(count: int) -> None:
            nonlocal done
            done += count
            progress(min(done, total), total)

        try:
            copy(staging, report)
            with reading.open_database(staging, still=True) as database:
                named = [*([(VAULT_KEY, key)] if with_key else []), (CONFIG, data_dir / CONFIG)]
                store = (external and external.blobs) or open_folder(data_dir)
                size = staging.stat().st_size + _compute_size(store, named, database)
                total = size + staging.stat().st_size  # the database is read twice
                instance = reading.instance_id(database)
                sink.begin(size, instance)
                files = dict(_add_named_members([(DATABASE, staging), *named], sink, report))
                has_key_file = with_key and isinstance(vault.keys, KeyFile)
                collector = _BlobCollector(store, vault, sink, report, has_key_file)
                for row in content_rows.stream_rows(database):
                    collector.collect(row)
                found = Manifest(
                    __version__,
                    database.schema_version(),
                    now,
                    reading.count_tables(database),
                    files,
                    collector.list_contents(),
                    collector.damaged,
                    instance,
                )
        finally:
            staging.unlink(missing_ok=True)
        return BackupResult(found, sink.finish(found), sink.written, collector.undecryptable)


def _add_named_members(named: list[tuple[str, Path]], sink: Sink, progress: Progress) -> Iterator[tuple[str, Member]]:
    for name, path in named:
        if path.is_file():
            yield name, sink.add_named(name, path, progress)


def _compute_size(store: BlobStore, named: list[tuple[str, Path]], database: DatabaseFile) -> int:
    """Return the most bytes that can follow the database. The size of each blob is read from its store too, because a
    damaged blob may be longer than its row says."""
    size = sum(path.stat().st_size for _, path in named if path.is_file())
    for row in content_rows.stream_rows(database):
        size += max(row.size, store.find_size(row.blob) or 0)
    return size


@contextmanager
def hold_removals(store: Store) -> Iterator[None]:
    """Keep every instance on a shared database from deleting bytes during the block. Raises AlreadyLocked."""
    for attempt in range(_LOCK_ATTEMPTS):
        with store.try_lock(("job", REMOVAL_JOB)) as is_mine:
            if is_mine:
                yield
                return
        if attempt < _LOCK_ATTEMPTS - 1:
            time.sleep(_LOCK_PAUSE_S)
    raise AlreadyLocked("the bytes of deleted files")


@contextmanager
def hold_backup_lock(data_dir: Path) -> Iterator[None]:
    """Hold the lock of a backup of ``data_dir`` during the block, so that no blob is deleted and no other backup is
    made. Raises AlreadyLocked."""
    with ExitStack() as stack:
        for attempt in range(_LOCK_ATTEMPTS):
            try:
                stack.enter_context(DirectoryLock(data_dir, BACKUP_LOCK))
                break
            except AlreadyLocked:
                if attempt == _LOCK_ATTEMPTS - 1:
                    raise
                time.sleep(_LOCK_PAUSE_S)
        durable.chown_to_owner(data_dir, data_dir / BACKUP_LOCK)
        yield
