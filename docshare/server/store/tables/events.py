"""The record of all events, and the statements that read the three streams. Their models are in ``feed``.

The statements that read them stay text: their plan depends on ``FIRST JOIN`` and ``NOINDEX``, and
``tests.benchmarks.feed`` runs those of the streams for every poll.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.contract.streams import STREAMS
from docshare.server.store.database import Store
from docshare.server.store.tables.base import Row, SequenceField
from docshare.server.store.tables.feed import StreamTable
from docshare.server.store.tables.files import File
from docshare.server.store.tables.sharing import Variant


class ActivityRow(StreamTable, Row):
    UNATTRIBUTE = "variant_id = NULL, data = JSON_REMOVE(data, '$.variantUuid', '$.variantLabel')"
    id = SequenceField()
    owner_id = IntegerField()
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    hidden = IntegerField(default=0)
    variant = ForeignKeyField(Variant, null=True, on_delete="SET NULL", index=False)
    event = TextField()
    happened_at = IntegerField()
    data = TextField()  # JSON: the data of the event as sent; redaction rewrites it

    class Meta:
        table_name = "activity_rows"
        indexes = (
            SQL("CREATE INDEX activity_rows_file ON activity_rows(file_id, hidden, id)"),
            SQL("CREATE INDEX activity_rows_kind ON activity_rows(owner_id, event, id) WHERE hidden = 0"),
            SQL("CREATE INDEX activity_rows_old ON activity_rows(happened_at)"),
            SQL("CREATE INDEX activity_rows_owner ON activity_rows(owner_id, id) WHERE hidden = 0"),
            SQL("CREATE INDEX activity_rows_variant ON activity_rows(variant_id) WHERE variant_id IS NOT NULL"),
        )


FeedRow = tuple[Any, ...]
"""``id, file uuid, file name, read_at`` and then the stream's own columns, see ``_OWN_COLUMNS``."""


class ActivityEvent(NamedTuple):
    """One event: ``happened_at`` in milliseconds, ``data`` the JSON text of the payload's data."""

    id: int
    event: str
    happened_at: int
    data: str


# ``tests.benchmarks.webhooks`` runs this for every event.
_APPEND_EVENT = (
    "INSERT INTO activity_rows (owner_id, file_id, hidden, variant_id, event, happened_at, data) "
    "SELECT owner_id, id, CASE WHEN trashed_at IS NULL THEN 0 ELSE 1 END, ?, ?, ?, ? FROM files "
    "WHERE id = ? AND owner_id IS NOT NULL"
)
_BY_OWNER = "r.owner_id = ?"
_BY_FILE = {
    column: f"r.file_id = (SELECT id FROM files WHERE owner_id = ? AND {column} = ?)"  # noqa: S608 - two fixed columns
    for column in ("uuid", "short_id")
}
_OWN_COLUMNS = {
    "view": "r.country, r.pages_viewed, r.time_ms",
    "download": "r.country",
    "gate": "r.fields",
}


@dataclass(frozen=True)
class _FeedStatements:
    """The statements of one filter: rows after a cursor, and the newest rows."""

    after_cursor: str
    newest: str


def _build_statements(stream: str, condition: str) -> _FeedStatements:
    # ``hidden`` is in the indexes, so a long run of trashed rows costs nothing; ``trashed_at`` is authoritative while
    # a delete is still hiding them. The join is CROSS so that the planner never starts from the files.
    rows = (
        f"SELECT r.id, f.uuid, f.original_name, r.read_at, {_OWN_COLUMNS[stream]} "  # noqa: S608 - tables from above
        f"FROM {stream}_rows r FIRST JOIN files f ON f.id = r.file_id "
        f"WHERE {condition} AND r.hidden = 0 AND r.id > ? AND f.trashed_at IS NULL ORDER BY r.id"
    )
    return _FeedStatements(after_cursor=f"{rows} LIMIT ?", newest=f"{rows} DESC LIMIT ?")


_STATEMENTS = {
    stream: {name: _build_statements(stream, condition) for name, condition in {"owner": _BY_OWNER, **_BY_FILE}.items()}
    for stream in STREAMS
}


def append(store: Store, file_id: int, variant_id: int | None, event: str, data: str, at: int) -> None:
    """Append an event to the record of the file's owner. ``data`` is JSON; ``at`` in ms."""
    store.execute(_APPEND_EVENT, (variant_id, event, at, data, file_id))


