"""Page images and page texts as files: made once, kept on disk, shared by all readers of a page."""

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.cache import DiskCache
from docshare.server.pdf.engine import Derivation, PdfEngine, UnrenderableError, WatermarkText
from docshare.server.pdf.failures import DerivedKey, PageFailures
from docshare.server.pdf.prefetch import Prefetcher

PAGE_WIDTHS = (800, 1600)
_FILE_UUID = re.compile(r"[A-Za-z0-9-]{1,64}")
_WAIT_TIMEOUT_S = 30.0
FileMaker = Callable[[], Path]  # makes a derived file and stages it
_SLOW_BUILD_S = 1.0
_MAX_SLOW_WAITERS = 2
_MAX_TRIALS = 1_000


@dataclass
class PendingBuild:
    """A derived file being made since ``since`` (monotonic seconds). Others who want it wait for ``done``.

    ``dropped``: the file was forgotten meanwhile, so the result must not be kept.
    """

    since: float
    done: threading.Event = field(default_factory=threading.Event)
    dropped: bool = False


class PageStore:
    """Derived files below ``root``, at most ``max_bytes`` together, made by ``engine`` when first asked for.

    Per page and kind one rendering is in flight, whoever asks. Failures are remembered (``Failures``). Thread-safe.
    The returned paths stay until newer files push them out or the file is forgotten.
    """

    def __init__(self, engine: PdfEngine, root: Path, max_bytes: int = 1 << 30) -> None:
        self._engine = engine
        self._cache = DiskCache(root, max_bytes)
        self._failures = PageFailures()
        self._lock = threading.Lock()  # around the cache, the failures and the flights
        self._flights: dict[DerivedKey, PendingBuild] = {}
        self._following = 0
        self._prefetcher = Prefetcher(engine.wait_for_spare)
        self._trials = Prefetcher(engine.wait_for_spare, most=_MAX_TRIALS)

    def image(
        self,
        file_uuid: str,
        content_version: int,
        blob: Path,
        page: int,
        width: int,
        mark: WatermarkText | None = None,
        tenant: Tenant | None = None,
    ) -> Path:
        """Path of the JPEG of ``page`` (1-based), ``width`` 800 or 1600 pixels wide; ``blob`` is the PDF, ``mark`` what
        is drawn over the page, ``tenant`` on whose behalf.

        The next page is drawn in the background. Raises Unrenderable; Problem ``unavailable`` (with Retry-After) when
        it cannot be drawn now; ValueError for any other width.
        """
        if width not in PAGE_WIDTHS:
            raise ValueError(f"pages are {PAGE_WIDTHS[0]} or {PAGE_WIDTHS[1]} pixels wide")
        key = replace(_make_key(file_uuid, content_version, page, width), parts=_mark_suffix(mark))
        tenant = tenant or _anonymous_tenant(key)
        path = self._made(key, tenant, lambda: self._staged(self._engine.render(blob, page, width, mark, tenant)))
        self._draw_ahead(replace(key, page=page + 1), tenant, blob, mark)
        return path

    def stamped(
        self,
        file_uuid: str,
        content_version: int,
        blob: Path,
        page: int,
        width: int,
        mark: WatermarkText,
        tenant: Tenant | None = None,
    ) -> bytes:
        """The JPEG of ``page`` with a ``mark`` that is one reader's alone: over the image that all readers share, so
        that a page is kept once and not once for each of them. Raises as ``image``, FileNotFoundError.
        """
        path = self.image(file_uuid, content_version, blob, page, width, None, tenant)
        try:
            return self._engine.stamp(path, mark, tenant)
        except UnrenderableError:
            path.stat()  # newer pages may have pushed it out since it was found
            raise

    def text(self, file_uuid: str, content_version: int, blob: Path, page: int, tenant: Tenant | None = None) -> Path:
        """Path of the JSON with text and links of ``page`` (``PageText.document``). Raises as ``image``."""
        key = _make_key(file_uuid, content_version, page, 0)
        tenant = tenant or _anonymous_tenant(key)

        def make() -> Path:
            document = self._engine.text(blob, page, tenant).document()
            return self._staged(json.dumps(document, separators=(",", ":")).encode("ascii"))

        return self._made(key, tenant, make)

    def document(
        self, file_uuid: str, content_version: int, blob: Path, wanted: Derivation, tenant: Tenant | None = None
    ) -> Path:
        """Path of the PDF ``wanted``, made of ``blob``. Raises as ``image``."""
        key = _make_derived_key(file_uuid, content_version, wanted)
        tenant = tenant or _anonymous_tenant(key)
        derive = partial(self._engine.derive, blob, wanted, tenant=tenant)
        return self._made(key, tenant, partial(self._cache.stage, derive))

    def offer_trial(self, name: str, trial: Callable[[], None], *, last: bool = False) -> None:
        """Run ``trial``, which uses ``try_document``, in the background once a worker is free; a later one of the same
        ``name`` takes its place. ``last``: after all others."""
        self._trials.offer(name, trial, last=last)

    def try_document(
        self, file_uuid: str, content_version: int, blob: Path, wanted: Derivation, tenant: Tenant, timeout_s: float
    ) -> bool:
        """Make the PDF ``wanted`` before anybody asks for it; returns False when no worker can be spared now.

        Raises as ``image``. Only a lasting failure is remembered: a reader's copy may take longer than ``timeout_s``.
        """

        def write(sink: IO[bytes]) -> None:
            try:
                if not self._engine.derive_if_spare(blob, wanted, sink, timeout_s, tenant):
                    raise _NoSpareWorkerError
            except UnrenderableError as error:
                if not error.lasting:
                    raise _NoSpareWorkerError from error
                raise

        try:
            self._made(_make_derived_key(file_uuid, content_version, wanted), tenant, partial(self._cache.stage, write))
        except _NoSpareWorkerError as error:
            if isinstance(error.__cause__, UnrenderableError):
                raise error.__cause__ from None
            return False
        return True

    def copy(
        self, file_uuid: str, content_version: int, blob: Path, wanted: Derivation, tenant: Tenant | None = None
    ) -> IO[bytes]:
        """The PDF ``wanted`` for one reader alone, open and kept nowhere. Raises as ``image``."""
        key = replace(_make_key(file_uuid, content_version, 0, 0), parts=f"{wanted.first}-{wanted.last}-copy")
        tenant = tenant or _anonymous_tenant(key)
        with self._lock:
            self._failures.check(tenant.content, key, time.monotonic())
        try:
            staged = self._cache.stage(partial(self._engine.derive, blob, wanted, tenant=tenant))
        except UnrenderableError as error:
            with self._lock:
                self._failures.remember(tenant.content, key, error, time.monotonic())
            raise
        except OSError as error:
            raise _unavailable_problem("The copy cannot be stored at the moment.", 30) from error
        try:
            return staged.open("rb")
        finally:
            staged.unlink()

    def forget(self, file_uuid: str, content_version: int | None = None) -> None:
        """Remove everything derived from a file, also what is being made just now: of all its content versions, or of
        the one that another has replaced."""
        _check_uuid(file_uuid)
        with self._lock:
            for key, flight in self._flights.items():
                if key.file_uuid == file_uuid and content_version in (None, key.content_version):
                    flight.dropped = True
            self._cache.forget(file_uuid if content_version is None else f"{file_uuid}/{content_version}")

    def forget_others(self, current: Mapping[str, int]) -> None:
        """Remove everything derived from what is not in ``current``, the content version of each file by its UUID. Only
        before serving."""
        with self._lock:
            for file_uuid in self._cache.groups():
                if file_uuid not in current:
                    self._cache.forget(file_uuid)
                for version in self._cache.groups(file_uuid):
                    if version != str(current[file_uuid]):
                        self._cache.forget(f"{file_uuid}/{version}")

    def close(self) -> None:
        """Stop drawing ahead and trying copies."""
        self._prefetcher.close()
        self._trials.close()

    def _made(self, key: DerivedKey, tenant: Tenant, make: FileMaker) -> Path:
        """The file of ``key``: found, or made by this thread, or by another one this thread waits for."""
        give_up = time.monotonic() + _WAIT_TIMEOUT_S
        while True:
            with self._lock:
                path = self._cache.get(key.name)
                if path is not None:
                    return path
                self._failures.check(tenant.content, key, time.monotonic())
                flight = self._flights.get(key)
                if flight is None:
                    mine = self._flights[key] = PendingBuild(time.monotonic())
            if flight is None:
                return self._lead(key, tenant.content, mine, make)
            self._follow(flight, give_up)

    def _lead(self, key: DerivedKey, content: str, flight: PendingBuild, make: FileMaker) -> Path:
        """Make the file of ``key``; whatever happens, the followers go on."""
        try:
            return self._keep(key, flight, make)
        except UnrenderableError as error:
            with self._lock:
                if not flight.dropped or error.cost_s:
                    self._failures.remember(content, key, error, time.monotonic())
            raise
        finally:
            with self._lock:
                del self._flights[key]
            flight.done.set()

    def _keep(self, key: DerivedKey, flight: PendingBuild, make: FileMaker) -> Path:
        try:
            staged = make()
            try:
                with self._lock:
                    if flight.dropped:
                        raise UnrenderableError("the file is gone", lasting=False)
                    return self._cache.keep(staged, key.name)
            finally:
                staged.unlink(missing_ok=True)
        except OSError as error:
            raise _unavailable_problem("Pages cannot be stored at the moment.", 30) from error

    def _staged(self, data: bytes) -> Path:
        return self._cache.stage(lambda file: file.write(data))

    def _follow(self, flight: PendingBuild, give_up: float) -> None:
        """Wait for another thread's flight. Once it is slow only a few may stay, else all threads would wait here."""
        with self._lock:
            self._following += 1
        try:
            while not flight.done.wait(0.25):
                now = time.monotonic()
                if now > give_up or (self._following > _MAX_SLOW_WAITERS and now - flight.since > _SLOW_BUILD_S):
                    raise _unavailable_problem("This page takes long to draw.", 2)
        finally:
            with self._lock:
                self._following -= 1

    def _draw_ahead(self, key: DerivedKey, tenant: Tenant, blob: Path, mark: WatermarkText | None) -> None:
        with self._lock:
            wanted = not self._cache.has(key.name) and key not in self._flights
        if wanted:
            self._prefetcher.offer(key, partial(self._draw_if_spare, key, tenant, blob, mark))

    def _draw_if_spare(self, key: DerivedKey, tenant: Tenant, blob: Path, mark: WatermarkText | None) -> None:
        """Draw a page nobody waits for yet. Readers who come meanwhile follow, and take over if no worker was free."""

        def make() -> Path:
            data = self._engine.render_if_spare(blob, key.page, key.kind, mark, tenant)
            if data is None:
                raise _NoSpareWorkerError
            return self._staged(data)

        with suppress(_NoSpareWorkerError, UnrenderableError, Problem):
            self._made(key, tenant, make)


