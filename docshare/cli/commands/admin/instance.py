"""Shared by ``admin backup``, ``restore`` and ``check``: find and lock the data directory, and translate errors.

They read the data directory while the server uses it, without waiting. Changes require the lock of the directory, which
a running server holds.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from docshare.cli.framework.admin_channel import (
    load_admin_config,
    require_data,
    resolve_data_dir,
    translate_data_errors,
)
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop

if TYPE_CHECKING:
    from docshare.server.backup.manifest import Manifest
    from docshare.server.config import Config
    from docshare.server.store.blobs import BlobStore


def require_instance(context: typer.Context, data: Path | None) -> Path:
    """Return the data directory. Raise Stop (2) if it has no instance, (7) if a restore was interrupted."""
    from docshare.server.backup.placing import READY

    directory = resolve_data_dir(context, data)
    require_data(directory)
    if (directory / READY).exists():
        raise Stop(
            ExitCode.CONFLICT, f"a restore of {directory} was interrupted", hint="Run docshare serve to finish it."
        )
    if load_config_of(directory).database_url is None and not (directory / "docshare.db").exists():
        raise Stop(ExitCode.USAGE, f"{directory} has no database", hint="Run docshare serve to create one.")
    return directory


def load_config_of(directory: Path) -> "Config":
    """Return the configuration of the instance. Raise Stop (2) if it is wrong."""
    with translate_data_errors(directory):
        return load_admin_config(directory)


def open_external_blobs(config: "Config") -> "BlobStore | None":
    """Return the store of the bytes of an instance, None if they are in its data directory."""
    from docshare.server.runtime import open_blobs

    return None if config.storage is None else open_blobs(config)


@contextmanager
def snapshot_database(directory: Path) -> Iterator[Path]:
    """Yield the path of the SQLite database of an instance, or of a temporary copy of one that is in PostgreSQL."""
    import tempfile

    from docshare.server.backup.moving import export_database
    from docshare.server.backup.placing import SNAPSHOT_PREFIX

    config = load_config_of(directory)
    if config.database_url is None:
        yield directory / "docshare.db"
        return
    with tempfile.TemporaryDirectory(prefix=SNAPSHOT_PREFIX, dir=directory) as folder:
        path = Path(folder) / "docshare.db"
        with translate_data_errors(directory):
            export_database(config, path)
        yield path


@contextmanager
def lock_data_dir(directory: Path) -> Iterator[None]:
    """Lock the data directory during the block.

    Raise Stop (7) if a server is running on it, AlreadyLocked if a backup is reading it.
    """
    from docshare.server.backup.durable import chown_to_owner
    from docshare.server.instance import read_owner
    from docshare.server.store.blobs import BACKUP_LOCK
    from docshare.server.store.lock import AlreadyLocked, DirectoryLock

    os.umask(0o077)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(DirectoryLock(directory))
        except AlreadyLocked:
            owner = read_owner(directory)
            who = f": process {owner.pid} at {owner.base_url}" if owner else ""
            raise Stop(ExitCode.CONFLICT, f"a server is running on {directory}{who}", hint="Stop it first.") from None
        if (directory / "docshare.db").exists():
            stack.enter_context(DirectoryLock(directory, BACKUP_LOCK))
        # If root runs this command, the server of the owner must be able to open the files.
        chown_to_owner(directory, *(path for path in (directory / "lock", directory / BACKUP_LOCK) if path.exists()))
        yield


@contextmanager
def translate_backup_errors(directory: Path | None) -> Iterator[None]:
    """Translate the errors of backups to Stop with a message and an exit code."""
    import sqlite3

    from docshare.server import faults
    from docshare.server.backup.manifest import InvalidBackup
    from docshare.server.backup.restoring import NotEnoughSpace
    from docshare.server.store.blobs import StorageUnreachableError
    from docshare.server.store.lock import AlreadyLocked

    try:
        yield
    except StorageUnreachableError as error:
        fault = faults.STORAGE_UNREACHABLE
        raise Stop(ExitCode.UNREACHABLE, f"{fault.log}: {error}", hint=fault.hint) from None
    except InvalidBackup as error:
        raise Stop(ExitCode.CHECK_FAILED, f"the backup cannot be used: {error}", hint="Nothing was changed.") from None
    except AlreadyLocked:
        raise Stop(
            ExitCode.CONFLICT,
            f"{directory} is being backed up or restored, or its master key is being replaced",
            hint="Wait until that has finished.",
        ) from None
    except NotEnoughSpace as error:
        raise Stop(ExitCode.USAGE, f"not enough disk space: {error}") from None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
            raise Stop(ExitCode.USAGE, "not enough disk space for a copy of the database") from None
        raise Stop(ExitCode.CHECK_FAILED, f"the database cannot be read: {error}") from None
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"{error.filename or 'the disk'}: {error.strerror or error}") from None


def make_progress_callback(bar: Any) -> Callable[[int, int], None]:
    def update(done: int, total: int) -> None:
        bar.set_total(total)
        bar.update(done)

    return update


def summarize_manifest(manifest: "Manifest", digest: str, seconds: float) -> dict[str, Any]:
    return {
        "bytes": manifest.size,
        "files": manifest.counts.get("files", 0),
        "blobs": len(manifest.blobs),
        "sha256": digest,
        "seconds": round(seconds, 1),
        "damaged": sorted(manifest.damaged),
    }


def report_damage(ctx: Context, manifest: "Manifest", undecryptable: int) -> ExitCode:
    for key, how in sorted(manifest.damaged.items()):
        ctx.warn(f"the stored content {key} was {how} during the backup; run docshare admin check")
    if undecryptable:
        ctx.warn(f"the master key of the instance does not decrypt {undecryptable} documents and assets of the backup")
    return ExitCode.CHECK_FAILED if manifest.damaged or undecryptable else ExitCode.OK
