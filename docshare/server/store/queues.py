"""Count pending rows in the database, for ``/metrics``. Every statement reads an index of pending rows only."""

from typing import NamedTuple

from docshare.server.store.database import Store


class QueueState(NamedTuple):
    """How many rows are pending, when (ms) the oldest was created, and when the first is or was due; None if empty."""

    length: int
    oldest_at: int | None
    due_at: int | None


# Deliveries to a disabled webhook wait for its owner, not for the server.
_DELIVERIES = (
    "SELECT COUNT(*), MIN(d.created_at), MIN(d.next_at) FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id "
    "WHERE d.next_at IS NOT NULL AND w.disabled_at IS NULL"
)
_MAILS = "SELECT COUNT(*), MIN(created_at), MIN(next_at) FROM mails WHERE next_at IS NOT NULL"
_SESSIONS = "SELECT COUNT(*) FROM view_sessions WHERE ended_at IS NULL AND heard_at > ?"


def get_delivery_queue(store: Store) -> QueueState:
    """Return the state of the queue of webhook deliveries."""
    return QueueState._make(store.fetch_all(_DELIVERIES)[0])


def get_mail_queue(store: Store) -> QueueState:
    """Return the state of the queue of mails."""
    return QueueState._make(store.fetch_all(_MAILS)[0])


def count_active_sessions(store: Store, heard_after: int) -> int:
    """Return how many view sessions are open and had a beacon after ``heard_after`` (ms)."""
    return int(store.fetch_all(_SESSIONS, (heard_after,))[0][0])
