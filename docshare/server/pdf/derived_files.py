"""Keep the files derived from documents: create each once for all who request it, cache, encrypt and delete them."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from docshare.contract.problems import Problem
from docshare.server import faults
from docshare.server.durations import Durations
from docshare.server.http import parking
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.cache import DiskCache
from docshare.server.pdf.engine import MISSING_REASON, PathLike, UnrenderableError
from docshare.server.pdf.failures import PageFailures
from docshare.server.pdf.keys import SEALED_SUFFIX, DerivedKey, check_uuid, find_data_key, is_tile_name
from docshare.server.store.segments import SALT_BYTES, DamagedBytesError, encrypt_bytes
from docshare.server.store.stored_bytes import EncryptedSink

_WAIT_TIMEOUT_S = 30.0
_SLOW_BUILD_S = 1.0
_MAX_SLOW_WAITERS = 2
FileMaker = Callable[[], Path]
"""Creates a derived file and stages it."""


@dataclass
class PendingBuild:
    """A derived file under construction since ``since`` (monotonic seconds). Other threads wait for ``done``.

    ``is_dropped``: the document was removed meanwhile, so the result must not be cached.
    """

    since: float
    done: threading.Event = field(default_factory=threading.Event)
    is_dropped: bool = False


@dataclass(frozen=True)
class CacheState:
    """Bytes in the cache, and the lookups since the start that found a file or did not."""

    size: int
    hits: int
    misses: int


class NoSpareWorkerError(Exception):
    """There is no spare worker for a background job, or not for long enough."""


class DerivedFiles:
    """A cache of derived files under ``root``, at most ``max_bytes`` in total.

    Concurrent requests for one file share one job. ``PageFailures`` remembers failures. Thread-safe. A returned path is
    valid until newer files evict it or the document is removed. Files derived from an encrypted document are encrypted
    with its key; ``random(n)`` returns n random bytes for that.
    """

    def __init__(self, root: Path, random: Callable[[int], bytes], max_bytes: int) -> None:
        self._random = random
        self._cache = DiskCache(root, max_bytes, is_tile_name)
        self._failures = PageFailures()
        self._lock = threading.Lock()  # guards the cache, the failures and the builds
        self._builds: dict[DerivedKey, PendingBuild] = {}
        self._following = 0
        self._hits = self._misses = 0
        self._undeleted: set[str] = set()
        self.renders = Durations()

    def get_or_make(self, key: DerivedKey, tenant: Tenant, make: FileMaker) -> Path:
        """Return the path of ``key`` from the cache; on a miss, create it, or wait for the thread that does."""
        deadline = time.monotonic() + _WAIT_TIMEOUT_S
        while True:
            with self._lock:
                path = self._cache.get(key.name)
                if path is not None:
                    self._hits += 1
                    return path
                self._failures.require_renderable(tenant.content, key, time.monotonic())
                build = self._builds.get(key)
                if build is None:
                    self._misses += 1
                    mine = self._builds[key] = PendingBuild(time.monotonic())
            if build is None:
                return self._build(key, tenant.content, mine, make)
            self._wait_for_build(build, deadline)

    def _build(self, key: DerivedKey, content: str, build: PendingBuild, make: FileMaker) -> Path:
        """Create the file of ``key`` and wake the waiting threads, also on failure."""
        outcome = "unavailable"
        try:
            path = self._build_and_store(key, build, make)
            outcome = "rendered"
            return path
        except NoSpareWorkerError:
            outcome = "skipped"
            raise
        except UnrenderableError as error:
            outcome = "failed"
            with self._lock:
                if not build.is_dropped or error.cost_s:
                    self._failures.remember(content, key, error, time.monotonic())
            raise
        finally:
            with self._lock:
                del self._builds[key]
            build.done.set()
            self.renders.add((outcome,), time.monotonic() - build.since)

    def _build_and_store(self, key: DerivedKey, build: PendingBuild, make: FileMaker) -> Path:
        try:
            staged = make()
            try:
                with self._lock:
                    if build.is_dropped:
                        raise UnrenderableError("the file was deleted", is_permanent=False, reason=MISSING_REASON)
                    return self._cache.keep(staged, key.name)
            finally:
                staged.unlink(missing_ok=True)
        except DamagedBytesError:
            raise
        except OSError as error:
            raise unavailable_problem("Pages cannot be stored at the moment.", 30) from error

    def stage(self, data: bytes, blob: PathLike, key: DerivedKey) -> Path:
        """Write ``data``, derived from ``blob``, to a file for ``key``, encrypted if ``blob`` is."""
        data_key = find_data_key(blob)
        if data_key is not None:
            data = encrypt_bytes(data, data_key, self._random(SALT_BYTES), key.name.encode())
        return self._cache.stage(lambda file: file.write(data))

    def stage_stream(self, write: Callable[[IO[bytes]], object], blob: PathLike, key: DerivedKey) -> Path:
        """As ``stage``; ``write`` writes the data."""
        data_key = find_data_key(blob)
        if data_key is None:
            return self._cache.stage(write)

        def write_encrypted(file: IO[bytes]) -> None:
            sink = EncryptedSink(file, data_key, self._random, key.name.encode())
            write(cast("IO[bytes]", sink))
            sink.finish()

        return self._cache.stage(write_encrypted)

    def _wait_for_build(self, build: PendingBuild, deadline: float) -> None:
        """Wait for the build of another thread. Only a few threads may wait for a slow build, so that it cannot block
        all threads of the server."""
        parking.report_wait()
        with self._lock:
            self._following += 1
        is_done = is_late = False
        while not (is_done or is_late):
            is_done = build.done.wait(0.25)
            now = time.monotonic()
            with self._lock:  # one at a time: each that leaves makes room for another
                is_excess = self._following > _MAX_SLOW_WAITERS and now - build.since > _SLOW_BUILD_S
                is_late = not is_done and (is_excess or now > deadline)
                self._following -= is_done or is_late
        if is_late:
            raise unavailable_problem("This page is taking long to render.", 2)

    def is_missing(self, key: DerivedKey) -> bool:
        """Return whether the file of ``key`` is neither cached nor under construction."""
        with self._lock:
            return not self._cache.has(key.name) and key not in self._builds

    def require_renderable(self, content: str, key: DerivedKey) -> None:
        """Raise as ``PageFailures.require_renderable``."""
        with self._lock:
            self._failures.require_renderable(content, key, time.monotonic())

    def remember_failure(self, content: str, key: DerivedKey, error: UnrenderableError) -> None:
        """Record that the file of ``key`` failed with ``error``."""
        with self._lock:
            self._failures.remember(content, key, error, time.monotonic())

    def delete_derived(self, file_uuid: str, content_version: int | None = None) -> None:
        """Remove everything derived from a file, including pending results: for one content version, or for all.
        ``retry_deletions`` deletes later those that the disk refuses to delete now."""
        check_uuid(file_uuid)
        with self._lock:
            for key, build in self._builds.items():
                if key.file_uuid == file_uuid and content_version in (None, key.content_version):
                    build.is_dropped = True
            self._delete_group(file_uuid if content_version is None else f"{file_uuid}/{content_version}")

    def retry_deletions(self) -> None:
        """Delete what ``delete_derived`` could not delete."""
        with self._lock:
            for group in sorted(self._undeleted):
                self._delete_group(group)

    def _delete_group(self, group: str) -> None:
        self._undeleted.discard(group)
        try:
            self._cache.delete_group(group)
        except OSError as error:
            self._undeleted.add(group)
            faults.log_error(error, "what was derived from a document could not be deleted yet")

    def delete_stale(self, current: Mapping[str, int]) -> None:
        """Remove everything derived from files and content versions that are not in ``current``, which maps file UUIDs
        to content versions. Call it only before the server accepts requests."""
        with self._lock:
            for file_uuid in self._cache.list_groups():
                if file_uuid not in current:
                    self._cache.delete_group(file_uuid)
                for version in self._cache.list_groups(file_uuid):
                    if version != str(current[file_uuid]):
                        self._cache.delete_group(f"{file_uuid}/{version}")

    def delete_clear(self) -> int:
        """Remove everything that was derived from documents in clear; return how many files."""
        with self._lock:
            return self._cache.delete_without(SEALED_SUFFIX)

    def list_documents(self) -> list[str]:
        """Return the UUIDs of the files that something is derived from."""
        return self._cache.list_groups()

    def read_cache_state(self) -> CacheState:
        """Return the size of the cache and its lookups."""
        with self._lock:
            return CacheState(self._cache.count_bytes(), self._hits, self._misses)


def unavailable_problem(detail: str, retry_after: int) -> Problem:
    """Return the Problem of a file that can be created later, after ``retry_after`` seconds."""
    return Problem("unavailable", detail, headers={"Retry-After": str(retry_after)})
