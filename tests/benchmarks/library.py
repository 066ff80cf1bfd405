"""Measure the library of 10,000 files: python -m tests.benchmarks.library [FILES]

The page, its last page by name, and a search, through the application (session, search, thumbnails and readings of 50
rows, HTML), are compared with plain SQL of the same rows: one page of files and their number. A request also has an
absolute bound, because somebody waits for it after every pause in typing.
"""

import sqlite3
import tempfile
from pathlib import Path

from werkzeug.test import Client

from docshare.server.app import create_app
from docshare.server.services.accounts import accounts, sign_in
from tests.benchmarks.comparison import check_bound, compare_in_turns, read_amount
from tests.benchmarks.file_list import measure_ms, open_populated

FILES = 10_000
MOST_MS = 100.0
# Address, condition of the plain SQL, its order, and how many times its time a page may take.
PAGES = (
    ("/files", "1", "id DESC", 40.0),
    ("/files?sort=name&page=200", "1", "original_name LIMIT 50 OFFSET 9950 --", 8.0),
    ("/files?q=bericht+77", "original_name LIKE '%Bericht%77%'", "id DESC", 20.0),
    ("/files?q=nothing", "original_name LIKE '%nothing%'", "id DESC", 20.0),
)
_PAGE = "SELECT * FROM files WHERE owner_id = 1 AND trashed_at IS NULL AND {} ORDER BY {} LIMIT 50"
_COUNT = "SELECT COUNT(*) FROM files WHERE owner_id = 1 AND trashed_at IS NULL AND {}"


def show_page(client: Client, address: str) -> int:
    """Request a page; return its length in bytes."""
    answer = client.get(address)
    assert answer.status_code == 200
    return len(answer.data)


def read_raw(database: sqlite3.Connection, condition: str, order: str) -> int:
    """Read the rows of a page and their number without the service; return how many rows were read."""
    count = database.execute(_COUNT.format(condition)).fetchone()[0]
    return len(database.execute(_PAGE.format(condition, order)).fetchall()) + int(count) + 1


def main(files: int) -> int:
    """Measure, print the results, and return the exit code."""
    is_reached = True
    with tempfile.TemporaryDirectory() as folder, open_populated(Path(folder), files) as rt:
        client, email = Client(create_app(rt)), accounts.list_accounts(rt)[0].email
        assert client.post(sign_in.create_link(rt, email).removeprefix(rt.config.base_url)).status_code == 303
        database = sqlite3.connect(rt.db.path)
        for address, condition, order, target in PAGES:
            outcome = compare_in_turns(
                f"{address} of {files:,} files",
                lambda address=address: measure_ms(lambda: show_page(client, address)),
                lambda where=condition, order=order: measure_ms(lambda: read_raw(database, where, order)),
                target=target,
                better="less",
                unit="ms",
            )
            is_bounded = check_bound(f"{address}", outcome.product, MOST_MS, "ms")
            is_reached = is_reached and outcome.reached and is_bounded
        database.close()
    return 0 if is_reached else 1


if __name__ == "__main__":
    raise SystemExit(main(read_amount(FILES, 100)))
