"""Reject uploads: describe why, and do not read the same bytes for ten minutes after they crashed or stalled a worker
process."""

import threading
import time
from collections import OrderedDict

from docshare.contract.problems import Problem
from docshare.server.pdf.answers import MAX_PAGES

_MAX_DOCUMENTS = 1_000
_RETRY_S = 600.0
_UNLOCK_HINT = (
    "Remove the password and upload the file again, for example: qpdf --decrypt --password=SECRET locked.pdf open.pdf"
)
_REFUSAL_TEXTS: dict[str, tuple[str, str | None]] = {
    "password": ("The PDF is password-protected.", _UNLOCK_HINT),
    "protection": ("The PDF is protected in an unsupported way.", _UNLOCK_HINT),
    "undrawable": (
        "Page 1 of the PDF cannot be rendered.",
        "Open it in a PDF reader, print it to a new PDF, and upload that.",
    ),
    "pages": (f"The PDF has more than {MAX_PAGES:,} pages.", "Split the document and share its parts."),
    "pixels": ("The image has more than 40 million pixels.", "Scale it down and upload it again."),
    "animated": ("The image is animated.", "Upload a still image."),
}
_UNREADABLE_TEXTS: dict[str, tuple[str, str | None]] = {
    "inspect": ("The file cannot be read as a PDF.", None),
    "picture": ("The file cannot be read as an image.", "Open it in an image editor, save it again, and retry."),
}


class QuarantinedDocuments:
    """Documents that crashed or stalled a worker process within the last ten minutes, keyed by the SHA-256 of their
    bytes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[float, Problem]] = OrderedDict()

    def require_allowed(self, content: str) -> None:
        """Raise the Problem of the document with the SHA-256 ``content`` again if it is quarantined."""
        with self._lock:
            entry = self._entries.get(content)
        if entry is not None and entry[0] > time.monotonic():
            raise _copy(entry[1])

    def add(self, content: str, problem: Problem) -> None:
        """Quarantine the document with the SHA-256 ``content``, which was rejected with ``problem``."""
        with self._lock:
            self._entries[content] = time.monotonic() + _RETRY_S, _copy(problem)
            self._entries.move_to_end(content)
            if len(self._entries) > _MAX_DOCUMENTS:
                self._entries.popitem(last=False)


def cost_problem() -> Problem:
    """Return the Problem for a document that crashed or stalled a worker."""
    return Problem("unprocessable", "Reading this file takes too much time or memory.")


def refusal_problem(reason: str, kind: str) -> Problem:
    """Return the Problem for an upload of ``kind`` (``inspect`` a PDF, ``picture`` an image) that a worker refused with
    ``reason``."""
    detail, hint = _REFUSAL_TEXTS.get(reason, _UNREADABLE_TEXTS[kind])
    return Problem("unprocessable", detail, hint=hint)


def _copy(problem: Problem) -> Problem:
    """Return ``problem`` without its traceback, which would keep the variables of a request alive."""
    return Problem(problem.code, problem.detail, hint=problem.hint)
