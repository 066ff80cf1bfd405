"""The PDF engine as the server sees it: questions about a PDF go in, answers or refusals come out.

No PDF byte is read in this process. Questions go to confined worker processes (``pool``, ``child``, ``worker``); a
document that crashes or stalls a worker costs that worker and nothing else.
"""

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from docshare.contract.media import detect_asset_type
from docshare.contract.problems import Problem
from docshare.server.pdf import answers
from docshare.server.pdf.admission import QuarantinedDocuments, cost_problem
from docshare.server.pdf.answers import MAX_PAGES, Inspection, PageText, WorkerRefusal
from docshare.server.pdf.budget import SHORT_LIMIT_S, Tenant
from docshare.server.pdf.child import BrokenWorkerError, WorkerReply, WorkerTimeoutError
from docshare.server.pdf.pool import WorkerPool, WorkerSlot
from docshare.server.pdf.schedule import JobLane

PALETTE_BUDGET_S = 1.5
FIRST_PAGE_LIMIT_S = SHORT_LIMIT_S  # of processor time
_THUMBNAIL_WIDTH = 160
_INSPECT_QUEUE_TIMEOUT_S = 30.0
_MAX_WORKER_SPENT_S = (
    1.0  # a used worker that dies sooner may be worn out: its memory in pieces, or the process gone already
)
_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_UNLOCK_HINT = (
    "Remove the password and send the file again, for example: qpdf --decrypt --password=SECRET locked.pdf open.pdf"
)
_REFUSAL_TEXTS: dict[str, tuple[str, str | None]] = {
    "password": ("The PDF needs a password to be opened.", _UNLOCK_HINT),
    "protection": ("The PDF is protected in a way that cannot be opened here.", _UNLOCK_HINT),
    "undrawable": (
        "Page 1 of the PDF cannot be drawn.",
        "Open it in a PDF reader, print it to a new PDF, and send that.",
    ),
    "pages": (f"The PDF has more than {MAX_PAGES:,} pages.", "Split the document and share its parts."),
    "pixels": ("The image has more than 40 million pixels.", "Scale it down and send it again."),
    "animated": ("The image is animated.", "Send one picture of it."),
}
_UNREADABLE_TEXTS: dict[str, tuple[str, str | None]] = {
    "inspect": ("The file cannot be read as a PDF.", None),
    "picture": ("The file cannot be read as an image.", "Open it in an image editor and save it again, then retry."),
}


class UnrenderableError(Exception):
    """This page cannot be drawn or read.

    ``lasting`` says whether it will be the same next time (the page is broken or crashes the engine) or may be
    different (it took too long; the file is not there). ``cost_s`` is the processor time that a worker lost on it;
    ``reason`` is why a worker refused, empty when none did.
    """

    def __init__(self, message: str, *, lasting: bool, cost_s: float = 0.0, reason: str = "") -> None:
        super().__init__(message)
        self.lasting = lasting
        self.cost_s = cost_s
        self.reason = reason


class WatermarkText(NamedTuple):
    """A watermark: ``text`` in ASCII; ``opacity`` 0 to 1; ``density`` ``sparse``, ``normal`` or ``dense``."""

    text: str
    opacity: float
    density: str


@dataclass(frozen=True)
class Derivation:
    """A document to be made of another, which has ``total_pages``: its pages ``first`` to ``last`` (1-based, included),
    each with ``mark`` over it if there is one."""

    total_pages: int
    first: int
    last: int
    mark: WatermarkText | None = None


