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

from docshare.cli.framework.admin_channel import require_data, resolve_data_dir
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop

if TYPE_CHECKING:
    from docshare.server.backup.manifest import Manifest


def require_instance(context: typer.Context, data: Path | None) -> Path:
    """Return the data directory. Raise Stop (2) if it has no instance, (7) if a restore was interrupted."""
    from docshare.server.backup.placing import READY

    directory = resolve_data_dir(context, data)
    require_data(directory)
    if (directory / READY).exists():
        raise Stop(
            ExitCode.CONFLICT, f"a restore of {directory} was interrupted", hint="Run docshare serve to finish it."
        )
    if current_context().env.get("DOCSHARE_DATABASE_URL"):
        raise Stop(
            ExitCode.USAGE,
            f"the database of {directory} is on a PostgreSQL server",
            hint="Save it with pg_dump, and copy the folder blobs and the file vault.key.",
        )
    if not (directory / "docshare.db").exists():
        raise Stop(ExitCode.USAGE, f"{directory} has no database", hint="Run docshare serve to create one.")
    return directory


@contextmanager
def lock_data_dir(directory: Path) -> Iterator[None]:
    """Lock the data directory during the block.

    Raise Stop (7) if a server is running on it, AlreadyLocked if a backup is reading it.
    """
    from docshare.server.backup.durable import chown_to_owner
    from docshare.server.store.blobs import BACKUP_LOCK
    from docshare.server.store.instance import read_owner
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

    from docshare.server.backup.manifest import InvalidBackup
    from docshare.server.backup.restoring import NotEnoughSpace
    from docshare.server.store.lock import AlreadyLocked

    try:
        yield
    except InvalidBackup as error:
        raise Stop(ExitCode.CHECK_FAILED, f"the backup cannot be used: {error}", hint="Nothing was changed.") from None
    except AlreadyLocked:
        raise Stop(
            ExitCode.CONFLICT, f"{directory} is being backed up or restored", hint="Wait until it has finished."
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


def report_damage(ctx: Context, manifest: "Manifest") -> ExitCode:
    for key, how in sorted(manifest.damaged.items()):
        ctx.warn(f"the stored content {key} was {how} during the backup; run docshare admin check")
    return ExitCode.CHECK_FAILED if manifest.damaged else ExitCode.OK
