"""Measure the readership report of one file with many readers: python -m tests.benchmarks.readership

``services.readership.report`` (no HTTP) at 100,000 sessions and a million page views is compared with raw ``sqlite3``
running the same statements on the same file; at a million sessions, with a fixed time. The sessions have an old schema
without sums, so the duration of the migration is printed too.
"""

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from docshare.server.config import Config
from docshare.server.instance import open_instance
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, callers
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.readership import report
from docshare.server.services.readership import sessions as readership_sessions
from docshare.server.store import migrations
from docshare.server.store.blobs import open_folder
from docshare.server.store.database import Store
from tests.benchmarks.comparison import check_bound, compare_in_turns, read_amount

RAW_TARGET = 1.3
LARGE_TARGET_S = 1.5
ROUNDS = 5
EMAIL = "owner@example.com"
UUID = "00000001-0000-4000-8000-000000000000"
_BLOB = "0" * 32
BEFORE_SUMS = 2  # number of schema steps

_FILE = """
INSERT INTO files (id, uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes, sha256, blob,
content_version, created_at, updated_at, view_count)
VALUES (1, ?, 'aB3dE5fG7hJ9', 1, 'report.pdf', 1, 'application/pdf', 40, '[[40,612,792]]', '', ?, 1, 0, 0, ?)
"""
# Half a year of readers: three in four are new, some return; several countries, hosts, devices and browsers.
_SESSIONS = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO view_sessions (id, uuid, opening, part, file_id, content_version, total_pages, reader, class, reason,
prefetched, earliest_at, started_at, heard_at, active_at, last_seq, counted_at, ended_at, visible_ms, time_ms,
pages_viewed, furthest_page, turns, back_turns, country, device, browser, source, referrer, viewer_mode)
SELECT i, printf('%08d-0000-4000-9000-000000000000', i), printf('%020d', i), 0, 1, 1, 40,
printf('%032x', (i * 7919) % (?1 * 3 / 4)), 'human', 'visible for 5 seconds', 0, 0, ?2 + i * ?3, ?2 + i * ?3 + 9,
?2 + i * ?3 + 9, 9, ?2 + i * ?3 + 5, ?2 + i * ?3 + 300009, 90000, (i * 7919) % 900000, ?4, i % 40 + 1, 12, 3,
char(65 + i % 20, 65 + i % 7), CASE i % 3 WHEN 0 THEN 'Mobile' ELSE 'Desktop' END,
CASE i % 5 WHEN 0 THEN 'Safari' WHEN 1 THEN 'Firefox' ELSE 'Chrome' END,
CASE i % 4 WHEN 0 THEN 'QR code' ELSE 'Direct link' END,
CASE i % 3 WHEN 0 THEN printf('site%d.example', i % 5000) END, 'standard' FROM n
"""
_PAGES = """
INSERT INTO session_pages SELECT s.id, (s.id + p.value) % 40 + 1, 9000, 1, 0 FROM view_sessions s,
json_each(?) p
"""


@contextmanager
def populate_sessions(folder: Path, sessions: int, pages: int) -> Iterator[tuple[Runtime, Caller]]:
    """Yield an instance with one file, read in ``sessions`` sessions of ``pages`` pages each, and its owner."""
    config = Config(data_dir=folder, base_url="http://127.0.0.1:8787")
    folder.mkdir(mode=0o700)
    document = open_folder(folder).path(_BLOB)
    document.parent.mkdir(parents=True)
    document.write_bytes(b"")
    _write_old_database(config.database_path, sessions, pages)
    begun = time.perf_counter()
    with open_instance(config) as instance:
        print(f"migrating {sessions:,} sessions: {time.perf_counter() - begun:.1f} s")
        rt = instance.rt
        key = accounts.create_key(rt, EMAIL, "").key
        yield rt, callers.authenticate(rt, f"Bearer {key}")


def _write_old_database(path: Path, sessions: int, pages: int) -> None:
    """Write a database of the schema version before sums."""
    steps, migrations.STEPS = migrations.STEPS, migrations.STEPS[:BEFORE_SUMS]
    with closing(Store(path)) as store:
        migrations.upgrade(store)
        store.execute("PRAGMA synchronous = OFF")
        half_a_year = 180 * 86_400_000
        with store.write():
            store.execute("INSERT INTO accounts VALUES (1, 'u', ?, 'Owner', 2, 0)", (EMAIL,))
            store.execute(_FILE, (UUID, _BLOB, sessions))
            started = time.time_ns() // 1_000_000 - half_a_year
            store.execute(_SESSIONS, (sessions, started, half_a_year // sessions, pages))
            store.execute(_PAGES, (str(list(range(pages))),))
    migrations.STEPS = steps


def record_report_statements(rt: Runtime, caller: Caller) -> list[str]:
    """Return the SQL statements of a report with their values."""
    statements: list[str] = []
    connection = rt.db.engine.connection()
    connection.set_trace_callback(statements.append)
    report.build_report(rt, caller, UUID)
    connection.set_trace_callback(None)
    return statements


def measure_report_s(rt: Runtime, caller: Caller) -> float:
    """Return the duration of one report in seconds."""
    begun = time.perf_counter()
    found = report.build_report(rt, caller, UUID)
    duration_s = time.perf_counter() - begun
    assert found.summary.sessions == found.summary.views > 0
    return duration_s


def measure_raw_s(raw: sqlite3.Connection, statements: list[str]) -> float:
    """Return the duration of ``statements`` in seconds, with all rows fetched."""
    begun = time.perf_counter()
    for statement in statements:
        raw.execute(statement).fetchall()
    return time.perf_counter() - begun


def measure_best(measure: Callable[[], float]) -> float:
    """Return the best of ``ROUNDS`` measurements, because other programs easily disturb a few milliseconds."""
    return min(measure() for _ in range(ROUNDS))


def main() -> int:
    """Measure, print the results, and return the exit code."""
    reached = []
    small, large = read_amount(100_000, 1000), read_amount(1_000_000, 2000)
    with tempfile.TemporaryDirectory() as folder:
        with populate_sessions(Path(folder) / "small", small, 10) as (rt, caller):
            statements = record_report_statements(rt, caller)
            with closing(sqlite3.connect(rt.db.path, isolation_level=None)) as raw:
                raw.execute("PRAGMA cache_size = -64000")
                outcome = compare_in_turns(
                    f"readership of {small:,} sessions",
                    lambda: measure_best(lambda: measure_report_s(rt, caller)) * 1000,
                    lambda: measure_best(lambda: measure_raw_s(raw, statements)) * 1000,
                    target=RAW_TARGET,
                    better="less",
                    unit="ms",
                    rounds=ROUNDS * 3,
                )
            reached.append(outcome.reached)
        with populate_sessions(Path(folder) / "large", large, 3) as (rt, caller):
            duration_s = median(measure_report_s(rt, caller) for _ in range(ROUNDS))
            reached.append(check_bound(f"readership of {large:,} sessions", duration_s, LARGE_TARGET_S, "s"))
            begun = time.perf_counter()
            rows = readership_sessions.list_after(rt, caller, UUID, since=large // 2, limit=100)
            assert len(rows) == 100
            print(f"100 sessions from the middle: {(time.perf_counter() - begun) * 1000:.3g} ms")
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
