"""Create page images, page texts and derived PDFs on first request, and cache them on disk for all readers."""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.derived_files import DerivedFiles, NoSpareWorkerError, unavailable_problem
from docshare.server.pdf.engine import Derivation, PathLike, PdfEngine, UnrenderableError, WatermarkText
from docshare.server.pdf.keys import (
    DerivedKey,
    anonymous_tenant,
    find_data_key,
    make_derived_key,
    make_key,
    mark_suffix,
)
from docshare.server.pdf.prefetch import Prefetcher
from docshare.server.rules.finding import UNREAD_PAGE, make_block
from docshare.server.rules.tiles import ImagePart as ImagePart
from docshare.server.rules.tiles import ZoomTile
from docshare.server.store.segments import DamagedBytesError
from docshare.server.store.stored_bytes import StoredBytes

PAGE_WIDTHS = (800, 1600)
THUMBNAIL_WIDTH = 160  # sharp at 80 CSS pixels on dense screens, as in the library
THUMBNAIL_WIDTHS = (THUMBNAIL_WIDTH, 240)  # sharp at 120 CSS pixels on any screen, as beside the pages
_MAX_TRIALS = 1_000
_MAX_TEXT_JOBS = 25  # of ``TEXTS_BUDGET_S`` each
_MAX_LONG_TEXTS_S = 5.0  # for all jobs that read one page only, because its text takes longer than the budget


