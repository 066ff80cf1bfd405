"""Reject uploads that recently crashed or stalled a worker process: the same bytes are not read for ten minutes."""

import threading
import time
from collections import OrderedDict

from docshare.contract.problems import Problem

_MAX_DOCUMENTS = 1_000
_RETRY_S = 600.0


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


def _copy(problem: Problem) -> Problem:
    """Return ``problem`` without its traceback, which would keep the variables of a request alive."""
    return Problem(problem.code, problem.detail, hint=problem.hint)
