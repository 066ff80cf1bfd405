"""The view limit: which view is the last one, and when the bytes go."""

from dataclasses import dataclass

from docshare.contract.limits import BURN_DELAY_MS


@dataclass(frozen=True)
class ConsumedView:
    """A unit of the view limit that was taken: ``consumed`` units are used now; ``burns``: it was the last one."""

    consumed: int
    burns: bool


def consume_view(limit: int, consumed: int, burned_at: int | None) -> ConsumedView | None:
    """Take one view of a link with ``limit`` views of which ``consumed`` are used; None when none is left."""
    if burned_at is not None or consumed >= limit:
        return None
    return ConsumedView(consumed + 1, consumed + 1 >= limit)


def latest_due_burn(now: int) -> int:
    """Files that burned at this moment or before lose their bytes at ``now``. All in milliseconds."""
    return now - BURN_DELAY_MS