class PageStore:
    """The pages of documents, which ``engine`` renders and reads on demand. Thread-safe.

    ``files`` keeps the results; ``root``, ``random`` and ``max_bytes`` are its parameters (see ``DerivedFiles``).
    """

    def __init__(
        self,
        engine: PdfEngine,
        root: Path,
        random: Callable[[int], bytes] = os.urandom,
        max_bytes: int = 1 << 30,
    ) -> None:
        self._engine = engine
        self.files = DerivedFiles(root, random, max_bytes)
        self._prefetcher = Prefetcher(engine.pool.wait_for_spare)
        self._trials = Prefetcher(engine.pool.wait_for_spare, most=_MAX_TRIALS)

    def image(
        self,
        file_uuid: str,
        content_version: int,
        blob: PathLike,
        page: int,
        part: ImagePart,
        mark: WatermarkText | None = None,
        tenant: Tenant | None = None,
    ) -> StoredBytes:
        """Return the JPEG of ``page`` (1-based), ``part`` (one of ``PAGE_WIDTHS`` or ``THUMBNAIL_WIDTHS``) pixels
        wide, or only of the tile ``part``. ``blob`` is the PDF, ``mark`` the watermark, and ``tenant`` is charged for
        the job.

        For a page of 800 or 1600 pixels, also renders the next page in the background. Raises UnrenderableError;
        Problem ``unavailable`` with Retry-After if the page cannot be rendered now; ValueError for any other width.
        """
        if not isinstance(part, ZoomTile) and part not in (*PAGE_WIDTHS, *THUMBNAIL_WIDTHS):
            raise ValueError(f"a page cannot be {part} pixels wide")
        kind, place = (part.page_wide, part.name) if isinstance(part, ZoomTile) else (part, "")
        key = make_key(file_uuid, content_version, blob, page, kind, place + mark_suffix(mark))
        tenant = tenant or anonymous_tenant(key)

        def make() -> Path:
            return self.files.stage(self._engine.render(blob, page, part, mark, tenant), blob, key)

        path = self.files.get_or_make(key, tenant, make)
        if part in PAGE_WIDTHS:
            self._schedule_prefetch(replace(key, page=page + 1), tenant, blob, mark)
        return _open_derived(path, blob, key)

    def stamp_image(
        self,
        file_uuid: str,
        content_version: int,
        blob: PathLike,
        page: int,
        part: ImagePart,
        mark: WatermarkText,
        tenant: Tenant | None = None,
    ) -> bytes:
        """Return the JPEG of ``page``, or of a tile of it, with a ``mark`` that is specific to one reader.

        Only the unmarked image is cached, once for all readers. Raises the same errors as ``image``, and
        FileNotFoundError if that image was evicted meanwhile.
        """
        image = self.image(file_uuid, content_version, blob, page, part, None, tenant)
        try:
            return self._engine.stamp(image, mark, tenant, part if isinstance(part, ZoomTile) else None)
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
            return self.files.stage(json.dumps(document, separators=(",", ":")).encode("ascii"), blob, key)

        return _open_derived(self.files.get_or_make(key, tenant, make), blob, key)

    def texts(
        self, file_uuid: str, content_version: int, blob: PathLike, first: int, last: int, tenant: Tenant | None = None
    ) -> StoredBytes:
        """Return the plain texts of the pages ``first`` to ``last`` (1-based), a serialized ``TextBlock``. Raises the
        same errors as ``image``.

        Several short jobs read them, between which the workers serve others. Pages that take too long are unread.
        """
        key = make_key(file_uuid, content_version, blob, first, 0, f"-{last}")
        tenant = tenant or anonymous_tenant(key)

        def make() -> Path:
            texts: list[str] = []
            jobs, long_s = 0, 0.0
            while first + len(texts) <= last and jobs < _MAX_TEXT_JOBS and long_s < _MAX_LONG_TEXTS_S:
                began = time.monotonic()
                more = self._engine.texts(blob, first + len(texts), last, tenant)
                texts += more
                jobs += 1
                long_s += time.monotonic() - began if len(more) == 1 else 0.0
            texts += [UNREAD_PAGE] * (last - first + 1 - len(texts))
            return self.files.stage(make_block(texts).serialize(), blob, key)

        return _open_derived(self.files.get_or_make(key, tenant, make), blob, key)

    def outline(
        self, file_uuid: str, content_version: int, blob: PathLike, tenant: Tenant | None = None
    ) -> StoredBytes:
        """Return the outline of the whole document, JSON rows of ``OutlineEntry``. Raises the same errors as
        ``image``."""
        key = make_key(file_uuid, content_version, blob, 1, 0, "-outline")
        tenant = tenant or anonymous_tenant(key)

        def make() -> Path:
            return self.files.stage(json.dumps(self._engine.outline(blob, tenant)).encode("ascii"), blob, key)

        return _open_derived(self.files.get_or_make(key, tenant, make), blob, key)

    def document(
        self, file_uuid: str, content_version: int, blob: PathLike, wanted: Derivation, tenant: Tenant | None = None
    ) -> StoredBytes:
        """Return the PDF ``wanted``, derived from ``blob``. Raises the same errors as ``image``."""
        key = make_derived_key(file_uuid, content_version, blob, wanted)
        tenant = tenant or anonymous_tenant(key)
        derive = partial(self._engine.derive, blob, wanted, tenant=tenant)
        path = self.files.get_or_make(key, tenant, lambda: self.files.stage_stream(derive, blob, key))
        return _open_derived(path, blob, key)

    def offer_trial(self, name: str, trial: Callable[[], None], *, last: bool = False) -> None:
        """Run ``trial``, which calls ``try_document``, in the background once a worker is free. A later trial with the
        same ``name`` replaces it. ``last``: run after all others."""
        self._trials.enqueue(name, trial, last=last)

    def try_document(
        self, file_uuid: str, content_version: int, blob: PathLike, wanted: Derivation, tenant: Tenant, timeout_s: float
    ) -> bool:
        """Derive the PDF ``wanted`` before anyone requests it; return False if there is no spare worker.

        Raises the same errors as ``image``. Only permanent failures are remembered, because a copy for a reader may
        take longer than ``timeout_s``.
        """

        def write(sink: IO[bytes]) -> None:
            try:
                if not self._engine.derive_if_spare(blob, wanted, sink, timeout_s, tenant):
                    raise NoSpareWorkerError
            except UnrenderableError as error:
                if not error.is_permanent:
                    raise NoSpareWorkerError from error
                raise

        key = make_derived_key(file_uuid, content_version, blob, wanted)
        try:
            self.files.get_or_make(key, tenant, lambda: self.files.stage_stream(write, blob, key))
        except NoSpareWorkerError as error:
            if isinstance(error.__cause__, UnrenderableError):
                raise error.__cause__ from None
            return False
        return True

    def build_copy(
        self, file_uuid: str, content_version: int, blob: PathLike, wanted: Derivation, tenant: Tenant | None = None
    ) -> IO[bytes]:
        """Derive the PDF ``wanted`` for one reader; return it as an open file that is not cached. Raises the same
        errors as ``image``."""
        key = make_key(file_uuid, content_version, blob, 0, 0, f"{wanted.first}-{wanted.last}-copy")
        tenant = tenant or anonymous_tenant(key)
        self.files.require_renderable(tenant.content, key)
        try:
            staged = self.files.stage_stream(partial(self._engine.derive, blob, wanted, tenant=tenant), blob, key)
        except UnrenderableError as error:
            self.files.remember_failure(tenant.content, key, error)
            raise
        except DamagedBytesError:
            raise
        except OSError as error:
            raise unavailable_problem("The copy cannot be stored at the moment.", 30) from error
        try:
            return _open_derived(staged, blob, key).open()
        finally:
            staged.unlink()

    def close(self) -> None:
        """Stop the background threads."""
        self._prefetcher.close()
        self._trials.close()

    def _schedule_prefetch(self, key: DerivedKey, tenant: Tenant, blob: PathLike, mark: WatermarkText | None) -> None:
        if self.files.is_missing(key):
            self._prefetcher.enqueue(key, partial(self._render_if_spare, key, tenant, blob, mark))

    def _render_if_spare(self, key: DerivedKey, tenant: Tenant, blob: PathLike, mark: WatermarkText | None) -> None:
        """Render a page in the background. Requests that arrive meanwhile wait for it, and render it themselves if no
        worker was spare."""

        def make() -> Path:
            data = self._engine.render_if_spare(blob, key.page, key.kind, mark, tenant)
            if data is None:
                raise NoSpareWorkerError
            return self.files.stage(data, blob, key)

        with suppress(NoSpareWorkerError, UnrenderableError, Problem):
            self.files.get_or_make(key, tenant, make)


def _open_derived(path: Path, blob: PathLike, key: DerivedKey) -> StoredBytes:
    return StoredBytes(path, find_data_key(blob), key.name.encode())
