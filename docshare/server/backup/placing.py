"""Putting a restored instance in the place of the old one, so that a crash leaves one of the two.

The restored instance is built in ``<data>/restoring.part``. Renaming that to ``restoring`` is the decision; what
follows only moves names, and whoever opens the directory next goes on with it (``finish``). The old instance is never
removed: it lies in ``<data>/before-restore-<time>``.
"""

import shutil
from pathlib import Path

from docshare.server.backup import durable

READY, PARTIAL = "restoring", "restoring.part"
ASIDE_PREFIX = "before-restore-"
ASIDE_NAME_FILE = "aside"  # in READY: the name of the directory that takes the old instance
# The log of the old database first: the new database must never stand beside it.
_OLD_NAMES = ("docshare.db-wal", "docshare.db-shm", "server.json", "instance.key")
_NEW_NAMES = ("tmp", "cache", "blobs", "vault.key", "config.toml", "docshare.db")


def finish_restore(data_dir: Path) -> Path | None:
    """Go on with a restore that was decided, if there is one, and forget one that was not; returns where the old
    instance went, None for nowhere.

    Only under the lock of ``data_dir``. Each step can be done again after a crash.
    """
    shutil.rmtree(data_dir / PARTIAL, ignore_errors=True)  # of a restore that was killed
    ready = data_dir / READY
    if not ready.is_dir():
        return None
    aside = data_dir / (ready / ASIDE_NAME_FILE).read_text(encoding="ascii")
    for name in _OLD_NAMES:
        _replace_aside(data_dir / name, aside)
    for name in _NEW_NAMES:
        if (ready / name).exists():
            _replace_aside(data_dir / name, aside)
            (ready / name).rename(data_dir / name)
    durable.sync_directory(data_dir)
    shutil.rmtree(ready)
    return aside if aside.is_dir() else None


def _replace_aside(path: Path, aside: Path) -> None:
    if (aside / path.name).is_dir() and path.is_dir():
        path.rmdir()  # the old one was moved before a crash; this empty one was made at the start since
    elif path.exists():
        aside.mkdir(mode=0o700, exist_ok=True)
        durable.chown_to_owner(path.parent, aside)
        path.rename(aside / path.name)
