"""Create page images, page texts and derived PDFs on first request, and cache them on disk for all readers."""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, cast

from docshare.contract.problems import Problem
from docshare.server.durations import Durations
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.cache import DiskCache
from docshare.server.pdf.engine import Derivation, PathLike, PdfEngine, UnrenderableError, WatermarkText
from docshare.server.pdf.failures import PageFailures
from docshare.server.pdf.keys import (
    SEALED_SUFFIX,
    DerivedKey,
    anonymous_tenant,
    check_uuid,
    find_data_key,
    make_derived_key,
    make_key,
    mark_suffix,
)
from docshare.server.pdf.prefetch import Prefetcher
from docshare.server.rules.finding import UNREAD_PAGE, make_block
from docshare.server.store.segments import SALT_BYTES, DamagedBytesError, encrypt_bytes
from docshare.server.store.stored_bytes import EncryptedSink, StoredBytes

PAGE_WIDTHS = (800, 1600)
THUMBNAIL_WIDTH = 160  # sharp at 80 CSS pixels on dense screens; only for owners
_WAIT_TIMEOUT_S = 30.0
FileMaker = Callable[[], Path]  # creates a derived file and stages it
_SLOW_BUILD_S = 1.0
_MAX_SLOW_WAITERS = 2
_MAX_TRIALS = 1_000
_MAX_TEXT_JOBS = 25  # of ``TEXTS_BUDGET_S`` each


