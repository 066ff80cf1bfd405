"""The worker processes of one engine: who may use which, who waits, and who is told to come back later."""

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from docshare.contract.problems import Problem
from docshare.server.pdf.child import BrokenWorkerError, Child, LateWorkerError

_log = logging.getLogger(__name__)

_RECENT_PATHS = 4  # as many documents as a worker keeps open
_STUCK_S = 1.0
_START_PAUSE_S = 5.0


@dataclass
class Slot:
    """A place for one worker: ``child`` once started; ``since`` when its present user took it (monotonic seconds)."""

    child: Child | None = None
    since: float = 0.0
    recent: OrderedDict[str, None] = field(default_factory=OrderedDict)


class Pool:
    """At most ``workers`` children, started when first needed, replaced after ``recycle_after`` jobs.

    ``max_waiting`` callers stay when every worker has been busy with one job for a second; the others are sent away,
    so that hostile documents cannot hold all threads of the server. Thread-safe.
    """

    def __init__(
        self, *, workers: int, memory_bytes: int, timeout_s: float, recycle_after: int, max_waiting: int
    ) -> None:
        self._memory_bytes = memory_bytes
        self._timeout_s = timeout_s
        self._recycle_after = recycle_after
        self._max_waiting = max_waiting
        self._changed = threading.Condition()
        self._slots = [Slot() for _ in range(workers)]
        self._idle = list(self._slots)
        self._waiting = 0
        self._start_after = 0.0
        self._closed = False

    def pids(self) -> list[int]:
        """Process ids of the workers that run now."""
        with self._changed:
            return [slot.child.pid for slot in self._slots if slot.child is not None]

    @contextlib.contextmanager
    def taken(self, path: str, *, patience_s: float, sheddable: bool) -> Iterator[Slot]:
        """A slot for a job about the document at ``path``, given back afterwards.

        Waits at most ``patience_s`` seconds; a ``sheddable`` caller less when the pool is stuck (class docstring).
        Raises Problem ``unavailable``.
        """
        slot = self._wait_for_slot(path, patience_s, sheddable)
        try:
            yield slot
        finally:
            self._give_back(slot)

    @contextlib.contextmanager
    def spare(self, path: str) -> Iterator[Slot | None]:
        """A slot nobody else needs now, or None: one worker always stays free for readers who wait."""
        with self._changed:
            slot = self._take(path) if self._has_spare() else None
        try:
            yield slot
        finally:
            if slot is not None:
                self._give_back(slot)

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait until ``spare`` would probably give a slot; False after ``timeout_s`` seconds."""
        with self._changed:
            return self._changed.wait_for(self._has_spare, timeout_s)

    def worker(self, slot: Slot) -> Child:
        """The running worker of a slot the caller holds, started if need be. Raises Problem ``unavailable``."""
        if slot.child is None:
            child = self._start()
            with self._changed:
                slot.child = child
                closed = self._closed
            if closed:
                self.discard(slot)
                raise _unavailable("The server is stopping.", 5)
        assert slot.child is not None
        return slot.child

    def discard(self, slot: Slot) -> None:
        """Kill the worker of a slot the caller holds; the next job gets a new one."""
        with self._changed:
            child, slot.child = slot.child, None
            slot.recent.clear()
        if child is not None:
            child.kill()

    def close(self) -> None:
        """End all workers. Callers inside a job see their worker die; waiting callers get ``unavailable``."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = [slot for slot in self._slots if slot not in idle]
            for slot in busy:
                if slot.child is not None:
                    slot.child.interrupt()
            self._changed.notify_all()
        for slot in idle:
            if slot.child is not None:
                slot.child.close()
                slot.child = None

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def _has_spare(self) -> bool:
        wanted = min(2, len(self._slots))
        return not self._closed and not self._waiting and len(self._idle) >= wanted

    def _wait_for_slot(self, path: str, patience_s: float, sheddable: bool) -> Slot:
        give_up = time.monotonic() + patience_s
        with self._changed:
            self._waiting += 1
            try:
                while not self._idle or self._closed:
                    now = time.monotonic()
                    if self._closed:
                        raise _unavailable("The server is stopping.", 5)
                    if now >= give_up or (sheddable and self._waiting > self._max_waiting and self._stuck(now)):
                        raise _unavailable("Too many pages are being drawn at the moment.", 2)
                    self._changed.wait(min(0.25, give_up - now))
                return self._take(path)
            finally:
                self._waiting -= 1

    def _stuck(self, now: float) -> bool:
        return all(now - slot.since > _STUCK_S for slot in self._slots)

    def _take(self, path: str) -> Slot:
        """The idle slot that has the document open, else one that runs, else any."""
        slot = max(self._idle, key=lambda slot: (path in slot.recent, slot.child is not None))
        self._idle.remove(slot)
        slot.since = time.monotonic()
        slot.recent[path] = None
        slot.recent.move_to_end(path)
        if len(slot.recent) > _RECENT_PATHS:
            slot.recent.popitem(last=False)
        return slot

    def _give_back(self, slot: Slot) -> None:
        worn = None
        with self._changed:
            child = slot.child
            if child is not None and (self._closed or child.jobs >= self._recycle_after):
                worn, slot.child = child, None
                slot.recent.clear()
            if not self._closed:
                self._idle.append(slot)
            self._changed.notify_all()
        if worn is not None:
            worn.close()

    def _start(self) -> Child:
        """A new worker; after a failed start the next attempt waits a little, so that requests fail fast."""
        if self._closed:
            raise _unavailable("The server is stopping.", 5)
        if time.monotonic() < self._start_after:
            raise _unavailable("The PDF engine does not start.", 10)
        try:
            return Child(memory_bytes=self._memory_bytes, timeout_s=self._timeout_s)
        except (BrokenWorkerError, LateWorkerError) as error:
            self._start_after = time.monotonic() + _START_PAUSE_S
            _log.error("The PDF engine does not start: %s", error)
            raise _unavailable("The PDF engine does not start.", 10) from error


def _unavailable(detail: str, retry_after: int) -> Problem:
    return Problem("unavailable", detail, headers={"Retry-After": str(retry_after)})
