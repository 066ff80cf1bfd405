"""Flood the PDF engine from one account while others read and upload: ``python -m tests.torture.rendering [ATTACK]``.

A Free account shares three small documents whose pages take seconds to render, and twelve clients request them without
pause. Meanwhile, a reader opens the pages of another account's document one after another, and that account uploads.
The response times are compared with those before the attack. Each attack is a function below; ATTACK runs only one.
"""

import argparse
import io
import itertools
import json
import multiprocessing
import os
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import requests

from tests.support import hostile_pdfs, pdfs
from tests.support.server_process import ServerProcess, make_env, run_docshare, run_server

PAGES = 900
CLIENTS = 12
IMAGES = 48
UPLOADS = 12
READER_RATIO, UPLOAD_RATIO = 3.0, 2.0
_VERSION = re.compile(r'"version": ?"([^"]*)"')


@dataclass(frozen=True)
class AttackRequest:
    """A request of an attacker: ``method`` and ``url``; ``body`` is the file of an upload with the API key ``key``."""

    method: str
    url: str
    body: bytes = b""
    key: str = ""


@dataclass
class ApiAccount:
    """An account on the server at ``url``."""

    url: str
    key: str

    def upload(self, data: bytes, name: str = "document.pdf") -> tuple[int, dict[str, Any]]:
        """Upload a file; return the status and the response."""
        files = {"file": (name, io.BytesIO(data), "application/pdf")}
        answer = requests.post(f"{self.url}/api/v1/files", files=files, headers=self._headers, timeout=60)
        return answer.status_code, answer.json()

    def upload_and_share(self, data: bytes) -> str:
        """Upload a file; return its short ID. Raises AssertionError on errors."""
        status, created = self.upload(data)
        assert status == 200, (status, created)
        return str(created["shortId"])

    def put_settings(self, name: str, **settings: Any) -> None:
        """Change the settings of a file."""
        url = f"{self.url}/api/v1/files/{name}/settings"
        answer = requests.put(url, json=settings, headers=self._headers, timeout=60)
        assert answer.status_code == 200, answer.text

    def add_variant(self, name: str) -> str:
        """Create a variant; return its short ID."""
        url = f"{self.url}/api/v1/files/{name}/variants"
        answer = requests.post(url, json={"label": "one"}, headers=self._headers, timeout=60)
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["shortId"])

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass
class FloodedServer:
    """A server with one innocent account and any number of attackers."""

    server: ServerProcess
    folder: Path
    innocent: ApiAccount
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def create_attacker(self, tier: str = "free") -> ApiAccount:
        """Return a new account."""
        email = f"mal{next(self._numbers)}@example.com"
        data, env = str(self.server.data_dir), make_env(self.folder)
        created = run_docshare("admin", "--data", data, "account", "create", email, "--tier", tier, "--json", env=env)
        assert created.returncode == 0, created.stderr
        answer = json.loads(created.stdout)
        return ApiAccount(self.server.url, str(answer.get("key") or answer["apiKey"]))

    def get_version(self, name: str) -> str:
        """Return the version in the page URLs of the document ``name``."""
        found = _VERSION.search(requests.get(f"{self.server.url}/{name}", timeout=60).text)
        assert found is not None
        return found[1]

    def build_image_requests(self, name: str, pages: range = range(1, PAGES + 1)) -> list[AttackRequest]:
        """Return a request for each page image of ``name``."""
        version, base = self.get_version(name), f"{self.server.url}/{name}"
        return [AttackRequest("GET", f"{base}/pages/{page}-1600.jpg?v={version}") for page in pages]

    def build_text_requests(self, name: str, pages: range = range(1, PAGES + 1)) -> list[AttackRequest]:
        """Return a request for the text of each page of ``name``."""
        version, base = self.get_version(name), f"{self.server.url}/{name}"
        return [AttackRequest("GET", f"{base}/text/{page}.json?v={version}") for page in pages]


def make_hostile_documents(pages: int = PAGES) -> list[bytes]:
    """Return documents with a doubly compressed content stream, with pages that take minutes, and with pages that take
    about a second. Page 1 of each is harmless."""
    return [
        hostile_pdfs.bomb_pages(pages),
        hostile_pdfs.paced_pages("f" + "s" * (pages - 1)),
        hostile_pdfs.paced_pages("f" + "m" * (pages - 1)),
    ]


def make_harmless_document(pages: int, seed: int) -> bytes:
    """Return a document with dense pages of text, which depend on ``seed``."""
    chance = random.Random(seed)
    words = ["page", "reader", "document", "while", "office", "efficient", "share", "measure"]
    texts = ["\n".join(" ".join(chance.choice(words) for _ in range(15)) for _ in range(60)) for _ in range(pages)]
    return pdfs.sheets_pdf([pdfs.Sheet(pdfs.lines_content(text, size=9, left=40, top=760)) for text in texts])


