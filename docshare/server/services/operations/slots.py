"""Limit the number of concurrent requests that wait for another machine, because each of them occupies a thread."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from docshare.contract.problems import Problem
from docshare.server.fair_slots import FairSlots

FULL_REASON = "full"
_RETRY_AFTER_S = 10


@contextmanager
def hold_slot(
    slots: FairSlots, owner: Hashable, refusal: str, *, wait_s: float, code: str = "unavailable"
) -> Iterator[None]:
    """Hold one of ``slots``, which owners share fairly, for the length of the block.

    Parameters: ``owner`` that requests it; ``refusal`` the detail of the problem if none is free within ``wait_s``
    seconds. Raises ``code``, whose ``extra`` has the ``reason`` ``FULL_REASON``.
    """
    with slots.hold(owner, wait_s) as held:
        if not held:
            raise Problem(code, refusal, headers={"Retry-After": str(_RETRY_AFTER_S)}, extra={"reason": FULL_REASON})
        yield


def is_full(problem: Problem) -> bool:
    """Return whether ``problem`` says that no slot was free: nothing was begun."""
    return problem.extra.get("reason") == FULL_REASON
