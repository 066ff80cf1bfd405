"""Inspect, render and derive PDFs: the interface of the PDF engine to the server.

The server process never parses a PDF. It sends jobs to confined worker processes (``pool``, ``child``, ``worker``). A
document that crashes or stalls its worker affects no other process.
"""

import contextlib
import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import IO, Any, TypeVar

from docshare.contract.media import detect_asset_type
from docshare.contract.problems import Problem
from docshare.server.pdf import answers
from docshare.server.pdf.admission import QuarantinedDocuments, cost_problem, refusal_problem
from docshare.server.pdf.answers import MAX_PAGES, Inspection, PageText, WorkerRefusal
from docshare.server.pdf.budget import SHORT_LIMIT_S, Tenant
from docshare.server.pdf.child import BrokenWorkerError, WorkerReply, WorkerTimeoutError
from docshare.server.pdf.pool import WorkerPool, WorkerSlot
from docshare.server.pdf.schedule import JobLane
from docshare.server.rules.outline import OutlineEntry
from docshare.server.rules.tiles import ImagePart, ZoomTile
from docshare.server.store.blobs import StorageUnreachableError
from docshare.server.store.segments import DamagedBytesError
from docshare.server.store.stored_bytes import StoredBytes, discard_damaged_copy

PathLike = os.PathLike[str]
"""The path of a document in clear, or ``StoredBytes``, which also have the key of an encrypted one."""

MISSING_REASON = "missing"  # of a document that was deleted or replaced meanwhile
PALETTE_BUDGET_S = 1.5
TEXTS_BUDGET_S = 0.2  # less than a job may take that gets the last free worker
FIRST_PAGE_LIMIT_S = SHORT_LIMIT_S  # of processor time
_THUMBNAIL_WIDTH = 160
_INSPECT_QUEUE_TIMEOUT_S = 30.0
# A reused worker that dies sooner may have failed for its own reasons: fragmented memory, or already dead.
_MAX_WORKER_SPENT_S = 1.0
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class UnrenderableError(Exception):
    """A page cannot be rendered or read.

    ``is_permanent``: a retry would fail too, because the page is broken or crashes the engine; otherwise it took too
    long, or the file is missing. ``cost_s``: the processor time that was wasted; ``reason``: the worker's.
    """

    def __init__(self, message: str, *, is_permanent: bool, cost_s: float = 0.0, reason: str = "") -> None:
        super().__init__(message)
        self.is_permanent = is_permanent
        self.cost_s = cost_s
        self.reason = reason


@dataclass(frozen=True)
class WatermarkText:
    """A watermark: ``text`` in ASCII; ``opacity`` 0 to 1; ``density`` ``sparse``, ``normal`` or ``dense``."""

    text: str
    opacity: float
    density: str


@dataclass(frozen=True)
class Derivation:
    """A PDF to derive from a document of ``total_pages``: its pages ``first`` to ``last`` (1-based, inclusive), with
    the watermark ``mark`` on each page if there is one."""

    total_pages: int
    first: int
    last: int
    mark: WatermarkText | None = None


