"""Replace an instance with a restored one, so that a crash leaves one of the two.

The restored instance is built in ``<data>/restoring.part``. Renaming that to ``restoring`` commits the restore; the
remaining steps only rename files, and ``finish_restore`` completes them when the directory is opened next. The old
instance is not deleted but moved to ``<data>/before-restore-<time>``.
"""

import shutil
from pathlib import Path

from docshare.server.backup import durable
from docshare.server.store.file_names import sync_directory

READY, PARTIAL = "restoring", "restoring.part"
ASIDE_PREFIX = "before-restore-"
ASIDE_NAME_FILE = "aside"  # in READY: the name of the directory for the old instance
SNAPSHOT_PREFIX, MOVE_PREFIX = COPY_PREFIXES = ("snapshot-", "move-")
"""How the names of directories begin in which commands keep a copy of a database that is on PostgreSQL."""

# The log of the old database is moved first, because SQLite would apply it to the new database.
_OLD_NAMES = ("docshare.db-wal", "docshare.db-shm", "server.json", "instance.key")
_NEW_NAMES = ("tmp", "cache", "blobs", "vault.key", "config.toml", "docshare.db")


def finish_restore(data_dir: Path) -> Path | None:
    """Finish a restore that was committed, and discard one that was not; return the directory of the old instance, or
    None without one.

    The caller holds the lock of ``data_dir``. Each step can be repeated after a crash.
    """
    shutil.rmtree(data_dir / PARTIAL, ignore_errors=True)  # from a restore that was killed
    ready = data_dir / READY
    if not ready.is_dir():
        return None
    try:
        aside = data_dir / (ready / ASIDE_NAME_FILE).read_text(encoding="ascii")
    except FileNotFoundError:  # a crash came after the last rename, while the directory was deleted
        ready.rmdir()
        return None
    for name in _OLD_NAMES:
        _replace_aside(data_dir / name, aside)
    for name in _NEW_NAMES:
        if (ready / name).exists():
            _replace_aside(data_dir / name, aside)
            (ready / name).rename(data_dir / name)
    sync_directory(data_dir)
    shutil.rmtree(ready)
    return aside if aside.is_dir() else None


def _replace_aside(path: Path, aside: Path) -> None:
    if (aside / path.name).is_dir() and path.is_dir():
        path.rmdir()  # the old one was moved before a crash; a later start created this empty one
    elif path.exists():
        aside.mkdir(mode=0o700, exist_ok=True)
        durable.chown_to_owner(path.parent, aside)
        path.rename(aside / path.name)
