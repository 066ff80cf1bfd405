"""The states of a file, and the effect of deleting it."""

from dataclasses import dataclass

from docshare.contract.plans import PLAN_LIMITS, Plan

LIVE = "live"
EXPIRED = "expired"
BURNED = "burned"
TRASHED = "trashed"


def file_state(*, trashed_at: int | None, burned_at: int | None, delete_at: int | None, now: int) -> str:
    """Return the state of a file at ``now``: ``live``, ``expired``, ``burned`` or ``trashed``. All times in
    milliseconds.

    A file that is both burned and expired is burned: its bytes are deleted or about to be.
    """
    if trashed_at is not None:
        return TRASHED
    if burned_at is not None:
        return BURNED
    return EXPIRED if is_expired(delete_at, now) else LIVE


def is_expired(delete_at: int | None, now: int) -> bool:
    """Return whether the expiry ``delete_at`` (None: never) has passed at ``now``."""
    return delete_at is not None and delete_at <= now


@dataclass(frozen=True)
class TrashEntry:
    """A file in the trash since ``trashed_at`` that is deleted permanently at ``purge_at``."""

    trashed_at: int
    purge_at: int


def plan_deletion(*, plan: Plan, purge: bool, trash: TrashEntry | None, now: int) -> TrashEntry | None:
    """Return where the owner's delete moves a file: to a trash entry, or to permanent deletion (None).

    Parameters: ``plan`` of the owner now; ``purge`` whether ``?purge=1`` was sent; ``trash`` the current trash entry
    of the file. A ``purgeAt`` once announced does not change, even after a change of plan.
    """
    if purge:
        return None
    if trash is not None:
        return trash
    kept_ms = PLAN_LIMITS[plan].trash_ms
    return None if kept_ms is None else TrashEntry(now, now + kept_ms)
