"""Render the pages that a reader will probably open next, while a worker is spare."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

_IDLE_TIMEOUT_S = 30.0
_log = logging.getLogger(__name__)


class Prefetcher:
    """One background thread with a list of at most ``most`` jobs, newest first. The oldest job is dropped when the list
    is full.

    ``wait_for_spare(seconds)`` waits for a spare worker and returns whether there is one. Exceptions of jobs are only
    logged. The thread starts with the first job and ends after 30 seconds without one.
    """

    def __init__(self, wait_for_spare: Callable[[float], bool], most: int = 16) -> None:
        self._wait_for_spare = wait_for_spare
        self._most = most
        self._changed = threading.Condition()
        self._jobs: OrderedDict[Hashable, Callable[[], None]] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._closed = False

    def enqueue(self, key: Hashable, job: Callable[[], None], *, last: bool = False) -> None:
        """Run ``job`` once a worker is spare. A later job with the same ``key`` replaces it. ``last``: run after all
        others."""
        with self._changed:
            if self._closed:
                return
            self._jobs.pop(key, None)
            self._jobs[key] = job
            self._jobs.move_to_end(key, last=not last)
            if len(self._jobs) > self._most:
                self._jobs.popitem(last=False)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="page-prefetch", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Drop all jobs. A running job ends when its engine is closed."""
        with self._changed:
            self._closed = True
            self._jobs.clear()
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join(1.0)

    def _run(self) -> None:
        while self._wait_for_job():
            if not self._wait_for_spare(1.0):
                continue
            job = self._next()
            try:
                if job is not None:
                    job()
            except Exception:  # noqa: BLE001 - nobody waits for the job, and the thread must survive it
                _log.exception("A background rendering job failed")

    def _wait_for_job(self) -> bool:
        """Wait for a job. Return False, and deregister the thread, after ``_IDLE_TIMEOUT_S`` seconds without one."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed, _IDLE_TIMEOUT_S)
            if self._jobs and not self._closed:
                return True
            self._thread = None
            return False

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            return self._jobs.popitem()[1] if self._jobs else None
