"""Limit how many requests wait for another machine at once: each of them holds a thread of the server."""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from docshare.contract.problems import Problem
from docshare.server.outbound.fair_slots import FairSlots

FULL_REASON = "full"
_RETRY_AFTER_S = 10


@contextmanager
def hold_slot(slots: threading.BoundedSemaphore, refusal: str, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold one of ``slots`` for the length of the block.

    Parameters: ``refusal`` the detail of the problem if none is free within ``wait_s`` seconds. Raises
    ``unavailable``.
    """
    if not slots.acquire(timeout=wait_s):
        raise _no_free_slot(refusal)
    try:
        yield
    finally:
        slots.release()


@contextmanager
def hold_shared_slot(slots: FairSlots, tenant: Hashable, refusal: str, *, wait_s: float) -> Iterator[None]:
    """Hold one of ``slots``, which tenants share fairly, for the length of the block.

    Parameters: ``tenant`` that requests it; ``refusal`` the detail of the problem if none is free within ``wait_s``
    seconds. Raises ``unavailable``, whose ``extra`` has the ``reason`` ``FULL_REASON``.
    """
    with slots.hold(tenant, wait_s) as held:
        if not held:
            raise _no_free_slot(refusal)
        yield


def is_full(problem: Problem) -> bool:
    """Return whether ``problem`` says that no slot was free: nothing was begun."""
    return problem.extra.get("reason") == FULL_REASON


def _no_free_slot(refusal: str) -> Problem:
    return Problem("unavailable", refusal, headers={"Retry-After": str(_RETRY_AFTER_S)}, extra={"reason": FULL_REASON})
