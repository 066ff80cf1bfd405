"""Seats for requests that wait for somebody else's machine: each holds a thread of the server meanwhile."""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from docshare.contract.problems import Problem
from docshare.server.outbound.places import FairSlots

FULL_REASON = "full"
_RETRY_AFTER_S = 10


@contextmanager
def hold_slot(seats: threading.BoundedSemaphore, refusal: str, *, wait_s: float = 0.0) -> Iterator[None]:
    """One of ``seats`` for the length of the block.

    Parameters: ``refusal`` one sentence for whoever gets none within ``wait_s`` seconds. Raises ``unavailable``.
    """
    if not seats.acquire(timeout=wait_s):
        raise _no_free_slot(refusal)
    try:
        yield
    finally:
        seats.release()


@contextmanager
def hold_shared_slot(places: FairSlots, who: Hashable, refusal: str, *, wait_s: float) -> Iterator[None]:
    """Hold one of ``places``, which are shared fairly, for the length of the block.

    Parameters: ``who`` among whom they are shared; ``refusal`` one sentence for those who get none within ``wait_s``
    seconds. Raises ``unavailable``, whose ``extra`` has ``reason`` ``FULL``.
    """
    with places.taken(who, wait_s) as held:
        if not held:
            raise _no_free_slot(refusal)
        yield


def is_full(problem: Problem) -> bool:
    """Return whether ``problem`` is the refusal for want of a place: nothing was begun."""
    return problem.extra.get("reason") == FULL_REASON


def _no_free_slot(refusal: str) -> Problem:
    return Problem("unavailable", refusal, headers={"Retry-After": str(_RETRY_AFTER_S)}, extra={"reason": FULL_REASON})