class PdfEngine:
    """Answers questions about PDF files with a few worker processes, started at the first question.

    Parameters: ``workers`` how many jobs about pages and how many checks of uploads run at a time; ``memory_bytes``
    address space of each worker; ``timeout_s`` wall clock of one job; ``recycle_after`` jobs a worker is replaced;
    ``max_waiting`` callers stay waiting behind slow jobs; ``required``: every layer of ``confine`` must hold, or no
    worker starts. ``tenant`` in all questions: on whose behalf they are asked, which decides whose turn it is and how
    long the answer may take. Safe to use from many threads.
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
        self._hopeless = QuarantinedDocuments()
        self._pool = WorkerPool(
            places={JobLane.PAGES: workers, JobLane.CHECKS: workers},
            memory_bytes=memory_bytes,
            timeout_s=timeout_s,
            recycle_after=recycle_after,
            max_waiting=max_waiting,
            required=required,
        )

    def inspect(self, path: Path, tenant: Tenant | None = None) -> Inspection:
        """Count the pages of the file at ``path``, measure them, and draw the first one, small.

        Raises Problem ``unprocessable`` when it needs a password, cannot be opened, has more than 50,000 pages, when
        its first page cannot be drawn, or when the engine dies or stalls on it, or did within ten minutes on the same
        bytes; Problem ``unavailable`` when no worker can be had or too many callers wait for one.
        """
        job = {"do": "inspect", "path": str(path), "max_pages": MAX_PAGES}
        with self._judged(path, tenant, "inspect") as slot:
            inspection = self._ask(slot, job, answers.parse_inspection)
            return replace(inspection, is_slow=not self._try_first_page(slot, path))

    def picture(self, path: Path, media_type: str, tenant: Tenant | None = None) -> bytes:
        """The uploaded image at ``path``, which begins like one of ``media_type``, decoded and encoded anew.

        Raises Problem ``unprocessable`` for one that is broken, animated or larger than 40 million pixels, otherwise
        as ``inspect``.
        """

        def read(reply: WorkerReply) -> bytes:
            if detect_asset_type(reply.body) != media_type:
                raise ValueError("not such an image")
            return reply.body

        with self._judged(path, tenant, "picture") as slot:
            return self._ask(slot, {"do": "picture", "path": str(path), "type": media_type}, read)

    @contextlib.contextmanager
    def _judged(self, path: Path, tenant: Tenant | None, kind: str) -> Iterator[WorkerSlot]:
        """A slot to look at an upload with. Raises Problem as ``inspect``, also for what the block raises."""
        tenant = tenant or _anonymous_tenant(path)
        self._hopeless.check(tenant.content)
        try:
            with self._pool.taken(str(path), tenant, JobLane.CHECKS, patience_s=_INSPECT_QUEUE_TIMEOUT_S) as slot:
                self._hopeless.check(tenant.content)  # the same bytes may have stalled while this caller waited
                yield slot
        except WorkerRefusal as error:
            detail, hint = _REFUSAL_TEXTS.get(error.reason, _UNREADABLE_TEXTS[kind])
            raise Problem("unprocessable", detail, hint=hint) from error
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            self._hopeless.add(tenant.content)
            raise cost_problem() from error

    def _try_first_page(self, slot: WorkerSlot, path: Path) -> bool:
        """Whether the first page can be drawn soon. Raises Refusal and BrokenWorkerError when it cannot be at all."""
        try:
            read = partial(answers.parse_jpeg, width=_THUMBNAIL_WIDTH)
            self._ask(slot, _build_render_job(path, 1, _THUMBNAIL_WIDTH, None), read, cpu_s=FIRST_PAGE_LIMIT_S)
        except WorkerTimeoutError:
            return False
        except WorkerRefusal as error:
            raise WorkerRefusal("undrawable" if error.reason == "page" else error.reason) from error
        return True

    def render(
        self, path: Path, page: int, width: int, mark: WatermarkText | None = None, tenant: Tenant | None = None
    ) -> bytes:
        """Draw ``page`` (1-based) of the file at ``path`` as a JPEG ``width`` pixels wide (less if over 16 MP), with
        ``mark`` over it.

        Raises Unrenderable, or Problem ``unavailable`` when no worker can be had.
        """
        with self._taken(path, tenant) as slot:
            return self._page_job(
                slot, _build_render_job(path, page, width, mark), partial(answers.parse_jpeg, width=width)
            )

    def render_if_spare(
        self, path: Path, page: int, width: int, mark: WatermarkText | None = None, tenant: Tenant | None = None
    ) -> bytes | None:
        """As ``render``, for work nobody waits for: None at once unless a worker would stay free for readers."""
        with self._pool.spare(str(path), tenant or _anonymous_tenant(path)) as slot:
            if slot is None:
                return None
            return self._page_job(
                slot, _build_render_job(path, page, width, mark), partial(answers.parse_jpeg, width=width)
            )

    def stamp(self, image: Path, mark: WatermarkText, tenant: Tenant | None = None) -> bytes:
        """The page image at ``image``, drawn before, with ``mark`` over it. Raises as ``render``."""
        with self._taken(image, tenant) as slot:
            return self._page_job(slot, {"do": "stamp", "path": str(image), "mark": mark._asdict()}, answers.parse_jpeg)

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait up to ``timeout_s`` seconds until ``render_if_spare`` would probably draw; says whether it would."""
        return self._pool.wait_for_spare(timeout_s)

    def text(self, path: Path, page: int, tenant: Tenant | None = None) -> PageText:
        """Text and links of ``page`` (1-based) of the file at ``path``. Raises as ``render``."""
        with self._taken(path, tenant) as slot:
            return self._page_job(slot, {"do": "text", "path": str(path), "page": page}, answers.parse_page_text)

    def derive(self, path: Path, wanted: Derivation, sink: IO[bytes], tenant: Tenant | None = None) -> None:
        """Write the PDF ``wanted`` of the file at ``path`` into the file ``sink``. Pages that are not wanted leave no
        trace in it: it is checked before it is handed over, and refused when in doubt.

        Raises as ``render``; OSError of ``sink``.
        """
        with self._taken(path, tenant) as slot:
            self._derive(slot, _build_derive_job(path, wanted), sink)

    def derive_if_spare(
        self, path: Path, wanted: Derivation, sink: IO[bytes], timeout_s: float, tenant: Tenant | None = None
    ) -> bool:
        """As ``derive``, in ``timeout_s`` seconds at most; returns False at once unless a worker would stay free.

        Raises Unrenderable at once for a document that is expected to be slow: it never gets the last worker.
        """
        if tenant is not None and self._pool.is_risky(tenant):
            raise UnrenderableError("documents like this one were slow", lasting=False)
        with self._pool.spare(str(path), tenant or _anonymous_tenant(path)) as slot:
            if slot is not None:
                self._derive(slot, {**_build_derive_job(path, wanted), "timeout_s": timeout_s}, sink)
            return slot is not None

    def _derive(self, slot: WorkerSlot, job: dict[str, Any], sink: IO[bytes]) -> None:
        try:
            self._page_job(slot, job, partial(answers.check_pdf, sink), sink)
        except OSError:
            self._pool.discard(slot)  # the rest of its answer is still in the pipe
            raise
        except UnrenderableError as error:
            _log.warning("a document was not cut or marked: %s", error)
            raise

    def palette(self, path: Path, tenant: Tenant | None = None) -> list[str] | None:
        """The dominant colours (``#rrggbb``, at most 6) of the images on the first page of the file at ``path``.

        Never raises and takes at most ``PALETTE_BUDGET_S`` seconds: None where there are no images, where they cannot
        be read in that time, or when readers need all workers meanwhile.
        """
        ends = time.monotonic() + PALETTE_BUDGET_S
        self._pool.wait_for_spare(PALETTE_BUDGET_S)
        with self._pool.spare(str(path), tenant or _anonymous_tenant(path)) as slot:
            return None if slot is None else self._palette(slot, path, ends - time.monotonic())

    def _palette(self, slot: WorkerSlot, path: Path, budget_s: float) -> list[str] | None:
        if slot.child is None:  # starting one takes longer than a palette is worth
            return None
        job = {"do": "palette", "path": str(path), "budget_s": budget_s}
        try:
            return self._ask(slot, job, answers.parse_colors, wall_s=budget_s, attempts=1) or None
        except WorkerRefusal:
            return None
        except (BrokenWorkerError, WorkerTimeoutError, Problem) as error:
            _log.warning("a PDF worker was ended: %s", error)
            self._pool.discard(slot)
            return None

    def pids(self) -> list[int]:
        """Process ids of the workers that run now; empty before the first question."""
        return self._pool.pids()

    def close(self) -> None:
        """End the workers; jobs in progress fail."""
        self._pool.close()

    def _taken(self, path: Path, tenant: Tenant | None) -> contextlib.AbstractContextManager[WorkerSlot]:
        return self._pool.taken(
            str(path), tenant or _anonymous_tenant(path), JobLane.PAGES, patience_s=self._patience_s
        )

    def _page_job(
        self, slot: WorkerSlot, job: dict[str, Any], read: Callable[[WorkerReply], _T], sink: IO[bytes] | None = None
    ) -> _T:
        try:
            return self._ask(slot, job, read, sink, wall_s=job.get("timeout_s", math.inf))
        except WorkerRefusal as error:
            said, reason = f"the page cannot be read: {error.reason}", error.reason
            raise UnrenderableError(said, lasting=reason != "missing", reason=reason) from error
        except WorkerTimeoutError as error:
            raise UnrenderableError("the page takes too long", lasting=False, cost_s=slot.spent_s) from error
        except BrokenWorkerError as error:
            raise UnrenderableError("the page crashes the engine", lasting=True, cost_s=slot.spent_s) from error

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
        """One job on the slot's worker, accounted for; a worker that fails is ended. The last of ``attempts`` is for
        when the worker, not the document, may be why it died. ``cpu_s`` and ``wall_s``: less than a job may take; to
        miss these is not a stall. Raises Problem ``unavailable`` when the job was stopped so that others get its place.
        """
        worker = self._pool.worker(slot)
        used, start = worker.jobs > 0, time.monotonic()
        cpu = min(cpu_s, self._pool.limit_s(slot))
        wall = min(wall_s, self._patience_s)
        try:
            answer = answers.parse_reply(worker.ask(job, wall, sink, cpu_s=cpu), read)
        except WorkerRefusal:
            self._pool.charge(slot, worker.spent_s, stalled=False)
            raise
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            _log.warning("a PDF worker was ended: %s", error)
            self._pool.discard(slot)
            if self._pool.closed:
                raise Problem("unavailable", "The server is stopping.", headers={"Retry-After": "5"}) from error
            worn = used and time.monotonic() - start < _MAX_WORKER_SPENT_S
            innocent = isinstance(error, BrokenWorkerError) and (worn or worker.was_killed())
            again = attempts > 1 and innocent and not self._pool.is_preempted(slot)
            hurried = isinstance(error, WorkerTimeoutError) and min(cpu_s, wall_s) < self._patience_s
            self._pool.charge(slot, worker.spent_s, stalled=not (again or hurried))
            if not again:
                raise
        else:
            self._pool.charge(slot, worker.spent_s, stalled=False)
            return answer
        return self._ask(slot, job, read, sink, cpu_s=cpu_s, wall_s=wall_s, attempts=attempts - 1)


def _anonymous_tenant(path: Path) -> Tenant:
    """The tenant of a question that names none."""
    return Tenant(str(path), str(path))


def _build_render_job(path: Path, page: int, width: int, mark: WatermarkText | None) -> dict[str, Any]:
    job: dict[str, Any] = {"do": "render", "path": str(path), "page": page, "width": width}
    return job if mark is None else {**job, "mark": mark._asdict()}


def _build_derive_job(path: Path, wanted: Derivation) -> dict[str, Any]:
    job = {"do": "derive", "path": str(path), "total": wanted.total_pages, "first": wanted.first}
    return job | {"last": wanted.last, "mark": None if wanted.mark is None else wanted.mark._asdict()}
