"""Derived files on disk, kept under a size by throwing away what was used longest ago."""

import contextlib
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import IO

_BLOCK_BYTES = 4096  # what the smallest file costs on disk
_PARTIAL_SUFFIX = ".part"


class DiskCache:
    """Files under ``root`` by relative name ("group/rest"), together at most ``max_bytes``.

    Not thread-safe: its owner holds one lock around every call but ``stage``. What is on disk is read at first use;
    until then nothing is touched. After a restart files count as used when they were made.
    """

    def __init__(self, root: Path, max_bytes: int) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._sizes: OrderedDict[str, int] | None = None
        self._total = 0

    def get(self, name: str) -> Path | None:
        """The file called ``name`` if it is there; it counts as used now."""
        sizes = self._known()
        if name not in sizes:
            return None
        path = self._root / name
        if not path.exists():  # somebody tidied up by hand
            self._total -= sizes.pop(name)
            return None
        sizes.move_to_end(name)
        return path

    def has(self, name: str) -> bool:
        """Whether ``name`` is there, without using it."""
        return name in self._known()

    def stage(self, write: Callable[[IO[bytes]], object]) -> Path:
        """Let ``write`` fill a partial file for ``keep``; needs no lock. Raises OSError, and what ``write`` raises."""
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
        """Give a staged file its name in one step, then make room. Raises OSError."""
        sizes = self._known()
        path = self._root / name
        _make_private(path.parent)
        size = staged.stat().st_size
        staged.replace(path)
        self._total += _size_on_disk(size) - sizes.pop(name, 0)
        sizes[name] = _size_on_disk(size)
        self._make_room()
        return path

    def groups(self, within: str = "") -> list[str]:
        """The groups that have a folder, be it empty; ``within`` another group those inside it."""
        with contextlib.suppress(FileNotFoundError):
            return [entry.name for entry in os.scandir(self._root / within) if entry.is_dir(follow_symlinks=False)]
        return []

    def forget(self, group: str) -> None:
        """Remove every file whose name begins with ``group``/."""
        sizes = self._known()
        for name in [name for name in sizes if name.startswith(f"{group}/")]:
            self._total -= sizes.pop(name)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._root / group)

    def _make_room(self) -> None:
        sizes = self._known()
        while self._total > self._max_bytes and len(sizes) > 1:
            name, size = sizes.popitem(last=False)
            self._total -= size
            path = self._root / name
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the folders stay while other files are in them
                path.parent.rmdir()
                path.parent.parent.rmdir()

    def _known(self) -> OrderedDict[str, int]:
        if self._sizes is None:
            self._sizes = self._scanned()
            self._total = sum(self._sizes.values())
        return self._sizes

    def _scanned(self) -> OrderedDict[str, int]:
        """What an earlier run left: whole files by age; partial and empty ones (a crash) are removed."""
        found: list[tuple[float, str, int]] = []
        for folder, _, names in os.walk(self._root):
            for path in (Path(folder, name) for name in names):
                status = path.stat()
                if path.suffix == _PARTIAL_SUFFIX or status.st_size == 0:
                    path.unlink()
                else:
                    found.append((status.st_mtime, path.relative_to(self._root).as_posix(), status.st_size))
        return OrderedDict((name, _size_on_disk(size)) for _, name, size in sorted(found))


def _make_private(folder: Path) -> None:
    """Make ``folder`` and what is missing above it for this user alone (``mkdir`` alone leaves the upper ones open)."""
    if not folder.exists():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _size_on_disk(size: int) -> int:
    return -(-size // _BLOCK_BYTES) * _BLOCK_BYTES
