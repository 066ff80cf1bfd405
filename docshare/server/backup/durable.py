"""Copy bytes with a digest, and wait until files and their names are on the disk."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from docshare.server.store.file_names import sync_directory

BLOCK_BYTES = 1 << 20


def read_blocks(source: IO[bytes], size: int | None = None) -> "Iterable[bytes]":
    """Yield the next ``size`` bytes of ``source``, all for None, in blocks of a megabyte; fewer if ``source`` ends."""
    left = size
    while left is None or left > 0:
        block = source.read(BLOCK_BYTES if left is None else min(BLOCK_BYTES, left))
        if not block:
            return
        if left is not None:
            left -= len(block)
        yield block


def hash_file(path: Path) -> tuple[str, int]:
    """Return the SHA-256 in hex and the size in bytes of a file. Raises OSError."""
    with path.open("rb", buffering=0) as source:
        return hash_blocks(read_blocks(source))


def hash_blocks(blocks: Iterable[bytes]) -> tuple[str, int]:
    """Return the SHA-256 in hex and the size in bytes of ``blocks``. Raises what they raise."""
    digest, size = hashlib.sha256(), 0
    for block in blocks:
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def write_file(source: Iterable[bytes], path: Path, progress: Callable[[int], None]) -> str:
    """Write ``source`` to the new file ``path`` (0600) and return its SHA-256. It is durable after ``sync_tree``."""
    digest = hashlib.sha256()
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb", buffering=0) as out:
        for block in source:
            digest.update(block)
            view = memoryview(block)
            while view:
                view = view[out.write(view) or 0 :]
            progress(len(block))
    return digest.hexdigest()


def sync_tree(root: Path) -> None:
    """Return once everything below ``root`` is on the disk."""
    if sys.platform == "linux":
        os.sync()  # waits; for many files this is faster than one fsync each
        return
    for folder, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                os.fsync(file.fileno())
        sync_directory(Path(folder))


def chown_to_owner(data_dir: Path, *paths: Path) -> None:
    """As root, give ``paths`` to the owner of the data directory, whose server must be able to open them."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        owner = data_dir.stat()
        for path in paths:
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
