"""Seats for requests that wait for somebody else's machine: each holds a thread of the server meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from docshare.contract.problems import Problem

_RETRY_AFTER_S = 10


@contextmanager
def taken(seats: threading.BoundedSemaphore, refusal: str, *, wait_s: float = 0.0) -> Iterator[None]:
    """One of ``seats`` for the length of the block.

    Parameters: ``refusal`` one sentence for whoever gets none within ``wait_s`` seconds. Raises ``unavailable``.
    """
    if not seats.acquire(timeout=wait_s):
        raise Problem("unavailable", refusal, headers={"Retry-After": str(_RETRY_AFTER_S)})
    try:
        yield
    finally:
        seats.release()
