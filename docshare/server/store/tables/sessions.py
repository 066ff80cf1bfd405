"""View sessions as the owner of a file sees them: the statements that read them. ``viewing`` and ``rollups`` have the
models.

Reports are text: they join up to six tables, and tests/benchmarks/readership and library run most of them.
"""

from typing import Any, NamedTuple

from peewee import fn

from docshare.server.store.database import Store
from docshare.server.store.dialect import Statement
from docshare.server.store.tables.rollups import SessionRow
from docshare.server.store.tables.viewing import Beacon, ViewSession


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
    """When (ms) the last session of a file that was counted and has ended began, and who read it: name, address,
    recipient of the link, or pseudonym."""

    started_at: int
    reader: str | None
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


# Six digits of the salted key: with four, two of 300 readers would probably share a name.
_PSEUDONYM = "COALESCE(w.pseudonym, 'Reader ' || UPPER(SUBSTR(s.reader, 1, 6)))"
_ROW = (
    "r.id, s.uuid, s.started_at, s.time_ms, s.pages_viewed, s.country, s.device, s.browser, s.came_back, "
    "s.email, s.name, i.uuid, v.uuid, s.content_version, s.shown_pages, " + _PSEUDONYM
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
_LAST_OF_EACH = f"""
SELECT r.file_id, r.started_at, COALESCE(s.name, s.email, NULLIF(v.label, ''), {_PSEUDONYM}), s.country
FROM session_rows r FIRST JOIN view_sessions s ON s.id = r.session_id {_JOIN_SOURCES}
WHERE r.id IN (
    SELECT (SELECT id FROM session_rows WHERE file_id = f.id ORDER BY started_at DESC, id DESC LIMIT 1)
    FROM files f WHERE f.id IN (JSON_NUMBERS(?))
)
"""  # noqa: S608 - columns from above
_PAGES = (
    "(SELECT JSON_ARRAYAGG(JSON_ARRAY(page, time_ms, views, back_views) ORDER BY page) FROM "
    "(SELECT * FROM session_pages WHERE session_id = s.id ORDER BY page) pages)"
)
_BETWEEN = "r.started_at >= ? AND r.started_at < ?"
_BEFORE = "(r.started_at, r.id) < (?, ?)"
_NEWEST_WITH_PAGES = f"SELECT {_ROW}, {_PAGES} {_FROM_COUNTED} AND {_BETWEEN} AND {_BEFORE} {_ORDER_NEWEST}"
_AFTER = f"SELECT {_ROW}, {_PAGES} {_FROM_COUNTED} AND r.id > ? ORDER BY r.id LIMIT ?"
_UNCOUNTED = (
    f"SELECT {_ROW}, s.class, s.reason FROM view_sessions s "  # noqa: S608 - columns from above
    f"LEFT JOIN session_rows r ON r.session_id = s.id {_JOIN_SOURCES} "
    "WHERE s.file_id = ?1 AND s.counted_at IS NULL AND s.ended_at IS NOT NULL AND s.class <> 'declined' "
    "AND s.started_at >= ?2 AND s.started_at < ?3 ORDER BY s.id DESC LIMIT ?4"
)
_ONE = (
    f"SELECT s.id, {_ROW}, {_CLASSIFICATION} FROM view_sessions s "  # noqa: S608 - columns from above
    f"LEFT JOIN session_rows r ON r.session_id = s.id {_JOIN_SOURCES} "
    "WHERE s.uuid = ? AND s.file_id = ? AND s.class <> 'declined'"
)
_OF_ACCOUNT = (
    "FROM files f FIRST JOIN session_rows r ON r.file_id = f.id FIRST JOIN view_sessions s ON s.id = r.session_id"
)
_IN_ACCOUNT = f"WHERE f.owner_id = ? AND f.trashed_at IS NULL AND {_BETWEEN}"
_ACCOUNT_FILES = (
    "SELECT f.uuid, f.original_name, COUNT(*), SUM(r.time_ms), COUNT(DISTINCT s.reader) "
    f"{_OF_ACCOUNT} {_IN_ACCOUNT} GROUP BY f.id ORDER BY 3 DESC, f.id DESC"
)
_ACCOUNT_DAYS = (
    "SELECT r.started_at / 86400000, COUNT(*) FROM files f FIRST JOIN session_rows r ON r.file_id = f.id "  # noqa: S608 - from above
    f"{_IN_ACCOUNT} GROUP BY 1"
)
_ACCOUNT_NEWEST = (
    f"SELECT f.uuid, f.original_name, f.content_version, f.total_pages, v.label, {_ROW} "
    f"{_OF_ACCOUNT} {_JOIN_SOURCES} {_IN_ACCOUNT} {_ORDER_NEWEST}"
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


def list_newest(store: Store, file_id: int, limit: int) -> list[SessionSummary]:
    """Return the ``limit`` ended and counted sessions of a file that began last, newest first."""
    return [SessionSummary._make(found) for found in store.fetch_all(_NEWEST, (file_id, limit))]


def list_newest_with_pages(
    store: Store, file_id: int, between: tuple[int, int], before: tuple[int, int], limit: int
) -> list[tuple[SessionSummary, str]]:
    """Return up to ``limit`` ended and counted sessions that began ``between`` two instants (ms, the second excluded),
    each with its pages as JSON; newest first, and only those older than ``before`` (start in ms and id)."""
    found = store.fetch_all(_NEWEST_WITH_PAGES, (file_id, *between, *before, limit))
    return [(SessionSummary._make(row), pages) for *row, pages in found]


class FileSessions(NamedTuple):
    """The ended and counted sessions of one file of an account, their time (ms), and their readers."""

    uuid: str
    name: str
    sessions: int
    time_ms: int
    visitors: int


class AccountSession(NamedTuple):
    """One session of an account: its file, and the ``label`` of the variant that it came through."""

    file: str
    file_name: str
    content_version: int
    total_pages: int
    label: str | None
    row: SessionSummary


def sum_account_by_file(store: Store, owner_id: int, between: tuple[int, int]) -> list[FileSessions]:
    """Return the sums of each active file of an account over the sessions that began ``between`` two instants, most
    sessions first; without files that have none."""
    found = store.fetch_all(_ACCOUNT_FILES, (owner_id, *between))
    return [FileSessions(uuid, name, count, int(time_ms), seen) for uuid, name, count, time_ms, seen in found]


def count_account_by_day(store: Store, owner_id: int, between: tuple[int, int]) -> dict[int, int]:
    """Return the sessions of the active files of an account by day (since 1970, UTC)."""
    return {int(day): count for day, count in store.fetch_all(_ACCOUNT_DAYS, (owner_id, *between))}


def list_account_newest(store: Store, owner_id: int, between: tuple[int, int], limit: int) -> list[AccountSession]:
    """Return the newest ``limit`` sessions of the active files of an account, newest first."""
    found = store.fetch_all(_ACCOUNT_NEWEST, (owner_id, *between, limit))
    return [
        AccountSession(uuid, name, version, pages, label, SessionSummary._make(row))
        for uuid, name, version, pages, label, *row in found
    ]


def count_active(store: Store, heard_after: int) -> int:
    """Return how many counted view sessions are open and had a beacon after ``heard_after`` (ms)."""
    is_active = ViewSession.ended_at.is_null() & (ViewSession.heard_at > heard_after)
    is_counted = ViewSession.counted_at.is_null(False)
    return int(ViewSession.select().where(is_active, is_counted).count(store.engine))


def map_last_readings(store: Store, file_ids: str) -> dict[int, LastReading]:
    """Return the last reading of each of the files ``file_ids`` (JSON) that was read, by file."""
    return {found[0]: LastReading._make(found[1:]) for found in store.fetch_all(_LAST_OF_EACH, (file_ids,))}


def list_after(store: Store, file_id: int, since: int, limit: int) -> list[tuple[SessionSummary, str]]:
    """Return up to ``limit`` counted sessions with an id greater than ``since``, each with its pages as JSON."""
    return [(SessionSummary._make(row), pages) for *row, pages in store.fetch_all(_AFTER, (file_id, since, limit))]


def list_uncounted(
    store: Store, file_id: int, between: tuple[int, int], limit: int
) -> list[tuple[SessionSummary, str, str]]:
    """Return the newest ``limit`` ended sessions that were not counted and began ``between`` two instants, each with
    its class and its reason."""
    found = store.fetch_all(_UNCOUNTED, (file_id, *between, limit))
    return [(SessionSummary._make(row), klass, reason) for *row, klass, reason in found]


def find(store: Store, file_id: int, uuid: str) -> tuple[int, SessionSummary, SessionClassification] | None:
    """Return the key, the summary and the classification of a session of a file, or None."""
    found = store.fetch_one(_ONE, (uuid, file_id))
    if found is None:
        return None
    columns, width = found[1:], len(SessionSummary._fields)
    return found[0], SessionSummary._make(columns[:width]), SessionClassification._make(columns[width:])


def find_reader(store: Store, session_id: int) -> tuple[bool, str | None, str | None] | None:
    """Return whether a session came through a variant, its country and the email of its reader; or None."""
    found = store.fetch_one(
        "SELECT variant_id IS NOT NULL, country, email FROM view_sessions WHERE id = ?", (session_id,)
    )
    return (bool(found[0]), found[1], found[2]) if found else None


def find_first_view_of_invite(store: Store, invite_id: int) -> int | None:
    """Return when (ms) the first of the counted sessions through an invitation was counted, or None."""
    query = ViewSession.select(fn.MIN(ViewSession.counted_at)).where(ViewSession.invite == invite_id)
    ((counted_at,),) = store.fetch_all(query)
    return None if counted_at is None else int(counted_at)


def list_pages(store: Store, session_id: int, *, is_open: bool) -> list[PageRow]:
    """Return the pages of a session, by page."""
    return [PageRow._make(found) for found in store.fetch_all(_PAGES_OF_ONE, (session_id, int(is_open)))]


def list_beacons(store: Store, session_id: int, now: int) -> list[tuple[Any, ...]]:
    """Return ``(seq, received_at, body, accepted)`` of the beacons that are kept at ``now``, in order."""
    # The jobs that delete beacons and uncounted sessions run once an hour.
    expired = SessionRow.select().where(SessionRow.session == Beacon.session, SessionRow.beacons_until <= now)
    query = Beacon.select(Beacon.seq, Beacon.received_at, Beacon.body, Beacon.accepted)
    return store.fetch_all(query.where(Beacon.session == session_id, ~fn.EXISTS(expired)).order_by(Beacon.seq))


def list_beacons_from(store: Store, session_id: int, seq: int) -> list[tuple[int, str]]:
    """Return ``(received_at, accepted)`` of the beacons of a session from the number ``seq`` on, in order."""
    query = Beacon.select(Beacon.received_at, Beacon.accepted)
    return store.fetch_all(query.where(Beacon.session == session_id, Beacon.seq >= seq).order_by(Beacon.seq))


# Sums over the sessions of a range. Unlike the sums of all time they read the sessions, so their number is limited.
_CHOSEN = (
    "WITH chosen AS (SELECT session_id, time_ms FROM session_rows WHERE file_id = ?1 AND started_at >= ?2 "
    "AND started_at < ?3 ORDER BY started_at DESC, id DESC LIMIT ?4)"
)
_OF_CHOSEN = "FROM chosen c FIRST JOIN view_sessions s ON s.id = c.session_id"
_RANGE_TOTALS = f"""
{_CHOSEN} SELECT COUNT(*), COALESCE(SUM(s.came_back), 0), COUNT(DISTINCT s.reader), COALESCE(SUM(s.time_ms), 0),
    COALESCE(SUM(s.turns), 0), COALESCE(SUM(s.back_turns), 0),
    COALESCE(SUM(s.pages_viewed * 1000000 / GREATEST(s.shown_pages, 1)), 0), COUNT(DISTINCT s.country),
    (SELECT COUNT(*) FROM download_rows WHERE file_id = ?1 AND read_at >= ?2 AND read_at < ?3),
    (SELECT COUNT(*) FROM view_sessions WHERE ended_at IS NULL AND NOINDEX(file_id) = ?1 AND counted_at IS NOT NULL
        AND started_at >= ?2 AND started_at < ?3)
{_OF_CHOSEN}
"""  # noqa: S608 - from above
_RANGE_MEDIAN = f"""
{_CHOSEN} SELECT SUM(time_ms), COUNT(*) FROM (SELECT time_ms FROM chosen ORDER BY time_ms LIMIT ?5 OFFSET ?6) middle
"""  # noqa: S608 - from above
_RANGE_LABELS = (
    "'country', s.country, 'device', s.device, 'browser', s.browser, 'source', s.source, 'referrer', s.referrer, "
    "'viewerMode', s.viewer_mode, 'furthest', s.furthest_page, "
)
_RANGE_TALLIES = Statement(
    sqlite=f"{_CHOSEN} SELECT t.key, CAST(t.value AS TEXT), COUNT(*) "  # noqa: S608 - fixed
    "FROM chosen c CROSS JOIN view_sessions s ON s.id = c.session_id, "
    f"json_each(json_object({_RANGE_LABELS}"
    "'day', strftime('%Y-%m-%d', s.started_at / 1000, 'unixepoch'), "
    "'hour', strftime('%w %H', s.started_at / 1000, 'unixepoch'))) t "
    "WHERE t.value IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC, 2",
    postgresql=f"{_CHOSEN} SELECT t.key, t.value, COUNT(*) FROM chosen c JOIN "  # noqa: S608 - fixed
    "(SELECT *, to_timestamp(started_at / 1000) AT TIME ZONE 'UTC' AS started FROM view_sessions) s "
    f"ON s.id = c.session_id CROSS JOIN jsonb_each_text(jsonb_build_object({_RANGE_LABELS}"
    "'day', to_char(s.started, 'YYYY-MM-DD'), 'hour', extract(dow FROM s.started) || to_char(s.started, ' HH24'))) t "
    "WHERE t.value IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC, 2",
)
_RANGE_UNCOUNTED = """
SELECT class, COUNT(*) FROM view_sessions WHERE file_id = ? AND counted_at IS NULL AND ended_at IS NOT NULL
    AND started_at >= ? AND started_at < ? GROUP BY class ORDER BY 2 DESC, 1
"""
_RANGE_PAGES = f"""
{_CHOSEN} SELECT p.page, SUM(p.time_ms), SUM(p.views), SUM(p.back_views)
FROM chosen c FIRST JOIN session_pages p ON p.session_id = c.session_id WHERE p.page <= ?5 GROUP BY p.page
"""  # noqa: S608 - from above
_RANGE_LINKS = f"""
{_CHOSEN} SELECT v.uuid, COUNT(*), SUM(s.time_ms) {_OF_CHOSEN} LEFT JOIN variants v ON v.id = s.variant_id
GROUP BY v.uuid
"""


class ChosenSessions(NamedTuple):
    """The newest ``limit`` ended and counted sessions of a file that began from ``start_at`` until before ``end_at``
    (ms)."""

    file_id: int
    start_at: int
    end_at: int
    limit: int


class RangeTotals(NamedTuple):
    """Sums over chosen sessions: times in ms, ``completion`` in millionths; ``open`` sessions have not ended."""

    sessions: int
    came_back: int
    visitors: int
    time_ms: int
    turns: int
    back_turns: int
    completion: int
    countries: int
    downloads: int
    open: int


def get_range_totals(store: Store, chosen: ChosenSessions) -> RangeTotals:
    """Return the totals of ``chosen``."""
    return RangeTotals._make(map(int, store.fetch_all(_RANGE_TOTALS, chosen)[0]))


def get_range_median_sum(store: Store, chosen: ChosenSessions, sessions: int) -> tuple[int, int]:
    """Return the sum and the number (1 or 2) of the middle times of ``chosen``, which are ``sessions`` > 0."""
    ((total, count),) = store.fetch_all(_RANGE_MEDIAN, (*chosen, 2 - sessions % 2, (sessions - 1) // 2))
    return int(total), count


def list_range_tallies(store: Store, chosen: ChosenSessions) -> list[tuple[str, str, int]]:
    """Return ``(kind, label, sessions)`` of ``chosen``, most sessions first."""
    return [(found[0], found[1], found[2]) for found in store.fetch_all(_RANGE_TALLIES, chosen)]


def count_range_uncounted(store: Store, chosen: ChosenSessions) -> dict[str, int]:
    """Return the number of sessions of the range that were not counted, by class, most first."""
    return {found[0]: found[1] for found in store.fetch_all(_RANGE_UNCOUNTED, chosen[:3])}


def list_range_pages(store: Store, chosen: ChosenSessions, total_pages: int) -> list[tuple[int, int, int, int]]:
    """Return ``(page, time_ms, views, back_views)`` of the pages read in ``chosen``, up to ``total_pages``."""
    found = store.fetch_all(_RANGE_PAGES, (*chosen, total_pages))
    return [(page, int(time_ms), int(views), int(back)) for page, time_ms, views, back in found]


def sum_range_by_link(store: Store, chosen: ChosenSessions) -> dict[str | None, tuple[int, int]]:
    """Return the sessions and the time (ms) of ``chosen`` by variant UUID; None is every other link."""
    return {uuid: (sessions, int(time_ms)) for uuid, sessions, time_ms in store.fetch_all(_RANGE_LINKS, chosen)}
