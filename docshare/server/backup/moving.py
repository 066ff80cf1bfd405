"""Move an instance to another database or into a separate folder, while none of its servers runs.

Documents come first, a few at a time, so that a second try continues where the first one ended; rows come last, all or
none. The source is only read.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from docshare.server.backup import contents, database_marker, durable, placing, reading
from docshare.server.backup.manifest import DATABASE, VAULT_KEY
from docshare.server.config import Config
from docshare.server.instance import create_directories
from docshare.server.runtime import open_blobs, open_store, open_vault, random_token
from docshare.server.store import copying
from docshare.server.store.blobs import BlobStore, FolderStore
from docshare.server.store.database import Store
from docshare.server.store.file_names import sync_directory
from docshare.server.store.tables import contents as content_rows
from docshare.server.store.tables import instance as instance_rows
from docshare.server.store.tables.contents import BlobRow
from docshare.server.store.vault import Vault

Progress = Callable[[int, int], None]
_PARALLEL_COPIES = 4  # most of the time of a small document is spent waiting for the store
_BATCH = 1000


@dataclass(frozen=True)
class MoveResult:
    """``rows`` by table; ``documents`` and ``size`` in bytes of what was copied or was there; ``damaged``: the keys of
    stored contents that are missing or that differ from their SHA-256."""

    rows: dict[str, int]
    documents: int
    size: int
    damaged: tuple[str, ...]


def export_database(config: Config, path: Path) -> dict[str, int]:
    """Copy the database of ``config`` to a new SQLite file that only its owner may read; return the number of rows by
    table. Servers may write to the database meanwhile: the copy shows one moment. Raises as ``move_to_folder``."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    with closing(open_store(config)) as source, closing(Store(path)) as target:
        rows = copying.copy_database(source, target)
        target.engine.execute_sql("PRAGMA journal_mode = DELETE")  # so that the copy is a single file
    return rows


def move_to_database(config: Config, target: Config, progress: Progress) -> MoveResult:
    """Copy all rows of the instance of ``config`` into the empty PostgreSQL database of ``target``, to which its data
    directory belongs from then on. Raises NotCopyableError, OSError, and peewee's errors if a database fails."""
    with closing(open_store(config)) as source:
        total = sum(copying.count_rows(source).values())
        with closing(open_store(target)) as opened:
            rows = copying.copy_database(source, opened, _add_up(progress, total))
            with opened.write():  # the first instance that starts on the new database sets it
                instance_rows.delete_secret(opened, instance_rows.FOLDER_SECRET)
            identity = instance_rows.find_secret(opened, reading.IDENTITY_SECRET)
    if target.database_url is not None:  # last, because a killed move leaves the source in use
        name = "" if identity is None else reading.hash_identity(identity)
        database_marker.mark_database(target.data_dir, target.database_url, name)
    return MoveResult(rows, 0, 0, ())


def move_to_folder(config: Config, folder: Path, progress: Progress) -> MoveResult:
    """Copy the instance of ``config`` into ``folder``, which then needs no other engine.

    Raises NotCopyableError, OSError, and peewee's errors if a database fails.
    """
    create_directories(folder)
    target = FolderStore(folder / "blobs", folder / "tmp", lambda: random_token(32))
    partial = folder / f"{DATABASE}.part"
    rows = export_database(config, partial)
    with reading.open_database(partial, still=True) as database:
        blobs = list(content_rows.stream_rows(database))
    damaged = _copy_blobs(config, target, blobs, progress)
    key = folder / VAULT_KEY
    key.unlink(missing_ok=True)
    if config.key_command is None and config.vault_path.exists():  # it is created with the first secret
        shutil.copyfile(config.vault_path, key)
        key.chmod(0o600)
    durable.sync_tree(folder)
    partial.replace(folder / DATABASE)  # from now on it is an instance
    sync_directory(folder)
    return MoveResult(rows, len(blobs), sum(row.size for row in blobs), damaged)


def move_to_storage(config: Config, target: BlobStore, progress: Progress) -> MoveResult:
    """Copy all documents of the instance of ``config`` into ``target``. Raises NotCopyableError, OSError,
    StorageUnreachableError, and peewee's errors if the database fails."""
    with TemporaryDirectory(prefix=placing.MOVE_PREFIX, dir=config.data_dir) as folder:
        path = config.database_path
        if config.database_url is not None:
            path = Path(folder) / DATABASE
            export_database(config, path)
        with reading.open_database(path) as database:
            blobs, instance = list(content_rows.stream_rows(database)), reading.instance_id(database)
    if target.claim(instance) != instance:
        raise copying.NotCopyableError("the target has the documents of another instance")
    damaged = _copy_blobs(config, target, blobs, progress)
    return MoveResult({}, len(blobs), sum(row.size for row in blobs), damaged)


def _copy_blobs(config: Config, target: BlobStore, rows: list[BlobRow], progress: Progress) -> tuple[str, ...]:
    """Copy the bytes of ``rows``, encrypted as they are; return the keys of those that are missing or damaged."""
    report = _add_up(progress, sum(row.size for row in rows))
    source, vault = open_blobs(config), open_vault(config)
    damaged: list[str] = []
    threads = ThreadPoolExecutor(_PARALLEL_COPIES)
    try:
        for begin in range(0, len(rows), _BATCH):
            batch = rows[begin : begin + _BATCH]
            intact = threads.map(lambda row: _copy_blob(source, target, row, vault, report), batch)
            damaged += [row.blob for row, is_intact in zip(batch, intact, strict=True) if not is_intact]
    finally:
        threads.shutdown(cancel_futures=True)
    return tuple(damaged)


def _copy_blob(source: BlobStore, target: BlobStore, row: BlobRow, vault: Vault, report: Callable[[int], None]) -> bool:
    """Copy the bytes of ``row`` unless an earlier try did; return whether they are intact."""
    try:
        if _is_copied(source, target, row, vault):
            report(row.size)
            return True
        target.put(row.blob, _report_each(source.read_blocks(row.blob), report))
        return _is_copied(source, target, row, vault)
    except (FileNotFoundError, ValueError):  # it is missing, or copied but sealed with a key that was lost
        return False
    except OSError as error:
        if not contents.is_unreadable(error):
            raise
        return False


def _is_copied(source: BlobStore, target: BlobStore, row: BlobRow, vault: Vault) -> bool:
    if not contents.is_intact(target, row, vault):
        return False
    if row.sealed_key is not None or row.sha256 is not None:
        return True
    return _hash(source, row) == _hash(target, row)  # the database has no digests of assets


def _hash(store: BlobStore, row: BlobRow) -> str:
    return durable.hash_blocks(store.read_blocks(row.blob))[0]


def _report_each(blocks: Iterable[bytes], report: Callable[[int], None]) -> Iterator[bytes]:
    for block in blocks:
        yield block
        report(len(block))


def _add_up(progress: Progress, total: int) -> Callable[[int], None]:
    done = 0
    lock = threading.Lock()  # several threads copy documents

    def report(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            progress(min(done, total), total)

    return report
