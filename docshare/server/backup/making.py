"""Making a backup, beside a running server or without one.

The order makes it whole: first the lock that keeps blobs from being removed, then the database as it is at one instant,
then the blobs that this database names. What is deleted meanwhile is in the backup, as it was at that instant, and goes
from the store once the backup has ended, or its process has died.
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
from docshare.server.backup.manifest import CONFIG, DATABASE, VAULT_KEY, Content, Manifest, Member
from docshare.server.backup.reading import Row
from docshare.server.store.blobs import HOLD
from docshare.server.store.lock import AlreadyLocked, DirectoryLock

_TRIES, _PAUSE_S = 100, 0.05  # a server that deletes looks at the lock for a moment


@dataclass(frozen=True)
class Made:
    """What was made. ``sha256`` of its manifest; ``written``: bytes that were stored anew."""

    manifest: Manifest
    sha256: str
    written: int


@dataclass
class _Store:
    """The blobs of the instance as they go into the backup."""

    root: Path
    sink: Sink
    progress: Progress
    found: dict[str, tuple[int, list[str]]] = field(default_factory=dict)  # size and keys, by digest
    damaged: dict[str, str] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Put the bytes of ``row`` into the backup, unless they are in it."""
        digest = row.sha256 or self.sink.remembered(row.blob)
        if digest is None or not self.sink.has(digest, row.size):
            digest = self._copied(row)
        else:
            self.progress(row.size)
        if digest is not None:
            self.found.setdefault(digest, (row.size, []))[1].append(row.blob)

    def contents(self) -> dict[str, Content]:
        """What was taken, by its SHA-256."""
        return {digest: Content(size, tuple(keys)) for digest, (size, keys) in self.found.items()}

    def _copied(self, row: Row) -> str | None:
        """The SHA-256 of the bytes, copied where they were not; None where there are none."""
        source = self.root / row.blob[:2] / row.blob
        try:
            digest, size = durable.digest_of(source)
        except FileNotFoundError:
            self.damaged[row.blob] = "missing"
            return None
        if size != row.size or digest != (row.sha256 or digest):
            self.damaged[row.blob] = "changed"  # kept all the same: it may be all that is left of the document
            self.found.setdefault(digest, (size, []))
        if self.sink.has(digest, size):
            self.progress(size)
        else:
            self.sink.add_blob(source, digest, size, self.progress)
        return digest


def make(
    data_dir: Path,
    sink: Sink,
    staging: Path,
    *,
    now: int,
    with_key: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Made:
    """Back up the instance in ``data_dir`` to ``sink``.

    Parameters: ``staging`` a path for the copy of the database while it is made; ``now`` ms; ``with_key`` whether the
    key goes along that opens the secrets in the database; ``progress`` is told the bytes done and all bytes. Raises
    AlreadyLocked while another backup of the instance is being made, OtherInstance, OSError, sqlite3.Error.
    """
    with _held(data_dir):
        total = reading.size_of(data_dir / DATABASE)
        done = 0

        def tell(count: int) -> None:
            nonlocal done
            done += count
            progress(min(done, total), total)

        try:
            reading.copy(data_dir / DATABASE, staging, tell)
            with reading.opened(staging, still=True) as database:
                size = staging.stat().st_size + _size(data_dir, database)
                total = size + staging.stat().st_size  # the database is read twice
                instance = reading.instance_id(database)
                sink.begin(size, instance)
                files = dict(_named(data_dir, staging, sink, tell, with_key))
                store = _Store(data_dir / "blobs", sink, tell)
                for row in reading.rows(database):
                    store.take(row)
                found = Manifest(
                    __version__,
                    reading.schema(database),
                    now,
                    reading.counts(database),
                    files,
                    store.contents(),
                    store.damaged,
                    instance,
                )
        finally:
            staging.unlink(missing_ok=True)
        return Made(found, sink.finish(found), sink.written)


def _named(
    data_dir: Path, database: Path, sink: Sink, progress: Progress, with_key: bool
) -> Iterator[tuple[str, Member]]:
    yield DATABASE, sink.add_named(DATABASE, database, progress)
    for name in (VAULT_KEY, CONFIG) if with_key else (CONFIG,):
        if (data_dir / name).is_file():
            yield name, sink.add_named(name, data_dir / name, progress)


def _size(data_dir: Path, database: sqlite3.Connection) -> int:
    """Bytes that follow the database at most. A damaged blob may be longer than its row says, so it is looked at."""
    size = sum((data_dir / name).stat().st_size for name in (VAULT_KEY, CONFIG) if (data_dir / name).is_file())
    for row in reading.rows(database):
        path = data_dir / "blobs" / row.blob[:2] / row.blob
        size += max(row.size, path.stat().st_size if path.is_file() else 0)
    return size


@contextmanager
def _held(data_dir: Path) -> Iterator[None]:
    """Keep blobs from being removed for the length of the block. Raises AlreadyLocked."""
    with ExitStack() as stack:
        for attempt in range(_TRIES):
            try:
                stack.enter_context(DirectoryLock(data_dir, HOLD))
                break
            except AlreadyLocked:
                if attempt == _TRIES - 1:
                    raise
                time.sleep(_PAUSE_S)
        durable.give_to_owner(data_dir, data_dir / HOLD)
        yield
