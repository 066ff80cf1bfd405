"""Reject uploads that recently crashed or stalled the engine: the same bytes are not inspected for ten minutes."""

import threading
import time
from collections import OrderedDict

from docshare.contract.problems import Problem

_MAX_DOCUMENTS = 1_000
_RETRY_S = 600.0


class QuarantinedDocuments:
    """Documents that crashed or stalled the engine within the last ten minutes, keyed by the SHA-256 of their bytes.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: OrderedDict[str, float] = OrderedDict()

    def require_allowed(self, content: str) -> None:
        """Raise Problem ``unprocessable`` if the document with the SHA-256 ``content`` is quarantined."""
        with self._lock:
            if self._until.get(content, 0.0) > time.monotonic():
                raise cost_problem()

    def add(self, content: str) -> None:
        """Quarantine the document with the SHA-256 ``content``."""
        with self._lock:
            self._until[content] = time.monotonic() + _RETRY_S
            self._until.move_to_end(content)
            if len(self._until) > _MAX_DOCUMENTS:
                self._until.popitem(last=False)


def cost_problem() -> Problem:
    """Return the Problem for a document that crashed or stalled a worker."""
    return Problem("unprocessable", "Reading this file takes too much time or memory.")
