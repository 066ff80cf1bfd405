"""The migration that adds sums of sessions includes sessions that ended before it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docshare.server.store import migrations
from docshare.server.store.database import Store
from docshare.server.store.migrations import STEPS, migrate

INSERT_FILE = (
    "INSERT INTO files (id, uuid, short_id, original_name, size, mime_type, total_pages, page_sizes, sha256, blob, "
    "content_version, created_at, updated_at) "
    "VALUES (?1, ?1, ?1, 'a.pdf', 1, 'application/pdf', 4, '[]', '', '', 1, 0, 0)"
)
INSERT_SESSION = (
    "INSERT INTO view_sessions (id, uuid, opening, part, file_id, content_version, total_pages, reader, class, reason, "
    "prefetched, earliest_at, started_at, heard_at, active_at, last_seq, counted_at, ended_at, visible_ms, time_ms, "
    "pages_viewed, furthest_page, turns, back_turns, country, device, browser, source, referrer, viewer_mode, "
    "variant_id) "
    "VALUES (?1, ?1, ?1, 0, ?2, 1, 4, ?3, 'human', '', 0, 0, ?4, 0, 0, 0, ?5, ?6, 0, ?7, ?8, ?8, 3, 1, ?9, 'Desktop', "
    "'Firefox', 'Direct link', NULL, 'standard', ?10)"
)
DAY = 86_400_000
MONDAY = 1_789_948_800_000  # 2026-09-21T00:00:00Z


@pytest.fixture
def upgraded_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Yield a database of schema version 2 with sessions of two files, after the migration."""
    store = Store(tmp_path / "old.db")
    monkeypatch.setattr(migrations, "STEPS", STEPS[:2])
    migrations.upgrade(store)
    with store.write():
        for file in (1, 2):
            store.execute(INSERT_FILE, (file,))
        store.execute("INSERT INTO variants (id, uuid, short_id, file_id, created_at) VALUES (5, 'v', 'v', 1, 0)")
        for row in (
            # id, file, reader, started, counted, ended, time, pages, country, variant
            (1, 1, "ada", MONDAY, MONDAY + 9, MONDAY + 500, 10_000, 2, "DE", 5),
            (2, 1, "bob", MONDAY - 1, MONDAY + 5, MONDAY + 400, 5_000, 1, None, None),
            (3, 1, "ada", MONDAY + 1, MONDAY + 6, MONDAY + 900, 7_000, 4, "DE", 5),
            (4, 1, "eve", MONDAY, None, MONDAY + 100, 2_000, 1, "FR", None),  # not counted
            (5, 1, "eve", MONDAY, MONDAY + 7, None, 2_000, 0, "FR", None),  # open
            (6, 2, "ada", MONDAY, MONDAY + 1, MONDAY + 700, 3_000, 1, "AT", None),
        ):
            store.execute(INSERT_SESSION, row)
        store.execute("UPDATE view_sessions SET class = 'scanner' WHERE id = 4")
        for page in ((1, 1, 8_000, 2, 1), (1, 2, 2_000, 1, 0), (2, 1, 5_000, 1, 0), (4, 1, 2_000, 1, 0)):
            store.execute("INSERT INTO session_pages VALUES (?, ?, ?, ?, ?)", page)
    monkeypatch.setattr(migrations, "STEPS", STEPS)
    migrate(store)
    yield store
    store.close()


def test_ended_counted_sessions_are_in_the_feed_in_the_order_of_their_ends(upgraded_store: Store) -> None:
    assert upgraded_store.fetch_all(
        "SELECT id, file_id, session_id, started_at, time_ms, beacons_until FROM session_rows"
    ) == [
        (2, 1, 2, MONDAY - 1, 5_000, MONDAY + 400 + 90 * DAY),
        (3, 1, 1, MONDAY, 10_000, MONDAY + 500 + 90 * DAY),
        (4, 2, 6, MONDAY, 3_000, MONDAY + 700 + 90 * DAY),
        (5, 1, 3, MONDAY + 1, 7_000, MONDAY + 900 + 90 * DAY),
    ]


def test_returning_sessions_are_marked(upgraded_store: Store) -> None:
    """The order in which sessions were counted decides: the first session was counted after the third."""
    assert upgraded_store.fetch_all("SELECT id FROM view_sessions WHERE came_back = 1") == [(1,)]
    assert upgraded_store.fetch_all("SELECT file_id, reader, sessions FROM readers ORDER BY 1, 2") == [
        (1, "ada", 2),
        (1, "bob", 1),
        (1, "eve", 0),
        (2, "ada", 1),
    ]


def test_the_sums_of_a_file_are_computed(upgraded_store: Store) -> None:
    columns = "file_id, sessions, came_back, visitors, time_ms, turns, back_turns, completion"
    assert upgraded_store.fetch_all(f"SELECT {columns} FROM readerships") == [
        (1, 3, 1, 2, 22_000, 9, 3, 1_750_000),
        (2, 1, 0, 1, 3_000, 3, 1, 250_000),
    ]
    assert upgraded_store.fetch_all("SELECT * FROM page_tallies") == [(1, 1, 13_000, 3, 1), (1, 2, 2_000, 1, 0)]
    assert upgraded_store.fetch_all("SELECT * FROM variant_tallies") == [(5, 2, 17_000)]


def test_sessions_are_counted_by_their_attributes(upgraded_store: Store) -> None:
    assert upgraded_store.fetch_all("SELECT kind, label, sessions FROM tallies WHERE file_id = 1") == [
        ("browser", "Firefox", 3),
        ("country", "DE", 2),
        ("day", "2026-09-20", 1),
        ("day", "2026-09-21", 2),
        ("device", "Desktop", 3),
        ("furthest", "1", 1),
        ("furthest", "2", 1),
        ("furthest", "4", 1),
        ("hour", "0 23", 1),
        ("hour", "1 00", 2),
        ("source", "Direct link", 3),
        ("uncounted", "scanner", 1),
        ("viewerMode", "standard", 3),
    ]


def test_sessions_keep_their_class_and_open_ones_get_the_time_of_their_start(
    upgraded_store: Store,
) -> None:
    assert upgraded_store.fetch_all("SELECT id, class, first_at FROM view_sessions ORDER BY id") == [
        (1, "human", None),
        (2, "human", None),
        (3, "human", None),
        (4, "scanner", None),
        (5, "human", MONDAY),
        (6, "human", None),
    ]


def test_a_database_without_sessions_has_no_sums(tmp_path: Path) -> None:
    store = Store(tmp_path / "new.db")
    migrate(store)
    for table in ("session_rows", "readerships", "readers", "tallies", "page_tallies", "variant_tallies"):
        assert store.fetch_all(f"SELECT COUNT(*) FROM {table}") == [(0,)]
    store.close()
