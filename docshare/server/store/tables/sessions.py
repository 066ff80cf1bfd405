"""View sessions as the owner of a file sees them: the statements that read them. ``viewing`` and ``rollups`` have the
models."""

from typing import Any, NamedTuple

from docshare.server.store.database import Store
from docshare.server.store.dialect import Statement


class SessionSummary(NamedTuple):
    """One session; times in ms.

    ``id`` in the stream, None unless it was counted and has ended; ``email`` and ``name`` from its invitation, or as
    entered before it began; ``invite`` and ``variant`` the UUIDs of the invitation and of the variant it came
    through; ``shown_pages`` how many pages its reader could see; ``pseudonym`` the name of its reader
    within the file, as beside feedback if they left any.
    """

    id: int | None
    uuid: str
    started_at: int
    time_ms: int
    pages_viewed: int
    country: str | None
    device: str
    browser: str
    came_back: int
    email: str | None
    name: str | None
    invite: str | None
    variant: str | None
    content_version: int
    shown_pages: int
    pseudonym: str


class PageRow(NamedTuple):
    """The accepted reading of one page in one session: opened ``views`` times, ``back`` of them going backward."""

    page: int
    time_ms: int
    views: int
    back: int


class LastReading(NamedTuple):
    """When (ms) the last session of a file that was counted and has ended began, and what is known of its reader."""

    started_at: int
    email: str | None
    name: str | None
    country: str | None


class SessionClassification(NamedTuple):
    """How a session was classified: all ``_at`` in ms or None, the rest as in ``view_sessions``."""

    klass: str
    reason: str
    counted_at: int | None
    heard_at: int
    ended_at: int | None
    visible_ms: int
    turns: int
    back_turns: int
    source: str
    referrer: str | None
    viewer_mode: str
    prefetched: int


_ROW = (
    "r.id, s.uuid, s.started_at, s.time_ms, s.pages_viewed, s.country, s.device, s.browser, s.came_back, "
    "s.email, s.name, i.uuid, v.uuid, s.content_version, s.shown_pages, "
    # Six digits of the salted key: with four, two of 300 readers would probably share a name.
    "COALESCE(w.pseudonym, 'Reader ' || UPPER(SUBSTR(s.reader, 1, 6)))"
)
_CLASSIFICATION = ", ".join(f"s.{column}" for column in SessionClassification._fields).replace("s.klass", "s.class")
_JOIN_SOURCES = (
    "LEFT JOIN invites i ON i.id = s.invite_id LEFT JOIN variants v ON v.id = s.variant_id "
    "LEFT JOIN viewers w ON w.id = s.viewer_id"
)
_FROM_COUNTED = (
    f"FROM session_rows r FIRST JOIN view_sessions s ON s.id = r.session_id {_JOIN_SOURCES} WHERE r.file_id = ?"
)
_ORDER_NEWEST = "ORDER BY r.started_at DESC, r.id DESC LIMIT ?"
_NEWEST = f"SELECT {_ROW} {_FROM_COUNTED} {_ORDER_NEWEST}"
_LAST_OF_EACH = """
SELECT r.file_id, r.started_at, s.email, s.name, s.country
FROM session_rows r FIRST JOIN view_sessions s ON s.id = r.session_id
WHERE r.id IN (
    SELECT (SELECT id FROM session_rows WHERE file_id = f.id ORDER BY started_at DESC, id DESC LIMIT 1)
    FROM files f WHERE f.id IN (JSON_NUMBERS(?))
)
"""
_PAGES = (
    "(SELECT JSON_ARRAYAGG(JSON_ARRAY(page, time_ms, views, back_views) ORDER BY page) FROM "
    "(SELECT * FROM session_pages WHERE session_id = s.id ORDER BY page) pages)"
)
_NEWEST_WITH_PAGES = f"SELECT {_ROW}, {_PAGES} {_FROM_COUNTED} {_ORDER_NEWEST}"
_AFTER = f"SELECT {_ROW}, {_PAGES} {_FROM_COUNTED} AND r.id > ? ORDER BY r.id LIMIT ?"
_UNCOUNTED = (
    f"SELECT {_ROW}, s.class, s.reason FROM view_sessions s "  # noqa: S608 - columns from above
    f"LEFT JOIN session_rows r ON r.session_id = s.id {_JOIN_SOURCES} "
    "WHERE s.file_id = ? AND s.counted_at IS NULL AND s.ended_at IS NOT NULL ORDER BY s.id DESC LIMIT ?"
)
_ONE = (
    f"SELECT s.id, {_ROW}, {_CLASSIFICATION} FROM view_sessions s "  # noqa: S608 - columns from above
    f"LEFT JOIN session_rows r ON r.session_id = s.id {_JOIN_SOURCES} "
    "WHERE s.uuid = ? AND s.file_id = ?"
)
# The pages of an open session are in its beacons; when it ends, they are added to the sum.
_SUM_PAGES = (
    "SELECT page, SUM(time_ms), SUM(views), SUM(back_views) FROM ("
    "SELECT page, time_ms, views, back_views FROM session_pages WHERE session_id = ?1 UNION ALL "
    "{} WHERE b.session_id = ?1 AND ?2 = 1) seen GROUP BY page ORDER BY page"
)
_PAGES_OF_ONE = Statement(
    sqlite=_SUM_PAGES.format(
        "SELECT p.value ->> 0, p.value ->> 1, p.value ->> 2, p.value ->> 3 FROM beacons b, json_each(b.accepted) p"
    ),
    postgresql=_SUM_PAGES.format(
        "SELECT (p ->> 0)::bigint, (p ->> 1)::bigint, (p ->> 2)::bigint, (p ->> 3)::bigint "
        "FROM beacons b CROSS JOIN jsonb_array_elements(b.accepted::jsonb) p"
    ),
)
# The jobs that delete beacons and uncounted sessions run once an hour.
_BEACONS = (
    "SELECT seq, received_at, body, accepted FROM beacons b WHERE session_id = ? AND NOT EXISTS "
    "(SELECT 1 FROM session_rows r WHERE r.session_id = b.session_id AND r.beacons_until <= ?) ORDER BY seq"
)


