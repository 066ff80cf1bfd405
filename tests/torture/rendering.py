"""One account floods the PDF engine while somebody else reads and uploads: ``python -m tests.torture.rendering``.

A Free account shares three small documents that cost the engine seconds a page, and twelve clients ask for their pages
as fast as they are answered. Meanwhile a reader opens the pages of another account's document, one after the other, and
that account uploads. The times are compared with those of the same server before the attack. Each variant of the attack
is a function below; a name on the command line runs that one alone.
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
    """What an attacker sends: ``method`` and ``url``, with ``body`` as the file of an upload by ``key``."""

    method: str
    url: str
    body: bytes = b""
    key: str = ""


@dataclass
class ApiAccount:
    """An account of the server at ``url``."""

    url: str
    key: str

    def upload(self, data: bytes, name: str = "document.pdf") -> tuple[int, dict[str, Any]]:
        """Status and answer of an upload."""
        files = {"file": (name, io.BytesIO(data), "application/pdf")}
        answer = requests.post(f"{self.url}/api/v1/files", files=files, headers=self._headers, timeout=60)
        return answer.status_code, answer.json()

    def share(self, data: bytes) -> str:
        """The short id of a new file; raises AssertionError when it is refused."""
        status, made = self.upload(data)
        assert status == 200, (status, made)
        return str(made["shortId"])

    def change(self, name: str, **settings: Any) -> None:
        """Change the settings of a file."""
        url = f"{self.url}/api/v1/files/{name}/settings"
        answer = requests.put(url, json=settings, headers=self._headers, timeout=60)
        assert answer.status_code == 200, answer.text

    def add_variant(self, name: str) -> str:
        """The short id of a new variant link."""
        url = f"{self.url}/api/v1/files/{name}/variants"
        answer = requests.post(url, json={"label": "one"}, headers=self._headers, timeout=60)
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["shortId"])

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass
class FloodedServer:
    """A server with an innocent account and as many attackers as asked for."""

    server: ServerProcess
    folder: Path
    innocent: ApiAccount
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def attacker(self, tier: str = "free") -> ApiAccount:
        """A new account."""
        email = f"mal{next(self._numbers)}@example.com"
        data, env = str(self.server.data_dir), make_env(self.folder)
        made = run_docshare("admin", "--data", data, "account", "create", email, "--tier", tier, "--json", env=env)
        assert made.returncode == 0, made.stderr
        answer = json.loads(made.stdout)
        return ApiAccount(self.server.url, str(answer.get("key") or answer["apiKey"]))

    def version(self, name: str) -> str:
        """What the addresses of the pages of ``name`` carry."""
        found = _VERSION.search(requests.get(f"{self.server.url}/{name}", timeout=60).text)
        assert found is not None
        return found[1]

    def images(self, name: str, pages: range = range(1, PAGES + 1)) -> list[AttackRequest]:
        """A request for each page image of ``name``."""
        version, base = self.version(name), f"{self.server.url}/{name}"
        return [AttackRequest("GET", f"{base}/pages/{page}-1600.jpg?v={version}") for page in pages]

    def texts(self, name: str, pages: range = range(1, PAGES + 1)) -> list[AttackRequest]:
        """A request for the text of each page of ``name``."""
        version, base = self.version(name), f"{self.server.url}/{name}"
        return [AttackRequest("GET", f"{base}/text/{page}.json?v={version}") for page in pages]


def hostile_documents(pages: int = PAGES) -> list[bytes]:
    """A content stream deflated twice, pages that take minutes, pages that take about a second; page 1 is harmless."""
    return [
        hostile_pdfs.bomb_pages(pages),
        hostile_pdfs.paced_pages("f" + "s" * (pages - 1)),
        hostile_pdfs.paced_pages("f" + "m" * (pages - 1)),
    ]


def harmless_document(pages: int, seed: int) -> bytes:
    """Dense pages of text, other ones for each ``seed``."""
    chance = random.Random(seed)
    words = ["page", "reader", "document", "while", "office", "efficient", "share", "measure"]
    texts = ["\n".join(" ".join(chance.choice(words) for _ in range(15)) for _ in range(60)) for _ in range(pages)]
    return pdfs.sheets_pdf([pdfs.Sheet(pdfs.lines_content(text, size=9, left=40, top=760)) for text in texts])


# --- attacks: what the clients of the attacker ask for ----------------------------------------------------------------


def images(stage: FloodedServer) -> list[AttackRequest]:
    """Three documents of one Free account."""
    mal = stage.attacker()
    return [request for data in hostile_documents() for request in stage.images(mal.share(data))]


def many_accounts(stage: FloodedServer) -> list[AttackRequest]:
    """The same from six accounts, each with bytes of its own."""
    found = []
    for number in range(6):
        mal = stage.attacker()
        for data in hostile_documents():
            found += stage.images(mal.share(data + b"%%%d\n" % number))
    return found


def same_bytes_again(stage: FloodedServer) -> list[AttackRequest]:
    """Six uploads of the same three documents by one account of a plan that allows it."""
    mal = stage.attacker("pro")
    return [request for data in hostile_documents() * 6 for request in stage.images(mal.share(data))]


def harmless_pages_between(stage: FloodedServer) -> list[AttackRequest]:
    """Every second request is for a page that is drawn at once."""
    mal = stage.attacker()
    quick = hostile_pdfs.paced_pages("f" * (PAGES // 2) + "s" * (PAGES // 2))
    name = mal.share(quick)
    requests = stage.images(name)
    return [request for pair in zip(requests, requests[PAGES // 2 :], strict=False) for request in pair]


def uploads_of_bombs(stage: FloodedServer) -> list[AttackRequest]:
    """Documents whose first page is the bomb are uploaded all the time, beside the page images."""
    mal = stage.attacker("pro")
    bombs = [hostile_pdfs.slow_page(), hostile_pdfs.memory_bomb(), hostile_pdfs.double_deflated()]
    url = f"{stage.server.url}/api/v1/files"
    sent = [AttackRequest("POST", url, bombs[number % 3] + b"%%%d\n" % number, mal.key) for number in range(600)]
    drawn = [request for data in hostile_documents() for request in stage.images(mal.share(data))]
    return [request for pair in zip(sent, drawn, strict=False) for request in pair]


def texts(stage: FloodedServer) -> list[AttackRequest]:
    """The words of pages instead of their images."""
    mal = stage.attacker()
    documents = [hostile_pdfs.bomb_pages(PAGES), hostile_pdfs.endless_text_pages(PAGES)]
    return [request for data in documents for request in stage.texts(mal.share(data))]


def downloads(stage: FloodedServer) -> list[AttackRequest]:
    """Copies that have to be cut and marked."""
    mal = stage.attacker("pro")
    found = []
    for data in (hostile_pdfs.bomb_pages(PAGES), hostile_pdfs.endless_text_pages(PAGES), pdfs.many_pages_pdf(PAGES)):
        for first in range(1, 8):
            name = mal.share(data + b"%%%d\n" % first)
            mal.change(name, allowDownload=True, watermark=True, pageRange={"from": first, "to": PAGES - 20 + first})
            found.append(AttackRequest("POST", f"{stage.server.url}/{name}/download"))
    return found


def variants(stage: FloodedServer) -> list[AttackRequest]:
    """The same pages through ten links of each document."""
    mal = stage.attacker("pro")
    found = []
    for data in hostile_documents():
        name = mal.share(data)
        for link in [name, *(mal.add_variant(name) for _ in range(9))]:
            found += stage.images(link)
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


# --- the clients of the attacker, in a process of their own -----------------------------------------------------------


def send_flood(wanted: list[AttackRequest], clients: int, stop: Event, counts: Any) -> None:
    """Send all of ``wanted`` again and again from ``clients`` threads until ``stop``; the statuses go to ``counts``."""
    os.nice(10)  # attackers have machines of their own: these get what the server leaves
    turn, lock, seen = itertools.cycle(wanted), threading.Lock(), Counter[int]()

    def ask() -> None:
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

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.put(dict(seen))


@contextmanager
def attack_in_background(wanted: list[AttackRequest], clients: int = CLIENTS) -> Iterator[Callable[[], dict[int, int]]]:
    """An attack for the length of the block; gives how it was answered, to be asked for afterwards."""
    context = multiprocessing.get_context("spawn")
    stop, counts = context.Event(), context.Queue()
    random.Random(1).shuffle(wanted)
    process = context.Process(target=send_flood, args=(wanted, clients, stop, counts), daemon=True)
    process.start()
    answered: dict[int, int] = {}
    try:
        yield lambda: answered
    finally:
        stop.set()
        answered.update(counts.get(timeout=60))
        process.join(10)


# --- the reader and the uploader --------------------------------------------------------------------------------------


@dataclass
class ResponseTimes:
    """Statuses and seconds of what an innocent asked for."""

    statuses: Counter[int]
    seconds: list[float]

    def p95(self) -> float:
        """The time that one of twenty requests exceeds, in seconds."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.95)]


