"""The states of a file, and where deleting it leads."""

from dataclasses import dataclass

from docshare.contract.plans import PLAN_LIMITS, Plan

LIVE = "live"
EXPIRED = "expired"
BURNED = "burned"
TRASHED = "trashed"


def file_state(*, trashed_at: int | None, burned_at: int | None, delete_at: int | None, now: int) -> str:
    """Return the state of a file at ``now``: ``live``, ``expired``, ``burned`` or ``trashed``. All times in
    milliseconds.

    A file that is both burned and expired is burned: its bytes are gone or about to go.
    """
    if trashed_at is not None:
        return TRASHED
    if burned_at is not None:
        return BURNED
    return EXPIRED if is_expired(delete_at, now) else LIVE


def is_expired(delete_at: int | None, now: int) -> bool:
    """Whether the expiry ``delete_at`` (None: never) has passed at ``now``."""
    return delete_at is not None and delete_at <= now


@dataclass(frozen=True)
class TrashEntry:
    """A file in the trash since ``trashed_at`` that is destroyed at ``purge_at``."""

    trashed_at: int
    purge_at: int


def plan_deletion(*, plan: Plan, purge: bool, trash: TrashEntry | None, now: int) -> TrashEntry | None:
    """Where the owner's delete leads: to a place in the trash, or to destruction (None).

    Parameters: ``plan`` of the owner now; ``purge`` whether ``?purge=1`` was sent; ``trash`` the place the file has in
    the trash already. The ``purgeAt`` once promised holds, also after a change of plan.
    """
    if purge:
        return None
    if trash is not None:
        return trash
    kept_ms = PLAN_LIMITS[plan].trash_ms
    return None if kept_ms is None else TrashEntry(now, now + kept_ms)
