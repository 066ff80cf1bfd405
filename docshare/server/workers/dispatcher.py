"""Send queued webhook deliveries with several sender threads.

One dispatcher thread claims due deliveries, passes them to the senders, and records their results. A sender uses the
network but not the database. It is started when there is work for it, so a server without events has none.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from docshare.server import faults
from docshare.server.runtime import Runtime
from docshare.server.services.webhooks import dispatch
from docshare.server.services.webhooks.dispatch import AttemptResult, ClaimedDelivery
from docshare.server.store.tables import deliveries

MAX_SENDERS = 32
_THREAD_NAME = "dispatcher"
_RELEASE_SECONDS = 5.0  # interval of releasing the claims of ended processes
_POLL_SECONDS = 0.5  # interval of looking for due deliveries; the API allows a delay of five seconds
_SHARED_POLL_SECONDS = 2.0  # the same on a database that also notifies the dispatchers of new deliveries


class Dispatcher:
    """Sends the deliveries of ``rt`` from ``start`` to ``stop``, with at most ``senders`` concurrent attempts."""

    def __init__(self, rt: Runtime, senders: int = MAX_SENDERS) -> None:
        self._rt = rt
        self._max_senders = senders
        self._in_flight = 0  # deliveries that are being sent, or not recorded yet
        self._claimed: deque[ClaimedDelivery] = deque()
        self._results: deque[AttemptResult] = deque()
        self._senders = ThreadPoolExecutor(senders, thread_name_prefix="sender")
        self._release_at = 0.0  # in monotonic time
        self._poll_s = _SHARED_POLL_SECONDS if rt.db.is_shared else _POLL_SECONDS
        self._wake_event = threading.Event()
        self._end_listening: Callable[[], None] = lambda: None
        self._stopping = threading.Event()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=_THREAD_NAME, daemon=True)

    def start(self) -> None:
        """Start sending, in separate threads."""
        self._end_listening = self._rt.db.listen(deliveries.CHANNEL, self._wake_event.set)
        self._thread.start()

    def stop(self) -> None:
        """Stop starting attempts; running ones continue."""
        self._end_listening()
        self._stopping.set()
        self._wake_event.set()

    def join(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds for running attempts. The others are repeated after the next start."""
        self._thread.join(timeout)
        self._has_ended.set()
        self._senders.shutdown(wait=False)

    def _loop(self) -> None:
        while not self._has_ended.is_set():
            self._wake_event.clear()
            self._rt.heartbeats[_THREAD_NAME] = self._rt.clock()
            try:
                self._record_results()
                self._release_claims()
                if not self._stopping.is_set():
                    self._submit_claimed()
            except Exception as error:  # noqa: BLE001 - such as a full disk; the next turn tries again
                faults.log_error(error, "deliveries have stalled")
                self._has_ended.wait(_POLL_SECONDS)
            if self._stopping.is_set() and self._in_flight == 0:
                return
            self._wake_event.wait(self._poll_s)

    def _release_claims(self) -> None:
        """Release the claims of processes that have ended: before this one claims its first delivery, and then every
        ``_RELEASE_SECONDS`` if other processes use the database."""
        if time.monotonic() >= self._release_at:
            dispatch.release_claims(self._rt)  # if it fails, for example on a full disk, the next turn retries it
            self._release_at = time.monotonic() + (_RELEASE_SECONDS if self._rt.db.is_shared else math.inf)

    def _record_results(self) -> None:
        if results := list(self._results):
            dispatch.record_attempts(self._rt, results)
            for _ in results:  # only now, so that a failure loses none
                self._results.popleft()
            self._in_flight -= len(results)

    def _submit_claimed(self) -> None:
        free = self._max_senders - self._in_flight - len(self._claimed)
        if free:
            self._claimed += dispatch.claim_due(self._rt, free)
        while self._claimed:
            delivery = self._claimed.popleft()
            self._in_flight += 1
            self._senders.submit(self._send, delivery)

    def _send(self, delivery: ClaimedDelivery) -> None:
        self._results.append(dispatch.send(self._rt, delivery))
        self._wake_event.set()
