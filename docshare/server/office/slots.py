"""Share the conversions that run in parallel between the owners of the documents."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Hashable, Iterator

from docshare.contract.problems import Problem
from docshare.server.fair_slots import FairSlots
from docshare.server.office.process import JailTimeout
from docshare.server.office.usage import ExcessError
from docshare.server.pdf.admission import QuarantinedDocuments
from docshare.server.pdf.budget import SpendingWindow, Tenant

OWNER_BUDGET_S = 60.0  # in ten minutes: some forty ordinary documents, or one that reaches the time limit
_STOPPED = (JailTimeout, ExcessError, subprocess.SubprocessError)  # the causes of Problems about costly documents


class ConversionSlots:
    """``count`` slots, for which at most ``max_waiting`` callers wait up to ``patience_s`` seconds. Thread-safe.

    The slots are ``FairSlots``. An owner is charged the processor seconds of its conversions, or the run time of those
    that fail, and is over budget after ``OWNER_BUDGET_S`` in ten minutes. A document whose check or conversion was
    stopped is rejected for ten minutes without using a slot. Each waiting caller occupies a thread of the server, so
    only a few can wait.
    """

    def __init__(self, count: int, *, patience_s: float, max_waiting: int) -> None:
        self._slots = FairSlots(count, max_waiting, self._is_over_budget)
        self._patience_s = patience_s
        self._quarantine = QuarantinedDocuments()
        self._lock = threading.Lock()
        self._spent = SpendingWindow()
        self._is_closed = False

    @contextlib.contextmanager
    def hold(self, tenant: Tenant) -> Iterator[Callable[[float], None]]:
        """Hold a slot for the duration of the block, which calls the yielded function with the processor seconds of
        the conversion.

        Raises Problem ``unavailable`` if no slot is free in time, and ``unprocessable`` for a quarantined document.
        """
        self._quarantine.require_allowed(tenant.content)
        with self._slots.hold(tenant.owner, self._patience_s) as held:
            if self._is_closed:
                raise Problem("unavailable", "The server is stopping.", headers={"Retry-After": "5"})
            if not held:
                raise Problem("unavailable", "Too many documents are being converted.", headers={"Retry-After": "10"})
            self._quarantine.require_allowed(tenant.content)  # the same bytes may have been stopped meanwhile
            began = time.monotonic()
            measured: list[float] = []
            try:
                yield measured.append
            except Problem as problem:
                if isinstance(problem.__cause__, _STOPPED):
                    self._quarantine.add(tenant.content, problem)
                raise
            finally:
                now = time.monotonic()
                with self._lock:
                    self._spent.add(tenant.owner, measured[0] if measured else now - began, now)

    def close(self) -> None:
        """Reject all waiting and later callers."""
        self._is_closed = True
        self._slots.close()

    def _is_over_budget(self, owner: Hashable) -> bool:
        with self._lock:
            return self._spent.total_s(str(owner), time.monotonic()) > OWNER_BUDGET_S