class _NoSpareWorkerError(Exception):
    """No worker to spare for what nobody waits for, or not for as long as it takes."""


def _make_key(file_uuid: str, content_version: int, page: int, kind: int) -> DerivedKey:
    _check_uuid(file_uuid)
    return DerivedKey(file_uuid, int(content_version), int(page), kind)


def _anonymous_tenant(key: DerivedKey) -> Tenant:
    """The tenant of a question that names none."""
    return Tenant(key.file_uuid, f"{key.file_uuid}/{key.content_version}")


def _make_derived_key(file_uuid: str, content_version: int, wanted: Derivation) -> DerivedKey:
    parts = f"{wanted.first}-{wanted.last}{_mark_suffix(wanted.mark)}"
    return replace(_make_key(file_uuid, content_version, 0, 0), parts=parts)


def _mark_suffix(mark: WatermarkText | None) -> str:
    """The name of ``mark`` in the cache; none for none."""
    return "" if mark is None else "-" + hashlib.sha256(repr(mark).encode()).hexdigest()[:16]


def _check_uuid(file_uuid: str) -> None:
    if not _FILE_UUID.fullmatch(file_uuid):
        raise ValueError("not a file id")


def _unavailable_problem(detail: str, retry_after: int) -> Problem:
    return Problem("unavailable", detail, headers={"Retry-After": str(retry_after)})
