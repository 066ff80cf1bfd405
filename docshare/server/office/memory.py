"""Find a directory in memory, for documents in clear that must not reach a disk."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, cast

_MOUNTS = Path("/proc/self/mounts")
_MEMORY_TYPES = frozenset({"tmpfs", "ramfs"})


def find_memory_directory(environ: Mapping[str, str], mounts: Path = _MOUNTS) -> Path | None:
    """Return a writable directory on a file system in memory, or None."""
    try:
        rows = [line.split(" ") for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return None  # not Linux
    types = {row[1]: row[2] for row in rows if len(row) > 2}  # the last mount at a place counts
    for candidate in ("/dev/shm", environ.get("XDG_RUNTIME_DIR", "")):  # noqa: S108 - directories there are private
        if types.get(candidate) in _MEMORY_TYPES and os.access(candidate, os.W_OK | os.X_OK):
            return Path(candidate)
    return None


def copy_to_memory(file: BinaryIO) -> BinaryIO:
    """Return a copy of ``file`` in memory that has a descriptor, for another process. Raises OSError."""
    if not hasattr(os, "memfd_create"):
        raise OSError("this system has no files in memory")
    copy = cast("BinaryIO", open(os.memfd_create("document"), "w+b"))  # noqa: SIM115 - the caller closes it
    try:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
    except BaseException:
        copy.close()
        raise
    return copy