@dataclass
class PendingBuild:
    """A derived file under construction since ``since`` (monotonic seconds). Other threads wait for ``done``.

    ``dropped``: the document was removed meanwhile, so the result must not be cached.
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


class PageStore:
    """A cache of derived files under ``root``, at most ``max_bytes`` in total, which ``engine`` creates on demand.

    Concurrent requests for one file share one job. ``PageFailures`` remembers failures. Thread-safe. A returned path is
    valid until newer files evict it or the document is removed. Files derived from an encrypted document are encrypted
    with its key; ``random(n)`` returns n random bytes for that.
    """

    def __init__(
        self,
        engine: PdfEngine,
        root: Path,
        random: Callable[[int], bytes] = os.urandom,
        max_bytes: int = 1 << 30,
    ) -> None:
        self._engine = engine
        self._random = random
        self._cache = DiskCache(root, max_bytes)
        self._failures = PageFailures()
        self._lock = threading.Lock()  # guards the cache, the failures and the builds
        self._builds: dict[DerivedKey, PendingBuild] = {}
        self._following = 0
        self._hits = self._misses = 0
        self.renders = Durations()
        self._prefetcher = Prefetcher(engine.wait_for_spare)
        self._trials = Prefetcher(engine.wait_for_spare, most=_MAX_TRIALS)

    def image(
        self,
        file_uuid: str,
        content_version: int,
        blob: PathLike,
        page: int,
        width: int,
        mark: WatermarkText | None = None,
        tenant: Tenant | None = None,
    ) -> StoredBytes:
        """Return the JPEG of ``page`` (1-based), ``width`` 800, 1600 or ``THUMBNAIL_WIDTH`` pixels wide. ``blob`` is
        the PDF, ``mark`` the watermark, and ``tenant`` is charged for the job.

        Unless this is a thumbnail, also renders the next page in the background. Raises UnrenderableError; Problem
        ``unavailable`` with Retry-After if the page cannot be rendered now; ValueError for any other width.
        """
        if width not in (*PAGE_WIDTHS, THUMBNAIL_WIDTH):
            raise ValueError(f"pages are {PAGE_WIDTHS[0]}, {PAGE_WIDTHS[1]} or {THUMBNAIL_WIDTH} pixels wide")
        key = replace(make_key(file_uuid, content_version, blob, page, width), parts=mark_suffix(mark))
        tenant = tenant or anonymous_tenant(key)

        def make() -> Path:
            return self._stage(self._engine.render(blob, page, width, mark, tenant), blob, key)

        path = self._get_or_make(key, tenant, make)
        if width in PAGE_WIDTHS:
            self._schedule_prefetch(replace(key, page=page + 1), tenant, blob, mark)
        return _open_derived(path, blob, key)

    def stamp_image(
        self,
        file_uuid: str,
        content_version: int,
        blob: PathLike,
        page: int,
        width: int,
        mark: WatermarkText,
        tenant: Tenant | None = None,
    ) -> bytes:
        """Return the JPEG of ``page`` with a ``mark`` that is specific to one reader.

        Only the unmarked image is cached, once for all readers. Raises the same errors as ``image``, and
        FileNotFoundError if that image was evicted meanwhile.
        """
        image = self.image(file_uuid, content_version, blob, page, width, None, tenant)
        try:
            return self._engine.stamp(image, mark, tenant)
        except UnrenderableError:
            os.stat(image)  # raises FileNotFoundError if newer pages have evicted it
            raise

    def text(
        self, file_uuid: str, content_version: int, blob: PathLike, page: int, tenant: Tenant | None = None
    ) -> StoredBytes:
        """Return the JSON with the text and links of ``page`` (``PageText.document``). Raises the same
        errors as ``image``."""
        key = make_key(file_uuid, content_version, blob, page, 0)
        tenant = tenant or anonymous_tenant(key)

        def make() -> Path:
            document = self._engine.text(blob, page, tenant).to_json()
            return self._stage(json.dumps(document, separators=(",", ":")).encode("ascii"), blob, key)

        return _open_derived(self._get_or_make(key, tenant, make), blob, key)

    def texts(
        self, file_uuid: str, content_version: int, blob: PathLike, first: int, last: int, tenant: Tenant | None = None
    ) -> StoredBytes:
        """Return the plain texts of the pages ``first`` to ``last`` (1-based), a serialized ``TextBlock``. Raises the
        same errors as ``image``.

        Several short jobs read them, between which the workers serve others. Pages that take too long are unread.
        """
        key = replace(make_key(file_uuid, content_version, blob, first, 0), parts=f"-{last}")
        tenant = tenant or anonymous_tenant(key)

        def make() -> Path:
            texts: list[str] = []
            for _ in range(_MAX_TEXT_JOBS):
                if first + len(texts) <= last:
                    texts += self._engine.texts(blob, first + len(texts), last, tenant)
            texts += [UNREAD_PAGE] * (last - first + 1 - len(texts))
            return self._stage(make_block(texts).serialize(), blob, key)

        return _open_derived(self._get_or_make(key, tenant, make), blob, key)

    def document(
        self, file_uuid: str, content_version: int, blob: PathLike, wanted: Derivation, tenant: Tenant | None = None
    ) -> StoredBytes:
        """Return the PDF ``wanted``, derived from ``blob``. Raises the same errors as ``image``."""
        key = make_derived_key(file_uuid, content_version, blob, wanted)
        tenant = tenant or anonymous_tenant(key)
        derive = partial(self._engine.derive, blob, wanted, tenant=tenant)
        path = self._get_or_make(key, tenant, lambda: self._stage_stream(derive, blob, key))
        return _open_derived(path, blob, key)

    def offer_trial(self, name: str, trial: Callable[[], None], *, last: bool = False) -> None:
        """Run ``trial``, which calls ``try_document``, in the background once a worker is free. A later trial with the
        same ``name`` replaces it. ``last``: run after all others."""
        self._trials.enqueue(name, trial, last=last)

    def try_document(
        self, file_uuid: str, content_version: int, blob: PathLike, wanted: Derivation, tenant: Tenant, timeout_s: float
    ) -> bool:
        """Derive the PDF ``wanted`` before anyone requests it; return False if there is no spare worker.

        Raises the same errors as ``image``. Only lasting failures are remembered, because a copy for a reader may take
        longer than ``timeout_s``.
        """

        def write(sink: IO[bytes]) -> None:
            try:
                if not self._engine.derive_if_spare(blob, wanted, sink, timeout_s, tenant):
                    raise _NoSpareWorkerError
            except UnrenderableError as error:
                if not error.is_permanent:
                    raise _NoSpareWorkerError from error
                raise

        key = make_derived_key(file_uuid, content_version, blob, wanted)
        try:
            self._get_or_make(key, tenant, lambda: self._stage_stream(write, blob, key))
        except _NoSpareWorkerError as error:
            if isinstance(error.__cause__, UnrenderableError):
                raise error.__cause__ from None
            return False
        return True

    def build_copy(
        self, file_uuid: str, content_version: int, blob: PathLike, wanted: Derivation, tenant: Tenant | None = None
    ) -> IO[bytes]:
        """Derive the PDF ``wanted`` for one reader; return it as an open file that is not cached. Raises the same
        errors as ``image``."""
        key = replace(make_key(file_uuid, content_version, blob, 0, 0), parts=f"{wanted.first}-{wanted.last}-copy")
        tenant = tenant or anonymous_tenant(key)
        with self._lock:
            self._failures.require_drawable(tenant.content, key, time.monotonic())
        try:
            staged = self._stage_stream(partial(self._engine.derive, blob, wanted, tenant=tenant), blob, key)
        except UnrenderableError as error:
            with self._lock:
                self._failures.remember(tenant.content, key, error, time.monotonic())
            raise
        except DamagedBytesError:
            raise
        except OSError as error:
            raise _unavailable_problem("The copy cannot be stored at the moment.", 30) from error
        try:
            return _open_derived(staged, blob, key).open()
        finally:
            staged.unlink()

    def delete_derived(self, file_uuid: str, content_version: int | None = None) -> None:
        """Remove everything derived from a file, including pending results: for one content version, or for all."""
        check_uuid(file_uuid)
        with self._lock:
            for key, build in self._builds.items():
                if key.file_uuid == file_uuid and content_version in (None, key.content_version):
                    build.is_dropped = True
            self._cache.delete_group(file_uuid if content_version is None else f"{file_uuid}/{content_version}")

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

    def close(self) -> None:
        """Stop the background threads."""
        self._prefetcher.close()
        self._trials.close()

    def _get_or_make(self, key: DerivedKey, tenant: Tenant, make: FileMaker) -> Path:
        """Return the path of ``key`` from the cache; on a miss, create it, or wait for the thread that does."""
        deadline = time.monotonic() + _WAIT_TIMEOUT_S
        while True:
            with self._lock:
                path = self._cache.get(key.name)
                if path is not None:
                    self._hits += 1
                    return path
                self._failures.require_drawable(tenant.content, key, time.monotonic())
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
        except _NoSpareWorkerError:
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
                        raise UnrenderableError("the file was deleted", lasting=False)
                    return self._cache.keep(staged, key.name)
            finally:
                staged.unlink(missing_ok=True)
        except DamagedBytesError:
            raise
        except OSError as error:
            raise _unavailable_problem("Pages cannot be stored at the moment.", 30) from error

    def _stage(self, data: bytes, blob: PathLike, key: DerivedKey) -> Path:
        data_key = find_data_key(blob)
        if data_key is not None:
            data = encrypt_bytes(data, data_key, self._random(SALT_BYTES), key.name.encode())
        return self._cache.stage(lambda file: file.write(data))

    def _stage_stream(self, write: Callable[[IO[bytes]], object], blob: PathLike, key: DerivedKey) -> Path:
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
        with self._lock:
            self._following += 1
        try:
            while not build.done.wait(0.25):
                now = time.monotonic()
                if now > deadline or (self._following > _MAX_SLOW_WAITERS and now - build.since > _SLOW_BUILD_S):
                    raise _unavailable_problem("This page is taking long to render.", 2)
        finally:
            with self._lock:
                self._following -= 1

    def _schedule_prefetch(self, key: DerivedKey, tenant: Tenant, blob: PathLike, mark: WatermarkText | None) -> None:
        with self._lock:
            missing = not self._cache.has(key.name) and key not in self._builds
        if missing:
            self._prefetcher.enqueue(key, partial(self._draw_if_spare, key, tenant, blob, mark))

    def _draw_if_spare(self, key: DerivedKey, tenant: Tenant, blob: PathLike, mark: WatermarkText | None) -> None:
        """Render a page in the background. Requests that arrive meanwhile wait for it, and render it themselves if no
        worker was spare."""

        def make() -> Path:
            data = self._engine.render_if_spare(blob, key.page, key.kind, mark, tenant)
            if data is None:
                raise _NoSpareWorkerError
            return self._stage(data, blob, key)

        with suppress(_NoSpareWorkerError, UnrenderableError, Problem):
            self._get_or_make(key, tenant, make)


class _NoSpareWorkerError(Exception):
    """There is no spare worker for a background job, or not for long enough."""


def _open_derived(path: Path, blob: PathLike, key: DerivedKey) -> StoredBytes:
    return StoredBytes(path, find_data_key(blob), key.name.encode())


def _unavailable_problem(detail: str, retry_after: int) -> Problem:
    return Problem("unavailable", detail, headers={"Retry-After": str(retry_after)})
