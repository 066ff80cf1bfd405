"""Store derived files on disk and evict the least recently used ones above a total size."""

import contextlib
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import IO

_BLOCK_BYTES = 4096  # disk usage of the smallest file
_PARTIAL_SUFFIX = ".part"
_BULK_SHARE = 0.25


class DiskCache:
    """An LRU cache of files under ``root``, named "group/rest", of at most ``max_bytes`` in total.

    ``is_bulk`` returns whether a name is one of very many of a document. A full cache evicts those first if they have
    more than a quarter of it, so that one reader cannot displace everything else with them.

    Not thread-safe: the caller holds one lock around every method except ``stage``. The first use scans the directory;
    the file times then replace the times of last use.
    """

    def __init__(self, root: Path, max_bytes: int, is_bulk: Callable[[str], bool] = lambda name: False) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._is_bulk = is_bulk
        self._sizes: OrderedDict[str, int] | None = None
        self._total = 0
        self._bulk: OrderedDict[str, None] = OrderedDict()  # those of ``_sizes``, in the same order
        self._bulk_total = 0

    def get(self, name: str) -> Path | None:
        """Return the path of ``name`` and mark it as just used, or None if it is not cached."""
        sizes = self._load_sizes()
        if name not in sizes:
            return None
        path = self._root / name
        size = self._forget(name)
        if not path.exists():  # deleted by hand
            return None
        self._add(name, size)
        return path

    def has(self, name: str) -> bool:
        """Return whether ``name`` is cached, without marking it as used."""
        return name in self._load_sizes()

    def count_bytes(self) -> int:
        """Return the total size of the cached files."""
        self._load_sizes()
        return self._total

    def stage(self, write: Callable[[IO[bytes]], object]) -> Path:
        """Create a partial file for ``keep``, filled by ``write``; needs no lock. Raises OSError and what ``write``
        raises."""
        _make_private(self._root)
        handle, name = tempfile.mkstemp(suffix=_PARTIAL_SUFFIX, dir=self._root)
        path = Path(name)
        try:
            with os.fdopen(handle, "w+b") as file:
                write(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    def keep(self, staged: Path, name: str) -> Path:
        """Rename a staged file to ``name`` atomically, then evict files above the size limit. Raises OSError."""
        sizes = self._load_sizes()
        path = self._root / name
        _make_private(path.parent)
        size = staged.stat().st_size
        staged.replace(path)
        if name in sizes:
            self._forget(name)
        self._add(name, _size_on_disk(size))
        self._make_room()
        return path

    def list_groups(self, within: str = "") -> list[str]:
        """Return the groups that have a folder, even an empty one; with ``within``, the subgroups of that group."""
        with contextlib.suppress(FileNotFoundError):
            return [entry.name for entry in os.scandir(self._root / within) if entry.is_dir(follow_symlinks=False)]
        return []

    def delete_group(self, group: str) -> None:
        """Remove every file whose name begins with ``group``/."""
        sizes = self._load_sizes()
        for name in [name for name in sizes if name.startswith(f"{group}/")]:
            self._forget(name)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._root / group)

    def delete_without(self, suffix: str) -> int:
        """Remove every file whose name does not end with ``suffix``; return how many."""
        sizes = self._load_sizes()
        found = [name for name in sizes if not name.endswith(suffix)]
        for name in found:
            self._forget(name)
            (self._root / name).unlink(missing_ok=True)
        return len(found)

    def _make_room(self) -> None:
        sizes = self._load_sizes()
        while self._total > self._max_bytes and len(sizes) > 1:
            name = next(iter(self._bulk if self._bulk_total > self._max_bytes * _BULK_SHARE else sizes))
            self._forget(name)
            path = self._root / name
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # rmdir fails while a folder holds other files
                path.parent.rmdir()
                path.parent.parent.rmdir()

    def _add(self, name: str, size: int) -> None:
        """Record a file as the one used last."""
        self._load_sizes()[name] = size
        self._total += size
        if self._is_bulk(name):
            self._bulk[name] = None
            self._bulk_total += size

    def _forget(self, name: str) -> int:
        """Remove a file from the records; return its size."""
        size = self._load_sizes().pop(name)
        self._total -= size
        if name in self._bulk:
            del self._bulk[name]
            self._bulk_total -= size
        return size

    def _load_sizes(self) -> OrderedDict[str, int]:
        if self._sizes is None:
            self._sizes = OrderedDict()
            for name, size in self._scan():
                self._add(name, size)
        return self._sizes

    def _scan(self) -> list[tuple[str, int]]:
        """Return the files of earlier runs, oldest first; delete partial and empty files, which a crash left behind."""
        found: list[tuple[float, str, int]] = []
        for folder, _, names in os.walk(self._root):
            for path in (Path(folder, name) for name in names):
                status = path.stat()
                if path.suffix == _PARTIAL_SUFFIX or status.st_size == 0:
                    path.unlink()
                else:
                    found.append((status.st_mtime, path.relative_to(self._root).as_posix(), status.st_size))
        return [(name, _size_on_disk(size)) for _, name, size in sorted(found)]


def _make_private(folder: Path) -> None:
    """Create ``folder`` and its missing parents with mode 0700; ``mkdir(parents=True)`` leaves the parents open."""
    if not folder.exists():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _size_on_disk(size: int) -> int:
    return -(-size // _BLOCK_BYTES) * _BLOCK_BYTES
