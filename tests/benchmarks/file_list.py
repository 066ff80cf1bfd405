"""Measure the list of 100,000 files: python -m tests.benchmarks.file_list [FILES]

``GET /api/v1/files`` through the application (credential, rate limit, rendering, spooling, reading) is compared
with raw ``sqlite3`` rows of the same columns, converted to dicts and serialized in blocks by ``json.dumps``. Then the
list is requested again; its peak memory must not grow with the number of files.
"""

import json
import sqlite3
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from werkzeug.test import Client

from docshare.contract.plans import Plan
from docshare.server.app import create_app
from docshare.server.config import Config
from docshare.server.instance import open_instance
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.services.files.files import FileRow
from tests.benchmarks.comparison import check_bound, compare_in_turns, read_amount

FILES = 100_000
TARGET = 2.0  # of raw rows and json
MEMORY_MB = 8.0
BLOCK = 1000
HOUR = 3_600_000

_INSERT = """
INSERT INTO files (uuid, short_id, slug, owner_id, original_name, size, mime_type, total_pages, page_sizes, sha256,
blob, content_version, created_at, updated_at, delete_at, view_count, settings)
VALUES (printf('%08x-0000-4000-8000-000000000000', ?1), printf('%012d', ?1), ?2, 1, printf('Bericht %d ü.pdf', ?1),
?1 * 1000, 'application/pdf', 12, '[[12,612,792]]', printf('%064x', ?1), printf('%032d', ?1), 1, ?3, ?4, ?5, ?1 % 90,
?6)
"""
_SETTINGS = (
    "{}",
    "{}",
    "{}",
    '{"allowDownload":false}',
    '{"viewerMode":"flipbook","viewerSettings":{"flip":{"rtl":true}}}',
)
_COLUMNS = ", ".join(FileRow._fields).replace("protected", "password_hash IS NOT NULL")
_RAW = f"SELECT {_COLUMNS} FROM files WHERE owner_id = 1 AND trashed_at IS NULL ORDER BY id DESC"


def _generate_rows(files: int) -> Iterator[tuple[int, str | None, int, int, int | None, str]]:
    """Yield file rows: three of five have default settings, one in ten has a slug, one in seven an expiry."""
    for number in range(files):
        created = 1_700_000_000_000 + number * 77_777
        yield (
            number,
            f"slug-{number}" if number % 10 == 0 else None,
            created,
            created + (number % 3) * HOUR,
            created + 900 * HOUR if number % 7 == 0 else None,
            _SETTINGS[number % len(_SETTINGS)],
        )


@contextmanager
def open_populated(folder: Path, files: int) -> Iterator[Runtime]:
    """Yield the runtime of an instance whose only account has ``files`` files."""
    config = Config(data_dir=folder, base_url="http://127.0.0.1:8787", rate_limit=1_000_000)
    with open_instance(config) as instance:
        rt = instance.rt
        tempfile.tempdir = str(folder / "tmp")
        accounts.create_account(rt, "owner@example.com", "", Plan.PRO)
        with rt.db.write():
            rt.db.engine.connection().executemany(_INSERT, _generate_rows(files))
        yield rt


@contextmanager
def populate_files(folder: Path, files: int) -> Iterator[tuple[Client, dict[str, str], Path]]:
    """Yield a client of such an instance, its headers, and the database path."""
    with open_populated(folder, files) as rt:
        key = accounts.create_key(rt, "owner@example.com", "").key
        yield Client(create_app(rt)), {"Authorization": f"Bearer {key}"}, rt.db.path


def list_files(client: Client, headers: dict[str, str]) -> int:
    """Request and read the list; return its length in bytes."""
    answer = client.get("/api/v1/files", headers=headers)
    assert answer.status_code == 200
    length = sum(len(block) for block in answer.response)
    answer.close()
    return length


def list_raw(database: sqlite3.Connection) -> int:
    """Serialize the same rows as JSON without the service; return the length in bytes."""
    names, length = FileRow._fields, 0
    cursor = database.execute(_RAW)
    while rows := cursor.fetchmany(BLOCK):
        objects: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows]
        length += len(json.dumps(objects, separators=(",", ":")).encode())
    return length


def measure_ms(call: Callable[[], int]) -> float:
    begun = time.perf_counter_ns()
    assert call() > 0
    return (time.perf_counter_ns() - begun) / 1e6


def main(files: int) -> int:
    """Measure, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, populate_files(Path(folder), files) as (client, headers, path):
        database = sqlite3.connect(path)
        database.execute("PRAGMA cache_size = -64000")
        outcome = compare_in_turns(
            f"list of {files:,} files",
            lambda: measure_ms(lambda: list_files(client, headers)),
            lambda: measure_ms(lambda: list_raw(database)),
            target=TARGET,
            better="less",
            unit="ms",
        )
        database.close()
        tracemalloc.start()
        length = list_files(client, headers)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"the response: {length / 2**20:.1f} MB")
        is_bounded = check_bound("peak memory of one response", peak, MEMORY_MB, "MB")
    return 0 if outcome.reached and is_bounded else 1


if __name__ == "__main__":
    raise SystemExit(main(read_amount(FILES, 1000)))