def list_newest(store: Store, file_id: int, limit: int) -> list[SessionSummary]:
    """Return the ``limit`` ended and counted sessions of a file that began last, newest first."""
    return [SessionSummary._make(found) for found in store.fetch_all(_NEWEST, (file_id, limit))]


def list_newest_with_pages(store: Store, file_id: int, limit: int) -> list[tuple[SessionSummary, str]]:
    """Return the sessions of ``list_newest``, each with its pages as JSON."""
    return [(SessionSummary._make(row), pages) for *row, pages in store.fetch_all(_NEWEST_WITH_PAGES, (file_id, limit))]


def map_last_readings(store: Store, file_ids: str) -> dict[int, LastReading]:
    """Return the last reading of each of the files ``file_ids`` (JSON) that was read, by file."""
    return {found[0]: LastReading._make(found[1:]) for found in store.fetch_all(_LAST_OF_EACH, (file_ids,))}


def list_after(store: Store, file_id: int, since: int, limit: int) -> list[tuple[SessionSummary, str]]:
    """Return up to ``limit`` counted sessions with an id greater than ``since``, each with its pages as JSON."""
    return [(SessionSummary._make(row), pages) for *row, pages in store.fetch_all(_AFTER, (file_id, since, limit))]


def list_uncounted(store: Store, file_id: int, limit: int) -> list[tuple[SessionSummary, str, str]]:
    """Return the newest ``limit`` ended sessions that were not counted, each with its class and its reason."""
    found = store.fetch_all(_UNCOUNTED, (file_id, limit))
    return [(SessionSummary._make(row), klass, reason) for *row, klass, reason in found]


def find(store: Store, file_id: int, uuid: str) -> tuple[int, SessionSummary, SessionClassification] | None:
    """Return the key, the summary and the classification of a session of a file, or None."""
    found = store.fetch_one(_ONE, (uuid, file_id))
    if found is None:
        return None
    columns, width = found[1:], len(SessionSummary._fields)
    return found[0], SessionSummary._make(columns[:width]), SessionClassification._make(columns[width:])


def list_pages(store: Store, session_id: int, *, is_open: bool) -> list[PageRow]:
    """Return the pages of a session, by page."""
    return [PageRow._make(found) for found in store.fetch_all(_PAGES_OF_ONE, (session_id, int(is_open)))]


def list_beacons(store: Store, session_id: int, now: int) -> list[tuple[Any, ...]]:
    """Return ``(seq, received_at, body, accepted)`` of the beacons that are kept at ``now``, in order."""
    return store.fetch_all(_BEACONS, (session_id, now))