def measure_calls(work: Callable[[], int], times: int) -> ResponseTimes:
    """How ``times`` calls of ``work``, which returns a status, went."""
    seen = ResponseTimes(Counter(), [])
    for _ in range(times):
        start = time.perf_counter()
        seen.statuses[work()] += 1
        seen.seconds.append(time.perf_counter() - start)
    return seen


def measure_reading(stage: FloodedServer, seed: int, pages: int = IMAGES) -> ResponseTimes:
    """Open every page of a new document, in an order in which none was drawn ahead."""
    name = stage.innocent.share(harmless_document(2 * pages, seed))
    wanted = iter(stage.images(name, range(1, 2 * pages, 2)))
    with requests.Session() as session:
        return measure_calls(lambda: session.get(next(wanted).url, timeout=30).status_code, pages)


def measure_uploads(stage: FloodedServer, seed: int, times: int = UPLOADS) -> ResponseTimes:
    """Upload ordinary documents."""
    made = iter([harmless_document(10, seed * 1000 + number) for number in range(times)])
    return measure_calls(lambda: stage.innocent.upload(next(made))[0], times)


@contextmanager
def open_flooded_server(folder: Path) -> Iterator[FloodedServer]:
    """A server for one attack."""
    with run_server(folder, DOCSHARE_RATE_LIMIT="1000000") as server:
        yield FloodedServer(server, folder, ApiAccount(server.url, server.token))


