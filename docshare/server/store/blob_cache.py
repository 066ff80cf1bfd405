"""Local copies of the blobs of a bucket, which several processes may share. The least recently used ones go first."""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

CACHE_BYTES = 4 << 30
"""How many bytes the copies may use together: about four thousand documents of one megabyte."""

_PARTIAL_SUFFIX = ".part"
_LOCKS = 64
_IN_USE_S = 300.0  # a path that was handed out lately may be about to be opened
_ABANDONED_S = 86_400.0  # a partial copy that nobody has written to for so long
MAX_FILLS = 4
PATIENCE_S = 2.0


class TooManyFillsError(Exception):
    """Too many threads wait for copies already."""


class BlobCache:
    """Files under ``root``, one for each blob, of at most ``max_bytes`` in total.

    A file appears complete and is never changed; its time of modification is that of its last use. Files that were used
    in the last five minutes are not removed, even if that exceeds ``max_bytes``. A removed file stays readable for
    those who have opened it. Thread-safe.

    At most ``max_fills`` threads wait for copies, so that a slow store leaves threads for everything else. Others wait
    until one is done, but no longer than ``PATIENCE_S`` while none begins.
    """

    def __init__(self, root: Path, max_bytes: int = CACHE_BYTES, max_fills: int = MAX_FILLS) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._max_fills = max_fills
        self._fills = 0
        self._last_fill_at = 0.0  # in monotonic time
        self._fill_ended = threading.Condition()
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._eviction_lock = threading.Lock()

    def get(self, key: str, write: Callable[[IO[bytes]], None]) -> Path:
        """Return the path of the copy of ``key``; ``write`` fills it if there is none. Threads that ask for one key at
        the same time wait for one ``write``. Raises OSError, TooManyFillsError and what ``write`` raises."""
        path = self._root / key
        if self._touch(path):
            return path
        with self._limit_fills(), self._locks[hash(key) % _LOCKS]:
            if not self._touch(path):
                self._fill(path, write)
        return path

    def adopt(self, file: Path, key: str) -> None:
        """Make ``file``, which is on the same disk, the copy of ``key``. Raises OSError."""
        self._make_root()
        file.replace(self._root / key)
        self._touch(self._root / key)
        self._make_room()

    def delete(self, key: str) -> None:
        """Delete the copy of ``key`` if there is one."""
        (self._root / key).unlink(missing_ok=True)

    def list_keys(self) -> list[str]:
        """Return the keys of all copies."""
        with suppress(FileNotFoundError):
            return [name for name in os.listdir(self._root) if not name.endswith(_PARTIAL_SUFFIX)]
        return []

    @contextmanager
    def _limit_fills(self) -> Iterator[None]:
        with self._fill_ended:
            while self._fills >= self._max_fills:
                remaining_s = self._last_fill_at + PATIENCE_S - time.monotonic()
                if remaining_s <= 0:
                    raise TooManyFillsError
                self._fill_ended.wait(remaining_s)
            self._fills += 1
            self._last_fill_at = time.monotonic()
        try:
            yield
        finally:
            with self._fill_ended:
                self._fills -= 1
                self._fill_ended.notify()

    def _fill(self, path: Path, write: Callable[[IO[bytes]], None]) -> None:
        self._make_root()
        handle, name = tempfile.mkstemp(suffix=_PARTIAL_SUFFIX, dir=self._root)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())  # else a power cut may leave an empty file under the final name
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        self._make_room()

    def _make_root(self) -> None:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _touch(self, path: Path) -> bool:
        """Mark the file as just used; return whether it exists."""
        try:
            os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def _make_room(self) -> None:
        """Remove the files that were not used for longest until all others fit."""
        with self._eviction_lock:
            found = sorted(self._scan())
            excess = sum(size for _, size, _ in found) - self._max_bytes
            for used_at, size, path in found:
                idle_s = found[-1][0] - used_at
                is_partial = path.suffix == _PARTIAL_SUFFIX
                if idle_s > _ABANDONED_S if is_partial else idle_s > _IN_USE_S and excess > 0:
                    path.unlink(missing_ok=True)
                    excess -= size

    def _scan(self) -> Iterator[tuple[float, int, Path]]:
        """Yield time of use, size and path of each file."""
        for entry in os.scandir(self._root):
            with suppress(FileNotFoundError):  # another process removed it
                status = entry.stat()
                yield status.st_mtime, status.st_size, Path(entry.path)
