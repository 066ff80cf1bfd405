"""Make a backup of an instance, whether its server is running or not.

The order makes it complete: first the lock that keeps blobs from being deleted, then a snapshot of the database, then
the blobs that the snapshot refers to. A blob whose row is deleted meanwhile is in the backup, and is deleted from the
store once the backup has ended or its process has died.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from docshare import __version__
from docshare.server.backup import durable, reading
from docshare.server.backup.archive import Progress, Sink
from docshare.server.backup.manifest import CONFIG, DATABASE, VAULT_KEY, BlobContent, Manifest, Member
from docshare.server.backup.reading import BlobRow
from docshare.server.store.blobs import BACKUP_LOCK
from docshare.server.store.lock import AlreadyLocked, DirectoryLock

_LOCK_ATTEMPTS, _LOCK_PAUSE_S = 100, 0.05  # a server that deletes blobs holds the lock for a moment


@dataclass(frozen=True)
class BackupResult:
    """A finished backup. ``sha256`` of its manifest; ``written``: bytes that were not in the backup before."""

    manifest: Manifest
    sha256: str
    written: int


@dataclass
class _BlobCollector:
    """Copy the blobs of the instance into the backup."""

    root: Path
    sink: Sink
    progress: Progress
    found: dict[str, tuple[int, list[str]]] = field(default_factory=dict)  # size and keys, by digest
    damaged: dict[str, str] = field(default_factory=dict)

    def collect(self, row: BlobRow) -> None:
        """Add the bytes of ``row`` to the backup, unless it contains them."""
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
        """Copy the bytes of ``row`` if necessary; return their SHA-256, or None if they are missing."""
        source = self.root / row.blob[:2] / row.blob
        try:
            digest, size = durable.hash_file(source)
        except FileNotFoundError:
            self.damaged[row.blob] = "missing"
            return None
        if size != row.size or digest != (row.sha256 or digest):
            self.damaged[row.blob] = "changed"  # kept, because it may be the only remaining copy of the document
            self.found.setdefault(digest, (size, []))
        if self.sink.has(digest, size):
            self.progress(size)
        else:
            self.sink.add_blob(source, digest, size, self.progress)
        return digest


def make_backup(
    data_dir: Path,
    sink: Sink,
    staging: Path,
    *,
    now: int,
    with_key: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> BackupResult:
    """Back up the instance in ``data_dir`` to ``sink``.

    Parameters: ``staging`` a path for the temporary copy of the database; ``now`` ms; ``with_key`` whether to include
    the key that decrypts the secrets in the database; ``progress`` is called with the bytes done and the total. Raises
    AlreadyLocked while another backup of the instance is running, OtherInstance, OSError, sqlite3.Error.
    """
    with _hold_blobs(data_dir):
        total = reading.database_size(data_dir / DATABASE)
        done = 0

        def report(count: int) -> None:
            nonlocal done
            done += count
            progress(min(done, total), total)

        try:
            reading.copy_database(data_dir / DATABASE, staging, report)
            with reading.open_database(staging, still=True) as database:
                size = staging.stat().st_size + _compute_size(data_dir, database)
                total = size + staging.stat().st_size  # the database is read twice
                instance = reading.instance_id(database)
                sink.begin(size, instance)
                files = dict(_add_named_members(data_dir, staging, sink, report, with_key))
                store = _BlobCollector(data_dir / "blobs", sink, report)
                for row in reading.list_rows(database):
                    store.collect(row)
                found = Manifest(
                    __version__,
                    reading.schema_step(database),
                    now,
                    reading.count_tables(database),
                    files,
                    store.list_contents(),
                    store.damaged,
                    instance,
                )
        finally:
            staging.unlink(missing_ok=True)
        return BackupResult(found, sink.finish(found), sink.written)


def _add_named_members(
    data_dir: Path, database: Path, sink: Sink, progress: Progress, with_key: bool
) -> Iterator[tuple[str, Member]]:
    yield DATABASE, sink.add_named(DATABASE, database, progress)
    for name in (VAULT_KEY, CONFIG) if with_key else (CONFIG,):
        if (data_dir / name).is_file():
            yield name, sink.add_named(name, data_dir / name, progress)


def _compute_size(data_dir: Path, database: sqlite3.Connection) -> int:
    """Return the most bytes that can follow the database. The size of each blob is read from the disk too, because a
    damaged blob may be longer than its row says."""
    size = sum((data_dir / name).stat().st_size for name in (VAULT_KEY, CONFIG) if (data_dir / name).is_file())
    for row in reading.list_rows(database):
        path = data_dir / "blobs" / row.blob[:2] / row.blob
        size += max(row.size, path.stat().st_size if path.is_file() else 0)
    return size


@contextmanager
def _hold_blobs(data_dir: Path) -> Iterator[None]:
    """Keep blobs from being deleted during the block. Raises AlreadyLocked."""
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