def run_attack(name: str, seconds: float) -> bool:
    """One attack against a new server; prints the figures and returns whether they are within the limits."""
    with tempfile.TemporaryDirectory() as folder, open_flooded_server(Path(folder)) as stage:
        wanted = ATTACKS[name](stage)
        measure_reading(stage, 0, 4)
        measure_uploads(stage, 0, 2)
        quiet = measure_reading(stage, 1), measure_uploads(stage, 1)
        with attack_in_background(wanted) as answered:
            time.sleep(2)
            first = partial(measure_reading, stage), partial(measure_uploads, stage)
            rounds = []
            ends = time.monotonic() + seconds
            for seed in itertools.count(2):
                rounds.append(tuple(work(seed) for work in first))
                if time.monotonic() >= ends:
                    break
    good = True
    for at, (what, ratio) in enumerate((("reader", READER_RATIO), ("upload", UPLOAD_RATIO))):
        seen = ResponseTimes(Counter(), [])
        for each in rounds:
            seen.statuses += each[at].statuses
            seen.seconds += each[at].seconds
        base, now = quiet[at].p95(), seen.p95()
        holds = set(seen.statuses) == {200} and now <= ratio * base
        good &= holds
        times = f"p95 {base * 1000:.0f} -> {now * 1000:.0f} ms, most {max(seen.seconds) * 1000:.0f} ms"
        verdict = f"{now / base:.2f}x of at most {ratio:g}x: {'holds' if holds else 'GIVES WAY'}"
        print(f"{name:24} {what}: {dict(seen.statuses)}, {times}, {verdict}", flush=True)
    print(f"{name:24} attacker: {answered()}", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", nargs="*", choices=[*ATTACKS, []], help="which attacks (default all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each is watched at least")
    options = parser.parse_args()
    held = [run_attack(name, options.seconds) for name in options.attack or ATTACKS]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
