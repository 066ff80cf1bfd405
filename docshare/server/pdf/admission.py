"""Uploads that crashed or stalled the engine: the same bytes are not inspected again for ten minutes."""

import threading
import time
from collections import OrderedDict

from docshare.contract.problems import Problem

_MAX_DOCUMENTS = 1_000
_RETRY_S = 600.0


class QuarantinedDocuments:
    """Documents that crashed or stalled the engine within the last ten minutes, by the SHA-256 of their bytes.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: OrderedDict[str, float] = OrderedDict()

    def check(self, content: str) -> None:
        """Raise Problem ``unprocessable`` for one of them."""
        with self._lock:
            if self._until.get(content, 0.0) > time.monotonic():
                raise cost_problem()

    def add(self, content: str) -> None:
        """Remember the document ``content``."""
        with self._lock:
            self._until[content] = time.monotonic() + _RETRY_S
            self._until.move_to_end(content)
            if len(self._until) > _MAX_DOCUMENTS:
                self._until.popitem(last=False)


def cost_problem() -> Problem:
    """The refusal of a document that costs a worker."""
    return Problem("unprocessable", "Reading this file takes too much time or memory.")
