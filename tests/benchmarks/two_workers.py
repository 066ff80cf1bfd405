"""Compare two workers with one, and PostgreSQL with SQLite: python -m tests.benchmarks.two_workers [SECONDS]

Each is a separate ``docshare serve``, and the client has 16 persistent connections. On a machine with two
processors, the client and PostgreSQL use a large part of them, so the result for the second worker is
a lower bound. All beacons belong to one account, as those of a document that many read at once.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import requests

from tests.benchmarks.comparison import compare_in_turns, read_amount
from tests.benchmarks.servers import CONNECTIONS, measure_rate
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.postgresql import drop_store, make_store
from tests.support.people.reader import DESKTOP
from tests.support.people.share_page import parse_facts
from tests.support.servers.server_process import ServerProcess, run_server

JSON_TARGET, BEACON_TARGET, DATABASE_TARGET = 1.7, 1.6, 0.5
ROUNDS = 5
BEACON_EVERY_S = 2.5  # interval of an active reader
_SETTINGS = {"DOCSHARE_RATE_LIMIT": "1000000", "DOCSHARE_TRUSTED_PROXIES": "127.0.0.1"}


@contextmanager
def serve(folder: Path, workers: int) -> Iterator[ServerProcess]:
    """Run a server with ``workers`` processes on PostgreSQL, or one process on SQLite if ``workers`` is 0."""
    if not workers:
        with run_server(folder, **_SETTINGS) as server:
            yield server
        return
    name = f"workers{workers}"
    store = make_store(name)
    try:
        url = str(store.engine.pool.conninfo)
        with run_server(folder, "--workers", str(workers), DOCSHARE_DATABASE_URL=url, **_SETTINGS) as server:
            yield server
    finally:
        store.close()
        drop_store(name)


def build_user_request(server: ServerProcess) -> bytes:
    """Return an authenticated request for JSON."""
    return f"GET /api/v1/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode()


def make_beacons(server: ServerProcess) -> Callable[[int], bytes]:
    """Return a function that builds the next beacon of each of ``CONNECTIONS`` readers."""
    files = {"file": ("a.pdf", simple_pdf(pages=3))}
    created = requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=60).json()
    readers = []
    for number in range(CONNECTIONS):
        headers = {"User-Agent": DESKTOP, "X-Forwarded-For": f"198.51.100.{number}"}
        facts = parse_facts(requests.get(f"{server.url}/{created['shortId']}", headers=headers, timeout=60).text)
        readers.append((facts["token"], facts["beaconUrl"], headers, count()))

    def build(number: int) -> bytes:
        token, path, headers, numbers = readers[number]
        seq = next(numbers)
        body = json.dumps(
            {
                "token": token, "part": 0, "seq": seq, "ageMs": (seq + 1) * 100, "visible": True, "visibleMs": 100,
                "input": True, "turns": 0, "backTurns": 0,
                "pages": [{"page": 1, "ms": 100, "views": 0, "back": 0}],
            }
        )  # fmt: skip
        lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()

    return build


def main(seconds: float) -> int:
    """Measure, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        two, one, embedded = (
            stack.enter_context(serve(Path(folder) / name, workers))
            for name, workers in (("two", 2), ("one", 1), ("embedded", 0))
        )
        reached = [
            _compare("JSON endpoint, two workers against one", two, one, JSON_TARGET, seconds),
            _compare("JSON endpoint, PostgreSQL against SQLite", one, embedded, DATABASE_TARGET, seconds),
            compare_in_turns(
                "beacons, two workers against one",
                lambda: measure_rate(_get_port(two), make_beacons(two), seconds),
                lambda: measure_rate(_get_port(one), make_beacons(one), seconds),
                target=BEACON_TARGET, better="more", unit="beacons/s", rounds=ROUNDS,
            ).reached,
        ]  # fmt: skip
        embedded_beacons = make_beacons(embedded)
        rate = measure_rate(_get_port(embedded), embedded_beacons, seconds)
        print(f"beacons, one process on SQLite: {rate:.4g} beacons/s, of {rate * BEACON_EVERY_S:.0f} readers at once")
    return 0 if all(reached) else 1


def _compare(name: str, ours: ServerProcess, theirs: ServerProcess, target: float, seconds: float) -> bool:
    requests_of = {id(server): build_user_request(server) for server in (ours, theirs)}
    return compare_in_turns(
        name,
        lambda: measure_rate(_get_port(ours), requests_of[id(ours)], seconds),
        lambda: measure_rate(_get_port(theirs), requests_of[id(theirs)], seconds),
        target=target, better="more", unit="requests/s", rounds=ROUNDS,
    ).reached  # fmt: skip


def _get_port(server: ServerProcess) -> int:
    return int(server.url.rpartition(":")[2])


if __name__ == "__main__":
    raise SystemExit(main(read_amount(2.0, 0.1)))
