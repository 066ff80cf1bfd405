"""Let a request wait without a thread. Standard library only.

A thread that waits cannot serve other requests, so a few dozen requests that wait for a slot would stop the server.
Instead of waiting for a slot, the code raises ``RequestParked``: no response is sent, and the listener runs the request
again from its beginning after ``ParkableRequest.resume``. So the code before the wait runs twice.

Where a wait needs its thread, ``report_wait`` lets the next request compute meanwhile.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class RequestParked(BaseException):
    """The current request waits. This is not an ``Exception``, so nothing between the wait and the listener handles
    it as a failure."""


class Claim(Protocol):
    """The claim of a request on a scarce resource, such as a slot: the request waits for the resource or holds it."""

    def end(self) -> None:
        """Stop waiting for the resource, or release it. May be called twice."""


class ParkableRequest:
    """A request that can wait without a thread.

    ``restart`` queues it for a worker, from any thread; ``report_wait`` reports to the queue that it waits from now on.
    ``claim`` is None before its first wait without a thread.
    """

    def __init__(self, restart: Callable[[], None], report_wait: Callable[[], None]) -> None:
        self.claim: Claim | None = None
        self.report_wait = report_wait
        self._restart = restart
        self._lock = threading.Lock()
        self._is_parked = False
        self._is_resumed = False

    @contextmanager
    def run(self) -> Iterator[None]:
        """Make this the current request for the duration of the block, and end its claim afterwards. If the block
        raises ``RequestParked``, the claim remains and the request is parked."""
        token, is_parked = _CURRENT.set(self), False
        try:
            yield
        except RequestParked:
            is_parked = True
        finally:
            _CURRENT.reset(token)
            if is_parked:
                self._park()  # last: another thread may run it now
            else:
                self.end_claim()

    def end_claim(self) -> None:
        """End the claim of the request, if it has one."""
        if self.claim is not None:
            self.claim.end()

    def resume(self) -> None:
        """Run the request again, now or as soon as it is parked. From any thread."""
        with self._lock:
            if self._is_parked:
                self._is_parked = False
                self._restart()
            else:
                self._is_resumed = True

    def _park(self) -> None:
        with self._lock:
            if self._is_resumed:
                self._is_resumed = False
                self._restart()
            else:
                self._is_parked = True


_CURRENT: ContextVar[ParkableRequest | None] = ContextVar("parkable_request", default=None)


def current_request() -> ParkableRequest | None:
    """Return the request of this thread if it can wait without a thread, which requires the bundled listener."""
    return _CURRENT.get()


def has_waited() -> bool:
    """Return whether the current request runs again, after it has waited."""
    request = _CURRENT.get()
    return request is not None and request.claim is not None


def report_wait() -> None:
    """Report that the current request waits from now on, in its thread, so that the next one can compute."""
    request = _CURRENT.get()
    if request is not None:
        request.report_wait()
