"""Add counted sessions to the sums of their file, in the transaction that ends them.

A report reads these sums and never the sessions themselves, so a report on a million readers costs as much as a report
on ten. A session that has ended is deleted only with its file, and a reader who declines while reading (``visits``)
takes back a view that is not in the sums yet; only a later visit that has ended may become the first of its reader.
"""

from docshare.contract.limits import BEACON_RETENTION_MS
from docshare.server.runtime import Runtime
from docshare.server.store.tables import rollups, viewing


def record_reader(rt: Runtime, session_id: int) -> None:
    """Store whether the reader of a session that has just been counted is a returning reader."""
    viewing.mark_returning(rt.db, session_id)
    rollups.insert_reader(rt.db, session_id)


def forget_reader(rt: Runtime, file_id: int, reader: str) -> None:
    """After a running session of the ``reader`` was deleted: delete the reader without another counted session. If the
    deleted session was the first, the first one left is that of a new reader, also in the sums."""
    rollups.forget_reader(rt.db, file_id, reader)
    first = rollups.find_first_returning(rt.db, file_id, reader)
    if first is None:
        return
    session_id, has_ended = first
    viewing.mark_new(rt.db, session_id)
    if has_ended:
        rollups.subtract_returning(rt.db, file_id)


def roll_up(rt: Runtime, session_id: int) -> None:
    """Add a counted session that has just ended, whose pages are stored."""
    rollups.add_session(rt.db, session_id, BEACON_RETENTION_MS)


def tally_uncounted(rt: Runtime, session_id: int) -> None:
    """Count the class of a session that has just ended and was not counted as a view."""
    rollups.add_uncounted(rt.db, session_id)


def delete_beacons(rt: Runtime, now: int, limit: int) -> int:
    """Delete the beacons of up to ``limit`` sessions whose retention ended by ``now``. Return the number of sessions.

    The sessions and their page times are kept.
    """
    viewing.delete_beacons(rt.db, now, limit)
    return rollups.mark_beacons_deleted(rt.db, now, limit)
