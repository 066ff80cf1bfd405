"""Measure one page of the feed at 10 million rows: python -m tests.benchmarks.feed [ROWS]

``services.feed.page`` (no HTTP) is compared with itself at 10,000 rows, and with raw ``sqlite3`` on the same file with
the same indexes. Half of the rows belong to the calling account; its rows in the newest third of the stream all belong
to trashed files.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from docshare.contract.plans import Plan
from docshare.server.config import Config
from docshare.server.instance import open_instance
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, callers
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.events import feed
from tests.benchmarks.comparison import compare_in_turns, read_amount

SMALL = 10_000
FILES = 12
CALLS = 300
ROUNDS = 9
GROWTH_TARGET = 1.5
RAW_TARGET = 4.0
BATCH = 500_000

_FILE = """
INSERT INTO files (id, uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes, sha256, blob,
content_version, created_at, updated_at, trashed_at, purge_at)
VALUES (?1, printf('%08d-0000-4000-8000-000000000000', ?1), printf('%012d', ?1), ?2, 'report.pdf', 1,
'application/pdf', 1, '[[1,612,792]]', '0', printf('%032d', ?1), 1, 0, 0, ?3, ?4)
"""
_VIEW = """
INSERT INTO view_rows (owner_id, file_id, hidden, read_at, country, pages_viewed, time_ms)
VALUES (?, ?, ?, 1, 'DE', 3, 9)
"""
_RAW = """
SELECT r.id, f.uuid, f.original_name, r.read_at, r.country, r.pages_viewed, r.time_ms
FROM view_rows r CROSS JOIN files f ON f.id = r.file_id WHERE {key} = ? AND r.hidden = 0 AND r.id > ? ORDER BY r.id
"""
FILE_ID = 1  # the caller's, not in the trash
FILE_UUID = "00000001-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class FeedQuery:
    """A query for 50 rows: ``since`` as a fraction of the rows (0: the newest), ``file`` or all files."""

    name: str
    since: float = 0.0
    file: str | None = None

    def list_page(self, rt: Runtime, caller: Caller, rows: int) -> list[Any]:
        """Return the rows from the service."""
        return feed.fetch_page(rt, caller, "view", since=int(self.since * rows), limit=50, file=self.file)

    def query_raw(self, connection: sqlite3.Connection, caller: Caller, rows: int) -> list[Any]:
        """Return the same rows with one SQL statement."""
        key, value = ("r.owner_id", caller.account_id) if self.file is None else ("r.file_id", FILE_ID)
        sql = _RAW.format(key=key) + ("LIMIT 50" if self.since else "DESC LIMIT 50")
        return connection.execute(sql, (value, int(self.since * rows))).fetchall()


QUERIES = (
    FeedQuery("newest 50"),
    FeedQuery("50 after a cursor", since=0.3),
    FeedQuery("after a cursor in the trashed run", since=0.7),
    FeedQuery("nothing new", since=1.1),
    FeedQuery("newest 50 of one file", file=FILE_UUID),
    FeedQuery("50 of one file after a cursor", since=0.1, file=FILE_UUID),
)


@contextmanager
def populate_feed(folder: Path, rows: int) -> Iterator[tuple[Runtime, Caller]]:
    """Yield an instance with two accounts and ``rows`` views of their files, and its first account as the caller."""
    with open_instance(Config(data_dir=folder, base_url="http://127.0.0.1:8787")) as instance:
        rt = instance.rt
        owner = accounts.create_account(rt, "owner@example.com", "", Plan.PRO)
        accounts.create_account(rt, "other@example.com", "", Plan.PRO)
        key = accounts.create_key(rt, owner.email, "").key
        connection = rt.db.engine.connection()
        connection.execute("PRAGMA synchronous = OFF")
        with rt.db.write():
            connection.executemany(_FILE, _generate_files())
        views = _generate_views(rows)
        while batch := list(islice(views, BATCH)):
            with rt.db.write():
                connection.executemany(_VIEW, batch)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield rt, callers.authenticate(rt, f"Bearer {key}")


def _generate_files() -> Iterator[tuple[int, int, int | None, int | None]]:
    """Yield file rows: odd files belong to the caller, and every third of those is trashed without an end."""
    for number in range(1, FILES + 1):
        trashed = number % 6 == 5
        yield number, 2 - number % 2, 1 if trashed else None, 2**60 if trashed else None


def _generate_views(rows: int) -> Iterator[tuple[int, int, int]]:
    """Yield views of all files in turn; in the newest third, the caller's views are all of trashed files."""
    for number in range(rows):
        file = number % FILES + 1
        if number > rows * 2 // 3 and file % 2:
            file = 5 + 6 * (number % (FILES // 6))
        yield 2 - file % 2, file, int(file % 6 == 5)


def measure_median_us(call: Callable[[], object]) -> float:
    """Return the median duration of ``CALLS`` calls in microseconds."""
    times = []
    for _ in range(CALLS):
        begun = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - begun) / 1000)
    return median(times)


def main(rows: int) -> int:
    """Measure, print the results, and return the exit code."""
    reached = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        small, caller = stack.enter_context(populate_feed(Path(folder) / "small", SMALL))
        large, same = stack.enter_context(populate_feed(Path(folder) / "large", rows))
        assert same.account_id == caller.account_id
        raw = sqlite3.connect(large.db.path)
        stack.callback(raw.close)
        raw.execute("PRAGMA cache_size = -64000")
        for query in QUERIES:
            assert query.list_page(large, caller, rows) == query.query_raw(raw, caller, rows)

            def query_large(query: FeedQuery = query) -> float:
                return measure_median_us(lambda: query.list_page(large, caller, rows))

            def query_small(query: FeedQuery = query) -> float:
                return measure_median_us(lambda: query.list_page(small, caller, SMALL))

            def query_raw_rows(query: FeedQuery = query) -> float:
                return measure_median_us(lambda: query.query_raw(raw, caller, rows))

            for against, limit, target in (
                ("10,000 rows", query_small, GROWTH_TARGET),
                ("raw", query_raw_rows, RAW_TARGET),
            ):
                name = f"{query.name}, {rows:,} rows against {against}"
                outcome = compare_in_turns(
                    name, query_large, limit, target=target, better="less", unit="us", rounds=ROUNDS
                )
                reached.append(outcome.reached)
    return 0 if all(reached) else 1


if __name__ == "__main__":
    raise SystemExit(main(read_amount(10_000_000, 20_000)))
