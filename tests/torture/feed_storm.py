"""Read the feed while 32 writers in several processes append to it: the reader sees every row once, in order.

``python -m tests.torture.feed_storm [ROWS]``; by default 200,000 downloads of one account, on PostgreSQL. Sequences
assign ids before a transaction commits, so a reader could skip a row that is committed later.
"""

import multiprocessing
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import requests

from docshare.server.store.postgresql import PostgresqlStore
from docshare.server.store.tables import feed
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.postgresql import drop_store, make_store
from tests.support.servers.server_process import ServerProcess, run_server

PROCESSES, THREADS = 4, 8
_LIMIT = 100
_TIMEOUT_S = 60


def _write(address: str, owner: int, file: int, rows: int) -> None:
    """Append ``rows`` downloads like the product does: each in its own transaction, under the lock of the owner."""
    with closing(PostgresqlStore(address)) as store:

        def run() -> None:
            for _ in range(rows // THREADS):
                with store.write(owner):
                    feed.append_download(store, file, None, time.time_ns() // 1_000_000)

        threads = [threading.Thread(target=run) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _read(server: ServerProcess, seen: list[int], is_over: threading.Event) -> None:
    """Poll from the last id until ``is_over``, and then to the end."""
    with requests.Session() as http:
        while True:
            last_round = is_over.is_set()
            query: dict[str, Any] = {"type": "download", "limit": _LIMIT, "since": seen[-1]}
            answer = http.get(f"{server.url}/api/v1/events", params=query, headers=server.headers, timeout=_TIMEOUT_S)
            assert answer.status_code == 200, answer.text
            found = [row["id"] for row in answer.json()]
            seen += found
            if not found and last_round:
                return


def run_storm(folder: Path, rows: int) -> list[str]:
    """Let the writers append ``rows`` rows; return the problems of the reader: missing, duplicate or reordered rows."""
    store = make_store("storm")
    address = str(store.engine.pool.conninfo)
    try:
        with run_server(folder, DOCSHARE_DATABASE_URL=address, DOCSHARE_RATE_LIMIT="1000000") as server:
            files = {"file": ("a.pdf", simple_pdf(pages=1))}
            assert requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=60).ok
            ((file, owner),) = store.fetch_all("SELECT id, owner_id FROM files")
            seen, is_over = [1], threading.Event()  # every id is greater
            reader = threading.Thread(target=_read, args=(server, seen, is_over))
            reader.start()
            context = multiprocessing.get_context("spawn")
            arguments = (address, owner, file, rows // PROCESSES)
            writers = [context.Process(target=_write, args=arguments) for _ in range(PROCESSES)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            is_over.set()
            reader.join()
            stored = [number for (number,) in store.fetch_all("SELECT id FROM download_rows ORDER BY id")]
    finally:
        store.close()
        drop_store("storm")
    return find_problems(seen[1:], stored, rows)


def find_problems(seen: list[int], stored: list[int], rows: int) -> list[str]:
    """Compare the ids that the reader received, in order, with the ``rows`` ids that the database should contain."""
    wrong = [] if len(stored) == rows else [f"{len(stored)} of {rows} rows were stored"]
    if seen != sorted(set(seen)):
        wrong.append("the reader got rows twice or out of order")
    missed = set(stored) - set(seen)
    if missed:
        wrong.append(f"the reader missed {len(missed)} rows, the first is {min(missed)}")
    return wrong


def main(rows: int = 200_000) -> int:
    """Run the storm, print the results, and return the exit code."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        wrong = run_storm(Path(folder), rows)
    seconds = time.monotonic() - began
    print(f"{rows} rows by {PROCESSES * THREADS} writers in {seconds:.0f} s, {rows / seconds:.0f} a second")
    print(f"{len(wrong)} errors", *wrong, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