def list_events(
    store: Store,
    owner_id: int,
    *,
    file: tuple[str, str] | None,
    shown: Sequence[str],
    withheld: Sequence[str],
    since: int,
    retained_from: int,
    limit: int,
) -> list[ActivityEvent]:
    """Return up to ``limit`` events of an owner with an id greater than ``since``, the newest first if that is 0.

    Parameters: ``file`` the column (``uuid`` or ``short_id``) and the value of one file, None for all; ``shown`` the
    kinds to return, empty for all but the ``withheld`` ones.
    """
    condition, key = (_BY_FILE[file[0]], (file[1],)) if file else (_BY_OWNER, ())
    sql = _build_select(condition + _kind_condition(shown, withheld), newest=since == 0)
    found = store.fetch_all(sql, (owner_id, *key, *(shown or withheld), since, retained_from, limit))
    return [ActivityEvent._make(row) for row in found]


def erase_variant_label(store: Store, variant_id: int) -> None:
    """Erase the label of a variant from the record of events."""
    store.execute(
        "UPDATE activity_rows SET data = JSON_REMOVE(data, '$.variantLabel') WHERE variant_id = ?", (variant_id,)
    )


def list_at(store: Store, file_id: int, event: str, at: int) -> list[tuple[int, str]]:
    """Return the id and the data (JSON) of the events of one kind of a file that happened at ``at`` (ms)."""
    query = ActivityRow.select(ActivityRow.id, ActivityRow.data).where(ActivityRow.file == file_id)
    found = store.fetch_all(query.where(ActivityRow.event == event, ActivityRow.happened_at == at))
    return [(event_id, data) for event_id, data in found]


def delete(store: Store, event_id: int) -> None:
    """Delete an event."""
    store.execute(ActivityRow.delete().where(ActivityRow.id == event_id))


def delete_expired(store: Store, happened_by: int, limit: int) -> int:
    """Delete up to ``limit`` events that happened at or before ``happened_by``. Return how many."""
    expired = ActivityRow.select(ActivityRow.id).where(ActivityRow.happened_at <= happened_by)
    oldest = expired.order_by(ActivityRow.happened_at).limit(limit)
    return store.execute(ActivityRow.delete().where(ActivityRow.id.in_(oldest)))


def list_stream(
    store: Store, stream: str, owner_id: int | None, *, file: tuple[str, str] | None, since: int, limit: int
) -> list[FeedRow]:
    """Return up to ``limit`` rows of a stream with an id greater than ``since``, the newest first if it is 0. ``file``
    is as in ``list_events``."""
    way, key = file if file else ("owner", None)
    statements = _STATEMENTS[stream][way]
    params = (owner_id,) if key is None else (owner_id, key)
    return store.fetch_all(statements.after_cursor if since else statements.newest, (*params, since, limit))


def get_newest_ids(store: Store) -> tuple[int, int]:
    """Return the newest ids of the activity record and of the deliveries, 0 without any."""
    sql = "SELECT (SELECT COALESCE(MAX(id), 0) FROM activity_rows), (SELECT COALESCE(MAX(id), 0) FROM deliveries)"
    ((event_id, delivery_id),) = store.fetch_all(sql)
    return event_id, delivery_id


def find_event(store: Store, after_id: int, file_id: int, event: str) -> tuple[int, int, str] | None:
    """Return ``(id, happened_at, data)`` of the first event of that kind of a file after ``after_id``, or None."""
    query = ActivityRow.select(ActivityRow.id, ActivityRow.happened_at, ActivityRow.data)
    query = query.where(ActivityRow.id > after_id, ActivityRow.file == file_id, ActivityRow.event == event)
    found = store.fetch_one(query.order_by(ActivityRow.id).limit(1))
    return (found[0], found[1], found[2]) if found else None


def _kind_condition(shown: Sequence[str], withheld: Sequence[str]) -> str:
    if not shown:
        return " AND r.event <> ?" * len(withheld)
    if len(shown) == 1:
        return " AND r.event = ?"
    # The index by kind has no order over several kinds; SQLite must not sort all that it finds there.
    return f" AND NOINDEX(r.event) IN ({', '.join('?' * len(shown))})"


def _build_select(condition: str, *, newest: bool) -> str:
    # As in the polling feed: ``hidden`` is in the indexes, ``trashed_at`` is authoritative, and the files come second.
    return (
        "SELECT r.id, r.event, r.happened_at, r.data "  # noqa: S608 - words from above
        "FROM activity_rows r FIRST JOIN files f ON f.id = r.file_id "
        f"WHERE {condition} AND r.hidden = 0 AND r.id > ? AND r.happened_at > ? AND f.trashed_at IS NULL "
        f"ORDER BY r.id {'DESC ' if newest else ''}LIMIT ?"
    )