# --- attacks: the requests of the attacker's clients ------------------------------------------------------------------


def images(stage: FloodedServer) -> list[AttackRequest]:
    """Request page images of three documents of one Free account."""
    mal = stage.create_attacker()
    return [
        request
        for data in make_hostile_documents()
        for request in stage.build_image_requests(mal.upload_and_share(data))
    ]


def many_accounts(stage: FloodedServer) -> list[AttackRequest]:
    """Attack from six accounts, each with different documents."""
    found = []
    for number in range(6):
        mal = stage.create_attacker()
        for data in make_hostile_documents():
            found += stage.build_image_requests(mal.upload_and_share(data + b"%%%d\n" % number))
    return found


def same_bytes_again(stage: FloodedServer) -> list[AttackRequest]:
    """Upload the same three documents six times from one account."""
    mal = stage.create_attacker("pro")
    return [
        request
        for data in make_hostile_documents() * 6
        for request in stage.build_image_requests(mal.upload_and_share(data))
    ]


def harmless_pages_between(stage: FloodedServer) -> list[AttackRequest]:
    """Alternate with requests for pages that render quickly."""
    mal = stage.create_attacker()
    quick = hostile_pdfs.paced_pages("f" * (PAGES // 2) + "s" * (PAGES // 2))
    name = mal.upload_and_share(quick)
    requests = stage.build_image_requests(name)
    return [request for pair in zip(requests, requests[PAGES // 2 :], strict=False) for request in pair]


def uploads_of_bombs(stage: FloodedServer) -> list[AttackRequest]:
    """Also keep uploading documents whose first page is a bomb."""
    mal = stage.create_attacker("pro")
    bombs = [hostile_pdfs.slow_page(), hostile_pdfs.memory_bomb(), hostile_pdfs.double_deflated()]
    url = f"{stage.server.url}/api/v1/files"
    uploading = [AttackRequest("POST", url, bombs[number % 3] + b"%%%d\n" % number, mal.key) for number in range(600)]
    viewing = [
        request
        for data in make_hostile_documents()
        for request in stage.build_image_requests(mal.upload_and_share(data))
    ]
    return [request for pair in zip(uploading, viewing, strict=False) for request in pair]


def texts(stage: FloodedServer) -> list[AttackRequest]:
    """Request the texts of pages instead of images."""
    mal = stage.create_attacker()
    documents = [hostile_pdfs.bomb_pages(PAGES), hostile_pdfs.endless_text_pages(PAGES)]
    return [request for data in documents for request in stage.build_text_requests(mal.upload_and_share(data))]


def downloads(stage: FloodedServer) -> list[AttackRequest]:
    """Download copies that must be cut and watermarked."""
    mal = stage.create_attacker("pro")
    found = []
    for data in (hostile_pdfs.bomb_pages(PAGES), hostile_pdfs.endless_text_pages(PAGES), pdfs.many_pages_pdf(PAGES)):
        for first in range(1, 8):
            name = mal.upload_and_share(data + b"%%%d\n" % first)
            mal.put_settings(
                name, allowDownload=True, watermark=True, pageRange={"from": first, "to": PAGES - 20 + first}
            )
            found.append(AttackRequest("POST", f"{stage.server.url}/{name}/download"))
    return found


def variants(stage: FloodedServer) -> list[AttackRequest]:
    """Request the same pages through ten variants of each document."""
    mal = stage.create_attacker("pro")
    found = []
    for data in make_hostile_documents():
        name = mal.upload_and_share(data)
        for link in [name, *(mal.add_variant(name) for _ in range(9))]:
            found += stage.build_image_requests(link)
    return found


ATTACKS: dict[str, Callable[[FloodedServer], list[AttackRequest]]] = {
    attack.__name__: attack
    for attack in (
        images,
        many_accounts,
        same_bytes_again,
        harmless_pages_between,
        uploads_of_bombs,
        texts,
        downloads,
        variants,
    )
}


# --- the attacker's clients, in a separate process --------------------------------------------------------------------


def send_flood(attack_requests: list[AttackRequest], clients: int, stop: Event, counts: Any) -> None:
    """Send ``attack_requests`` repeatedly from ``clients`` threads until ``stop``; count the statuses in ``counts``."""
    os.nice(10)  # real attackers have their own machines, so these must not slow down the server
    turn, lock, seen = itertools.cycle(attack_requests), threading.Lock(), Counter[int]()

    def send() -> None:
        with requests.Session() as session:
            while not stop.is_set():
                with lock:
                    request = next(turn)
                more: dict[str, Any] = {}
                if request.key:
                    more["headers"] = {"Authorization": f"Bearer {request.key}"}
                    more["files"] = {"file": ("a.pdf", request.body, "application/pdf")}
                try:
                    status = session.request(request.method, request.url, timeout=30, **more).status_code
                except requests.RequestException:
                    status = 0
                with lock:
                    seen[status] += 1

    threads = [threading.Thread(target=send) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.put(dict(seen))


@contextmanager
def attack_in_background(
    attack_requests: list[AttackRequest], clients: int = CLIENTS
) -> Iterator[Callable[[], dict[int, int]]]:
    """Run an attack during the block; yield a function that returns the statuses of its responses afterwards."""
    context = multiprocessing.get_context("spawn")
    stop, counts = context.Event(), context.Queue()
    random.Random(1).shuffle(attack_requests)
    process = context.Process(target=send_flood, args=(attack_requests, clients, stop, counts), daemon=True)
    process.start()
    get_statuses: dict[int, int] = {}
    try:
        yield lambda: get_statuses
    finally:
        stop.set()
        get_statuses.update(counts.get(timeout=60))
        process.join(10)


# --- the reader and the uploader --------------------------------------------------------------------------------------


@dataclass
class ResponseTimes:
    """Statuses and seconds of the requests of an innocent client."""

    statuses: Counter[int]
    seconds: list[float]

    def compute_percentile_95(self) -> float:
        """Return the 95th percentile of the times in seconds."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.95)]


def measure_calls(work: Callable[[], int], times: int) -> ResponseTimes:
    """Measure ``times`` calls of ``work``, which returns a status."""
    seen = ResponseTimes(Counter(), [])
    for _ in range(times):
        start = time.perf_counter()
        seen.statuses[work()] += 1
        seen.seconds.append(time.perf_counter() - start)
    return seen


def measure_reading(stage: FloodedServer, seed: int, pages: int = IMAGES) -> ResponseTimes:
    """Open every page of a new document, in an order without prefetched pages."""
    name = stage.innocent.upload_and_share(make_harmless_document(2 * pages, seed))
    attack_requests = iter(stage.build_image_requests(name, range(1, 2 * pages, 2)))
    with requests.Session() as session:
        return measure_calls(lambda: session.get(next(attack_requests).url, timeout=30).status_code, pages)


def measure_uploads(stage: FloodedServer, seed: int, times: int = UPLOADS) -> ResponseTimes:
    """Measure uploads of ordinary documents."""
    created = iter([make_harmless_document(10, seed * 1000 + number) for number in range(times)])
    return measure_calls(lambda: stage.innocent.upload(next(created))[0], times)


@contextmanager
def open_flooded_server(folder: Path) -> Iterator[FloodedServer]:
    """Run a server for one attack."""
    with run_server(folder, DOCSHARE_RATE_LIMIT="1000000") as server:
        yield FloodedServer(server, folder, ApiAccount(server.url, server.token))


def print_verdict(client: str, quiet: ResponseTimes, seen: ResponseTimes, ratio: float) -> bool:
    """Print the measurements of ``client`` and return whether they are within the limit: every response is 200, and the
    95th percentile of the times at most ``ratio`` times that before the attack."""
    base, now = quiet.compute_percentile_95(), seen.compute_percentile_95()
    is_within = set(seen.statuses) == {200} and now <= ratio * base
    times = f"p95 {base * 1000:.0f} -> {now * 1000:.0f} ms, most {max(seen.seconds) * 1000:.0f} ms"
    verdict = f"{now / base:.2f}x of at most {ratio:g}x: {'ok' if is_within else 'EXCEEDED'}"
    print(f"{client}: {dict(seen.statuses)}, {times}, {verdict}", flush=True)
    return is_within


def run_attack(name: str, seconds: float) -> bool:
    """Run one attack on a new server, print the measurements, and return whether they are within the limits."""
    with tempfile.TemporaryDirectory() as folder, open_flooded_server(Path(folder)) as stage:
        attack_requests = ATTACKS[name](stage)
        measure_reading(stage, 0, 4)
        measure_uploads(stage, 0, 2)
        quiet = measure_reading(stage, 1), measure_uploads(stage, 1)
        with attack_in_background(attack_requests) as get_statuses:
            time.sleep(2)
            first = partial(measure_reading, stage), partial(measure_uploads, stage)
            rounds = []
            deadline = time.monotonic() + seconds
            for seed in itertools.count(2):
                rounds.append(tuple(work(seed) for work in first))
                if time.monotonic() >= deadline:
                    break
    is_ok = True
    for at, (client, ratio) in enumerate((("reader", READER_RATIO), ("upload", UPLOAD_RATIO))):
        seen = ResponseTimes(Counter(), [])
        for each in rounds:
            seen.statuses += each[at].statuses
            seen.seconds += each[at].seconds
        is_ok &= print_verdict(f"{name:24} {client}", quiet[at], seen, ratio)
    print(f"{name:24} attacker: {get_statuses()}", flush=True)
    return is_ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", nargs="*", choices=[*ATTACKS, []], help="which attacks (default all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each is watched at least")
    options = parser.parse_args()
    results = [run_attack(name, options.seconds) for name in options.attack or ATTACKS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