class PdfEngine:
    """The PDF engine: a few worker processes, started on first use. Thread-safe.

    Parameters: ``workers`` is the number of page jobs, and also of upload checks, that run in parallel;
    ``memory_bytes`` limits the address space of each worker; ``timeout_s`` is the wall-clock limit of one job;
    ``recycle_after`` jobs, a worker is replaced; at most ``max_waiting`` callers wait behind slow jobs; ``required``:
    workers start only with every layer of ``confine`` active. In all methods, ``tenant`` is the party that the job is
    charged to; its record decides the order of jobs and their time limits. ``pool`` has the workers.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        memory_bytes: int = 1 << 30,
        timeout_s: float = 10.0,
        recycle_after: int = 500,
        max_waiting: int = 2,
        required: bool = False,
    ) -> None:
        self._patience_s = timeout_s
        self._quarantine = QuarantinedDocuments()
        self.pool = WorkerPool(
            places={JobLane.PAGES: workers, JobLane.CHECKS: workers},
            memory_bytes=memory_bytes,
            timeout_s=timeout_s,
            recycle_after=recycle_after,
            max_waiting=max_waiting,
            required=required,
        )

    def inspect(self, path: PathLike, tenant: Tenant | None = None) -> Inspection:
        """Count and measure the pages of the file at ``path``, and render a thumbnail of the first page as a test.

        Raises Problem ``unprocessable`` if the file needs a password, cannot be opened, has more than 50,000 pages or a
        first page that cannot be rendered, or if the same bytes crashed or stalled a worker within ten minutes;
        Problem ``unavailable`` if no worker is available or too many callers wait for one.
        """
        job = {"do": "inspect", **_describe_source(path), "max_pages": MAX_PAGES}
        with self._check_slot(path, tenant, "inspect") as slot:
            inspection = self._ask(slot, job, answers.parse_inspection)
            return replace(inspection, is_slow=not self._try_first_page(slot, path))

    def picture(self, path: PathLike, media_type: str, tenant: Tenant | None = None) -> bytes:
        """Decode the uploaded image at ``path``, whose signature is that of ``media_type``, and return it re-encoded.

        Raises Problem ``unprocessable`` if the image is broken, animated or larger than 40 million pixels; other
        Problems as ``inspect``.
        """

        def read(reply: WorkerReply) -> bytes:
            if detect_asset_type(reply.body) != media_type:
                raise ValueError("not an image of that type")
            return reply.body

        with self._check_slot(path, tenant, "picture") as slot:
            return self._ask(slot, {"do": "picture", **_describe_source(path), "type": media_type}, read)

    @contextlib.contextmanager
    def _check_slot(self, path: PathLike, tenant: Tenant | None, kind: str) -> Iterator[WorkerSlot]:
        """Yield a slot for checking an upload; turn errors of the block into the Problems of ``inspect``."""
        tenant = tenant or _anonymous_tenant(path)
        self._quarantine.require_allowed(tenant.content)
        try:
            with self.pool.hold(str(path), tenant, JobLane.CHECKS, patience_s=_INSPECT_QUEUE_TIMEOUT_S) as slot:
                self._quarantine.require_allowed(tenant.content)  # the same bytes may have stalled a worker meanwhile
                yield slot
        except WorkerRefusal as error:
            if error.reason == "damaged":
                raise DamagedBytesError("the upload was changed while it was checked") from error
            raise refusal_problem(error.reason, kind) from error
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            self._quarantine.add(tenant.content, cost_problem())
            raise cost_problem() from error

    def _try_first_page(self, slot: WorkerSlot, path: PathLike) -> bool:
        """Return whether the first page renders within ``FIRST_PAGE_LIMIT_S``. Raises WorkerRefusal or
        BrokenWorkerError if it cannot be rendered at all."""
        try:
            job = _build_render_job(path, 1, _THUMBNAIL_WIDTH, None)
            self._ask(slot, job, answers.make_image_parser(_THUMBNAIL_WIDTH), cpu_s=FIRST_PAGE_LIMIT_S)
        except WorkerTimeoutError:
            return False
        except WorkerRefusal as error:
            raise WorkerRefusal("undrawable" if error.reason == "page" else error.reason) from error
        return True

    def render(
        self,
        path: PathLike,
        page: int,
        part: int | ZoomTile,
        mark: WatermarkText | None = None,
        tenant: Tenant | None = None,
    ) -> bytes:
        """Render ``page`` (1-based) of the file at ``path`` as a JPEG ``part`` pixels wide, or narrower if it would
        exceed 16 megapixels, or only the tile ``part`` of it; with the watermark ``mark``.

        Raises UnrenderableError, or Problem ``unavailable`` if no worker is available.
        """
        with self._page_slot(path, tenant) as slot:
            return self._run_page_job(slot, _build_render_job(path, page, part, mark), answers.make_image_parser(part))

    def render_if_spare(
        self, path: PathLike, page: int, width: int, mark: WatermarkText | None = None, tenant: Tenant | None = None
    ) -> bytes | None:
        """Render a page in the background. Return None at once unless another worker stays free for readers. Raises
        the same errors as ``render``."""
        with discard_damaged_copy(path), self._hold_spare(path, tenant) as slot:
            job = _build_render_job(path, page, width, mark)
            return None if slot is None else self._run_page_job(slot, job, answers.make_image_parser(width))

    def stamp(
        self, image: PathLike, mark: WatermarkText, tenant: Tenant | None = None, tile: ZoomTile | None = None
    ) -> bytes:
        """Return the rendered page at ``image``, or a ``tile``, with the watermark ``mark``. Raises as ``render``."""
        job = {"do": "stamp", **_describe_source(image), "mark": asdict(mark), "tile": tile and tile.describe()}
        with self._page_slot(image, tenant) as slot:
            return self._run_page_job(slot, job, answers.parse_jpeg)

    def text(self, path: PathLike, page: int, tenant: Tenant | None = None) -> PageText:
        """Return the text and links of ``page`` (1-based) of the file at ``path``. Raises as ``render``."""
        job = {"do": "text", **_describe_source(path), "page": page}
        with self._page_slot(path, tenant) as slot:
            return self._run_page_job(slot, job, answers.parse_page_text)

    def texts(self, path: PathLike, first: int, last: int, tenant: Tenant | None = None) -> list[str]:
        """Return the text of the pages ``first`` to ``last`` (1-based) of the file at ``path`` without positions, for
        finding words; ``UNREAD_PAGE`` for a page that cannot be read.

        Returns the texts of fewer pages, but at least one, if reading them takes more than ``TEXTS_BUDGET_S`` seconds
        of processor time. Raises the same errors as ``render``.
        """
        job = {"do": "texts", **_describe_source(path), "first": first, "last": last, "budget_s": TEXTS_BUDGET_S}
        with self._page_slot(path, tenant) as slot:
            return self._run_page_job(slot, job, partial(answers.parse_texts, most=last - first + 1))

    def outline(self, path: PathLike, tenant: Tenant | None = None) -> list[OutlineEntry]:
        """Return the outline of the file at ``path``. Raises the same errors as ``render``."""
        with self._page_slot(path, tenant) as slot:
            return self._run_page_job(slot, {"do": "outline", **_describe_source(path)}, answers.parse_outline)

    def derive(self, path: PathLike, wanted: Derivation, sink: IO[bytes], tenant: Tenant | None = None) -> None:
        """Derive the PDF ``wanted`` from the file at ``path`` and write it to ``sink``.

        The worker verifies that the result contains nothing from excluded pages, and refuses the job in doubt. Raises
        the same errors as ``render``, and OSError if ``sink`` cannot be written.
        """
        with self._page_slot(path, tenant) as slot:
            self._derive(slot, _build_derive_job(path, wanted), sink)

    def derive_if_spare(
        self, path: PathLike, wanted: Derivation, sink: IO[bytes], timeout_s: float, tenant: Tenant | None = None
    ) -> bool:
        """Derive a PDF in at most ``timeout_s`` seconds; return False at once unless another worker stays free.

        Raises the same errors as ``derive``, and UnrenderableError at once if ``tenant`` is likely slow.
        """
        if tenant is not None and self.pool.is_likely_slow(tenant):
            raise UnrenderableError("documents like this one were slow", is_permanent=False)
        with discard_damaged_copy(path), self._hold_spare(path, tenant) as slot:
            if slot is not None:
                self._derive(slot, {**_build_derive_job(path, wanted), "timeout_s": timeout_s}, sink)
            return slot is not None

    def _derive(self, slot: WorkerSlot, job: dict[str, Any], sink: IO[bytes]) -> None:
        try:
            self._run_page_job(slot, job, partial(answers.check_pdf, sink), sink)
        except OSError:
            self.pool.discard(slot)  # the rest of the reply is still in the pipe
            raise
        except UnrenderableError as error:
            _log.warning("Could not derive a page range or a watermarked copy: %s", error)
            raise

    def palette(self, path: PathLike, tenant: Tenant | None = None) -> list[str] | None:
        """Return the dominant colors (``#rrggbb``, at most 6) of the images on the first page of the file at ``path``.

        Never raises and takes at most ``PALETTE_BUDGET_S`` seconds. Returns None if the page has no images, if they
        cannot be read in time, or if readers need all workers.
        """
        deadline = time.monotonic() + PALETTE_BUDGET_S
        try:
            _locate(path)
        except (UnrenderableError, OSError, StorageUnreachableError):
            return None
        self.pool.wait_for_spare(PALETTE_BUDGET_S)
        with self._hold_spare(path, tenant) as slot:
            return None if slot is None else self._palette(slot, path, deadline - time.monotonic())

    def _palette(self, slot: WorkerSlot, path: PathLike, budget_s: float) -> list[str] | None:
        if not self.pool.has_usable_worker(slot):  # a palette does not justify starting a worker
            return None
        job = {"do": "palette", **_describe_source(path), "budget_s": budget_s}
        try:
            return self._ask(slot, job, answers.parse_colors, wall_s=budget_s, attempts=1) or None
        except WorkerRefusal:
            return None
        except (BrokenWorkerError, WorkerTimeoutError, OSError, Problem) as error:
            _log.warning("Killed a PDF worker: %s", error)
            self.pool.discard(slot)
            return None

    def close(self) -> None:
        """End the workers. Running jobs fail."""
        self.pool.close()

    @contextlib.contextmanager
    def _page_slot(self, path: PathLike, tenant: Tenant | None) -> Iterator[WorkerSlot]:
        owner = tenant or _anonymous_tenant(path)
        with (
            discard_damaged_copy(path),
            self.pool.hold(_locate(path), owner, JobLane.PAGES, patience_s=self._patience_s) as slot,
        ):
            yield slot

    def _hold_spare(
        self, path: PathLike, tenant: Tenant | None
    ) -> contextlib.AbstractContextManager[WorkerSlot | None]:
        return self.pool.hold_spare(_locate(path), tenant or _anonymous_tenant(path))

    def _run_page_job(
        self, slot: WorkerSlot, job: dict[str, Any], read: Callable[[WorkerReply], _T], sink: IO[bytes] | None = None
    ) -> _T:
        try:
            return self._ask(slot, job, read, sink, wall_s=job.get("timeout_s", math.inf))
        except WorkerRefusal as error:
            if error.reason == "damaged":
                raise DamagedBytesError("the stored document was changed") from error
            message, reason = f"the page cannot be read: {error.reason}", error.reason
            raise UnrenderableError(message, is_permanent=reason != MISSING_REASON, reason=reason) from error
        except WorkerTimeoutError as error:
            raise UnrenderableError("the page takes too long", is_permanent=False, cost_s=slot.spent_s) from error
        except BrokenWorkerError as error:
            raise UnrenderableError("the page crashes the engine", is_permanent=True, cost_s=slot.spent_s) from error

    def _ask(
        self,
        slot: WorkerSlot,
        job: dict[str, Any],
        read: Callable[[WorkerReply], _T],
        sink: IO[bytes] | None = None,
        *,
        cpu_s: float = math.inf,
        wall_s: float = math.inf,
        attempts: int = 2,
    ) -> _T:
        """Run one job on the worker of ``slot``, charge it, and return the parsed reply. Kill a worker that fails.

        The job is tried again, up to ``attempts`` times, if the worker rather than the document may have caused the
        failure. ``cpu_s`` and ``wall_s`` tighten the limits of the job; exceeding a tightened limit does not count as a
        stall. Raises Problem ``unavailable`` if the job was preempted.
        """
        worker = self.pool.prepare_worker(slot)
        used, start = worker.jobs > 0, time.monotonic()
        cpu = min(cpu_s, self.pool.limit_s(slot))
        wall = min(wall_s, self._patience_s)
        try:
            answer = answers.parse_reply(worker.ask(job, wall, sink, cpu_s=cpu), read)
        except WorkerRefusal:
            self.pool.charge(slot, worker.spent_s, stalled=False)
            raise
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            _log.warning("Killed a PDF worker: %s", error)
            self.pool.discard(slot)
            if self.pool.is_closed:
                raise Problem("unavailable", "The server is stopping.", headers={"Retry-After": "5"}) from error
            worn = used and time.monotonic() - start < _MAX_WORKER_SPENT_S
            innocent = isinstance(error, BrokenWorkerError) and (worn or worker.is_killed())
            again = attempts > 1 and innocent and not self.pool.is_preempted(slot)
            tightened = isinstance(error, WorkerTimeoutError) and min(cpu_s, wall_s) < self._patience_s
            self.pool.charge(slot, worker.spent_s, stalled=not (again or tightened))
            if not again:
                raise
        else:
            self.pool.charge(slot, worker.spent_s, stalled=False)
            return answer
        return self._ask(slot, job, read, sink, cpu_s=cpu_s, wall_s=wall_s, attempts=attempts - 1)


def _anonymous_tenant(path: PathLike) -> Tenant:
    """Return a tenant for a caller that names none."""
    return Tenant(str(path), str(path))


def _locate(path: PathLike) -> str:
    """Return the path of the file; a blob of a bucket is fetched for that. Raises UnrenderableError if the bytes do not
    exist, OSError and StorageUnreachableError."""
    try:
        return os.fspath(path)
    except FileNotFoundError as error:
        raise UnrenderableError("the document is missing", is_permanent=False, reason=MISSING_REASON) from error


def _describe_source(path: PathLike) -> dict[str, Any]:
    """Return what a job says of its document. Raises what ``_locate`` raises."""
    source: dict[str, Any] = {"path": _locate(path)}
    if isinstance(path, StoredBytes) and path.data_key is not None:
        source |= {"key": path.data_key.hex(), "context": path.context.decode()}
    return source


def _build_render_job(path: PathLike, page: int, part: ImagePart, mark: WatermarkText | None) -> dict[str, Any]:
    how = {"tile": part.describe()} if isinstance(part, ZoomTile) else {"width": part}
    return {"do": "render", **_describe_source(path), "page": page, **how, "mark": mark and asdict(mark)}


def _build_derive_job(path: PathLike, wanted: Derivation) -> dict[str, Any]:
    job = {"do": "derive", **_describe_source(path), "total": wanted.total_pages, "first": wanted.first}
    return job | {"last": wanted.last, "mark": wanted.mark and asdict(wanted.mark)}
