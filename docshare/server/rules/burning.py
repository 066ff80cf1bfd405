"""The view limit: which view is the last one, and when the bytes are deleted."""

from dataclasses import dataclass

from docshare.contract.limits import BURN_DELAY_MS


@dataclass(frozen=True)
class ConsumedView:
    """A view that was consumed: ``consumed`` views are used now; ``burns``: it was the last one."""

    consumed: int
    burns: bool


def consume_view(limit: int, consumed: int, burned_at: int | None) -> ConsumedView | None:
    """Consume one view of a link with ``limit`` views of which ``consumed`` are used; None if none is left."""
    if burned_at is not None or consumed >= limit:
        return None
    return ConsumedView(consumed + 1, consumed + 1 >= limit)


def latest_due_burn(now: int) -> int:
    """Return the latest burn time (ms) of files whose bytes are due for deletion at ``now``."""
    return now - BURN_DELAY_MS
