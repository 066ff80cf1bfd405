"""Poll the feed while it grows and the server is killed: every poller sees every event exactly once.

``python -m tests.torture.feed_walk [EVENTS [KILLS]]``; by default 100,000 downloads by four threads, five pollers
with one cursor each, and 20 SIGKILLs.
"""

import itertools
import random
import sqlite3
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.ports import find_free_port
from tests.support.servers.server_process import ServerProcess, run_server

POLLERS = 5
_WRITERS = 4
_LIMIT = 100
_TIMEOUT_S = 30


@dataclass
class FeedTally:
    """``acknowledged`` counts downloads with status 200, of which ``events`` are wanted.

    ``ids_by_poller``: the event IDs of each poller in order; ``stored``: those in the database once the server stopped.
    """

    events: int = 0
    acknowledged: int = 0
    kills: int = 0
    stored: list[int] = field(default_factory=list)
    ids_by_poller: list[list[int]] = field(default_factory=lambda: [[] for _ in range(POLLERS)])
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Writers:
    """Threads that download, each time as another reader, until ``most`` downloads are acknowledged."""

    def __init__(self, url: str, short_id: str, tally: FeedTally, most: int) -> None:
        self._address = f"{url}/{short_id}/download"
        self._tally, self._most = tally, most
        self._numbers = itertools.count(tally.acknowledged * 2)
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(_WRITERS)]

    def _run(self) -> None:
        with requests.Session() as http:
            while self._tally.acknowledged < self._most:
                number = next(self._numbers)
                reader = {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
                try:
                    answer = http.post(self._address, headers=reader, timeout=_TIMEOUT_S)
                except requests.RequestException:
                    return  # the server was killed
                with self._tally.lock:
                    if answer.status_code == 200:
                        self._tally.acknowledged += 1
                    else:
                        self._tally.problems.append(f"a download returned {answer.status_code}")
                        return


def _poll_feed(server: ServerProcess, tally: FeedTally, seen: list[int], stop: threading.Event) -> None:
    """Poll the feed from the last ID until ``stop``, and then to its end."""
    with requests.Session() as http:
        while True:
            last_round = stop.is_set()
            parameters: dict[str, Any] = {"type": "download", "limit": _LIMIT, "since": seen[-1] if seen else 1}
            try:
                answer = http.get(
                    f"{server.url}/api/v1/events", params=parameters, headers=server.headers, timeout=_TIMEOUT_S
                )
            except requests.RequestException:
                return
            if answer.status_code != 200:
                with tally.lock:
                    tally.problems.append(f"a poll returned {answer.status_code}")
                return
            rows = answer.json()
            seen += [row["id"] for row in rows]
            if not rows:
                if last_round:
                    return
                time.sleep(0.05)


def walk_feed(folder: Path, events: int, kills: int, seed: int = 7) -> FeedTally:
    """Download ``events`` times during ``kills`` SIGKILLs; return the acknowledged and seen events."""
    chance, tally, short_id = random.Random(seed), FeedTally(events), ""
    port = str(find_free_port())
    targets = [*sorted(chance.sample(range(1, events), kills)), events]
    for number, target in enumerate(targets):
        settings = {"DOCSHARE_RATE_LIMIT": "1000000", "DOCSHARE_TRUSTED_PROXIES": "127.0.0.0/8"}
        with run_server(folder, "--port", port, **settings) as server:
            if not short_id:
                files = {"file": ("a.pdf", simple_pdf(pages=1))}
                created = requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=30)
                short_id = created.json()["shortId"]
            stop = threading.Event()
            writers = _Writers(server.url, short_id, tally, target)
            pollers = [
                threading.Thread(target=_poll_feed, args=(server, tally, seen, stop), daemon=True)
                for seen in tally.ids_by_poller
            ]
            for thread in (*writers.threads, *pollers):
                thread.start()
            last = number == len(targets) - 1
            if last:
                _join(writers.threads)
                stop.set()
            else:
                while tally.acknowledged < target and any(writer.is_alive() for writer in writers.threads):
                    time.sleep(0.002)
                server.process.kill()
                tally.kills += 1
            _join(writers.threads)
            stop.set()
            _join(pollers)
    tally.stored = _read_stored_ids(folder / "data" / "docshare.db")
    return tally


def _read_stored_ids(database: Path) -> list[int]:
    with closing(sqlite3.connect(database)) as store:
        return [ident for (ident,) in store.execute("SELECT id FROM download_rows ORDER BY id")]


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join()


def find_problems(tally: FeedTally) -> list[str]:
    """Return all errors: lost, invented, duplicate or reordered events.

    A download that a kill interrupted may be stored without being acknowledged, so the IDs in the database are what
    every poller must have received.
    """
    wrong, stored = list(tally.problems), set(tally.stored)
    if tally.acknowledged < tally.events:
        wrong.append(f"only {tally.acknowledged} of {tally.events} downloads were acknowledged")
    if not tally.acknowledged <= len(stored) <= tally.acknowledged + tally.kills * _WRITERS:
        wrong.append(f"{len(stored)} downloads are stored, but {tally.acknowledged} were acknowledged")
    for number, seen in enumerate(tally.ids_by_poller):
        if seen != sorted(set(seen)):
            wrong.append(f"poller {number} received duplicate or reordered IDs")
        lost, invented = stored.difference(seen), set(seen) - stored
        if lost:
            wrong.append(f"poller {number} did not receive {len(lost)} of {len(stored)} events, first {min(lost)}")
        if invented:
            wrong.append(f"poller {number} received {len(invented)} events that are not stored, first {min(invented)}")
    return wrong


def main(events: int = 100_000, kills: int = 20) -> int:
    """Run the pollers, print the results, and return the exit code."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = walk_feed(Path(folder), events, kills)
    wrong = find_problems(tally)
    counts = f"{tally.acknowledged} downloads acknowledged, {len(tally.stored)} stored, {tally.kills} kills"
    print(f"{counts}, {time.monotonic() - began:.0f} s")
    print("events of each poller:", *(len(seen) for seen in tally.ids_by_poller))
    print(f"{len(wrong)} errors", *wrong[:10], sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
