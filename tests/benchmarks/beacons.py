"""Compare beacons per second through the service with plain ``sqlite3`` inserts of the same texts and pragmas.

python -m tests.benchmarks.beacons
"""

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from docshare.server import runtime as outside
from docshare.server.config import Config
from docshare.server.rate_limits import RateLimiter
from docshare.server.rules.page_window import PageWindow
from docshare.server.rules.reading import parse_beacon_request, serialize_beacon
from docshare.server.runtime import Runtime
from docshare.server.services.links import links
from docshare.server.services.readership import viewing
from docshare.server.store.blobs import FolderStore
from docshare.server.store.database import Store
from docshare.server.store.migrations import migrate
from tests.benchmarks.comparison import SMALLEST, compare_in_turns
from tests.support.clock import FakeClock
from tests.support.people.reader import DESKTOP

READERS = 40
BEACONS = 60  # of each reader in one measurement: two and a half minutes of reading
EVERY_MS = 2_500
SHORT_ID = "aB3dE5fG7hJ9"
SENDER = viewing.BeaconSender(DESKTOP, "198.51.100.4", None, None, False)
FACTS = viewing.PageFacts("Direct link", "standard", None, False)
WINDOW = PageWindow(1, 200)  # the whole document
PRAGMAS = (
    "journal_mode=wal",
    "synchronous=full",
    "foreign_keys=1",
    "cache_size=-64000",
    "temp_store=memory",
    "secure_delete=1",
)


def make_runtime(folder: Path, clock: FakeClock) -> Runtime:
    """Return a runtime with one shared file of 200 pages, without an engine."""
    missing: Any = None
    config = Config(data_dir=folder, base_url="http://127.0.0.1:8787")
    rt = Runtime(
        config=config,
        clock=clock,
        random_token=outside.random_token,
        random_uuid=outside.random_uuid,
        random_bytes=outside.random_bytes,
        db=Store(folder / "docshare.db"),
        blobs=FolderStore(folder, folder, lambda: outside.random_token(32)),
        engine=missing,
        pages=missing,
        converter=missing,
        outbound=missing,
        jwts=missing,
        mailer=missing,
        vault=outside.open_vault(config, may_create=True),
        locate=lambda address: None,
        limits=RateLimiter(clock),
    )
    migrate(rt.db)
    with rt.db.write():
        rt.db.execute(
            "INSERT INTO accounts (id, uuid, email, name, plan, created_at) "
            "VALUES (1, 'u', 'pia@example.com', 'Pia', 2, 0)"
        )
        rt.db.execute(
            "INSERT INTO files (id, uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes, "
            "sha256, blob, content_version, created_at, updated_at) "
            "VALUES (1, 'f', ?, 1, 'a.pdf', 1, 'application/pdf', 200, '[]', '', '', 1, 0, 0)",
            (SHORT_ID,),
        )
    return rt


def build_beacons(token: str) -> Iterator[bytes]:
    """Yield the beacons of one reader; every other beacon contains two pages."""
    for seq in range(BEACONS):
        page = seq // 2 + 1
        pages = [
            {"page": page, "ms": 1_500, "views": 1, "back": 0},
            {"page": page + 1, "ms": 1_000, "views": 1, "back": 0},
        ]
        beacon = {"token": token, "part": 0, "seq": seq, "ageMs": (seq + 1) * EVERY_MS, "visible": True}
        beacon |= {
            "visibleMs": EVERY_MS,
            "input": True,
            "turns": seq % 2,
            "backTurns": 0,
            "pages": pages[: 1 + seq % 2],
        }
        yield json.dumps(beacon).encode()


def measure_service_rate(rt: Runtime, clock: FakeClock) -> float:
    """Return beacons per second of ``READERS`` concurrent readers, including those that start the sessions."""
    clock.advance(minutes=11)
    link = links.resolve(rt, SHORT_ID)
    assert link is not None
    rounds = list(
        zip(*(build_beacons(viewing.sign_page_token(rt, link, WINDOW, FACTS)) for _ in range(READERS)), strict=True)
    )
    started = time.perf_counter()
    for bodies in rounds:
        clock.advance(milliseconds=EVERY_MS)
        for body in bodies:
            viewing.record_beacon(rt, SHORT_ID, body, SENDER)
    return READERS * BEACONS / (time.perf_counter() - started)


def measure_insert_rate(database: sqlite3.Connection, first_session: int) -> float:
    """Return inserts per second of the same texts, each in its own transaction."""
    texts = [serialize_beacon(parse_beacon_request(body, False)[1]) for body in build_beacons("t")]
    started = time.perf_counter()
    for seq, text in enumerate(texts):
        for session in range(first_session, first_session + READERS):
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO beacons VALUES (?, ?, ?, ?)", (session, seq, 1_790_000_000_000, text))
            database.execute("COMMIT")
    return READERS * BEACONS / (time.perf_counter() - started)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock()
        rt = make_runtime(Path(folder), clock)
        with closing(sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)) as raw:
            for pragma in PRAGMAS:
                raw.execute(f"PRAGMA {pragma}")
            raw.execute(
                "CREATE TABLE beacons (session_id INTEGER, seq INTEGER, received_at INTEGER NOT NULL, "
                "body TEXT NOT NULL, PRIMARY KEY (session_id, seq)) WITHOUT ROWID"
            )
            sessions = iter(range(0, 10**6, READERS))
            outcome = compare_in_turns(
                "beacons",
                lambda: measure_service_rate(rt, clock),
                lambda: measure_insert_rate(raw, next(sessions)),
                target=0.5,
                better="more",
                unit="a second",
            )
        counted = rt.db.fetch_one("SELECT view_count FROM files")
        views = READERS * (2 if SMALLEST else 6)
        assert counted == (views,), f"{counted} views instead of {views}"
        rt.db.close()
    return 0 if outcome.reached else 1


if __name__ == "__main__":
    sys.exit(main())
