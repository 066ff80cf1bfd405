"""Flood the PDF engine from one account while others read and upload: ``python -m tests.torture.rendering [ATTACK]``.

A Free account shares three small documents whose pages take seconds to render, and twelve clients request them without
pause. Meanwhile, a reader opens the pages of another account's document one after another, and that account uploads.
The response times are compared with those before the attack. Each attack is a function below; ATTACK runs only one.
"""

import argparse
import itertools
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import requests

from tests.support.documents import hostile_pdfs, pdfs
from tests.torture.flooded_server import PAGES, AttackRequest, FloodedServer, open_flooded_server

CLIENTS = 12
IMAGES = 48
UPLOADS = 12
TRIAL_COOKIE = "viewer-cookies=1"  # as in a browser that has opened a gate before
_TIMEOUT_S = 120  # of a request: under attack, a slow machine needs minutes
READER_RATIO, UPLOAD_RATIO = 3.0, 2.0


def make_hostile_documents(pages: int = PAGES) -> list[bytes]:
    """Return documents with a doubly compressed content stream, with pages that take minutes, and with pages that take
    about a second. Page 1 of each is harmless."""
    return [
        hostile_pdfs.bomb_pages(pages),
        hostile_pdfs.paced_pages("f" + "s" * (pages - 1)),
        hostile_pdfs.paced_pages("f" + "m" * (pages - 1)),
    ]


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
    name = mal.upload_and_share(hostile_pdfs.paced_pages("f" * (PAGES // 2) + "s" * (PAGES // 2)))
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


def tiles(stage: FloodedServer) -> list[AttackRequest]:
    """Request tiles of a high zoom and of many widths, of slow pages and of ordinary ones."""
    mal = stage.create_attacker()
    documents = [hostile_pdfs.bomb_pages(PAGES), hostile_pdfs.paced_pages("f" + "h" * 40), pdfs.dense_text_pdf(40, 7)]
    paths = [
        f"/tiles/{page}/{grid}/{column}-{row}.jpg"
        for page in range(1, 40)
        for grid in ("400", "800", *(f"{2100 + 4 * step}w" for step in range(20)))
        for column in range(2)
        for row in range(3)
    ]
    return [request for data in documents for request in stage.build_part_requests(mal.upload_and_share(data), *paths)]


def thumbnails(stage: FloodedServer) -> list[AttackRequest]:
    """Request the small pictures of pages."""
    mal = stage.create_attacker()
    paths = [f"/pages/{page}-{width}.jpg" for page in range(1, PAGES) for width in (160, 240)]
    return [
        request
        for data in make_hostile_documents()
        for request in stage.build_part_requests(mal.upload_and_share(data), *paths)
    ]


def searches(stage: FloodedServer) -> list[AttackRequest]:
    """From many addresses, search documents with slow text, and request their pages without scripts."""
    mal = stage.create_attacker()
    documents = [hostile_pdfs.endless_text_pages(PAGES), hostile_pdfs.bomb_pages(PAGES), pdfs.dense_text_pdf(800, 5)]
    paths = [path for page in range(1, 800, 30) for path in (f"/search?q=e&from={page}", f"?page={page}")]
    found = [request for data in documents for request in stage.build_part_requests(mal.upload_and_share(data), *paths)]
    return [replace(request, address=f"203.0.113.{number % 200}") for number, request in enumerate(found)]


def personal_watermarks(stage: FloodedServer) -> list[AttackRequest]:
    """Request pages and downloads with the watermark of one reader, which are not cached."""
    mal = stage.create_attacker("pro")
    found = []
    for seed in range(3):
        name = mal.upload_and_share(pdfs.dense_text_pdf(200, seed))
        mal.put_settings(name, watermark=True, allowDownload=True)
        link = mal.invite(name)
        found += stage.build_image_requests(link, range(1, 200))
        found += [AttackRequest("POST", f"{stage.server.url}/{link}/download")] * 20
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


def pages_and_codes(stage: FloodedServer) -> list[AttackRequest]:
    """From many addresses, open the pages of 60 links with their QR codes, oEmbed documents and preview pictures."""
    mal, base = stage.create_attacker("pro"), stage.server.url
    found = []
    for seed in range(3):
        name = mal.upload_and_share(pdfs.dense_text_pdf(40, 300 + seed))
        for link in [name, *(mal.add_variant(name) for _ in range(19))]:
            paths = [f"/{link}", f"/{link}?page=7", f"/embed/{link}", f"/api/files/{link}/qr-code"]
            found += [AttackRequest("GET", base + path) for path in [*paths, f"/oembed?url={base}/{link}"]]
            found += stage.build_part_requests(link, "/pages/1-800.jpg", "/outline.json")
    return [replace(request, address=f"203.0.113.{number % 200}") for number, request in enumerate(found)]


def cached_parts(stage: FloodedServer) -> list[AttackRequest]:
    """From many addresses, load images, contents and scripts that the server only has to send, pages without a link,
    and the entry point of the API."""
    base = stage.server.url
    name = stage.create_attacker("pro").upload_and_share(pdfs.dense_text_pdf(4, 310))
    found = stage.build_part_requests(name, *(f"/pages/{page}-800.jpg" for page in range(1, 5)), "/outline.json")
    found += [AttackRequest("GET", base + path) for path in ("/static/0/viewer.js", "/", "/login", "/healthz", "/none")]
    found.append(AttackRequest("GET", f"{base}/api/v1"))
    return [replace(request, address=f"203.0.113.{number}") for number, request in enumerate(found * 20)]


def medium_pages(stage: FloodedServer) -> list[AttackRequest]:
    """Request pages that take half a second, which is too short to be stopped, from 50 clients."""
    data = hostile_pdfs.paced_pages("f" + "h" * (PAGES - 1))
    return stage.build_image_requests(stage.create_attacker().upload_and_share(data))


def medium_pages_by_proxy(stage: FloodedServer) -> list[AttackRequest]:
    """Do the same through a trusted proxy, which other clients use too."""
    return [replace(request, address="203.0.113.9") for request in medium_pages(stage)]


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
        tiles,
        thumbnails,
        searches,
        personal_watermarks,
        variants,
        pages_and_codes,
        cached_parts,
        medium_pages,
        medium_pages_by_proxy,
    )
}


def count_clients(name: str) -> int:
    """Return how many clients attack at once."""
    return 50 if name.startswith("medium_pages") else CLIENTS


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
                more: dict[str, Any] = {"headers": {}}
                if request.address:
                    more["headers"]["X-Forwarded-For"] = request.address
                if request.form:
                    more["headers"] |= {"Content-Type": "application/x-www-form-urlencoded", "Cookie": TRIAL_COOKIE}
                    more |= {"data": request.form, "allow_redirects": False}
                if request.key:
                    more["headers"]["Authorization"] = f"Bearer {request.key}"
                    more["files"] = {"file": ("a.pdf", request.body, "application/pdf")}
                try:
                    status = session.request(request.method, request.url, timeout=_TIMEOUT_S, **more).status_code
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
def attack_in_background(attack_requests: list[AttackRequest], clients: int) -> Iterator[Callable[[], dict[int, int]]]:
    """Run an attack during the block; yield a function that returns the statuses of its responses afterwards."""
    random.Random(1).shuffle(attack_requests)
    context = multiprocessing.get_context("spawn")
    stop, counts = context.Event(), context.Queue()
    process = context.Process(target=send_flood, args=(attack_requests, clients, stop, counts), daemon=True)
    process.start()
    get_statuses: dict[int, int] = {}
    try:
        yield lambda: get_statuses
    finally:
        stop.set()
        get_statuses.update(counts.get(timeout=_TIMEOUT_S + 30))
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
    """Open every other page of a new document, so that none was prefetched."""
    name = stage.innocent.upload_and_share(pdfs.dense_text_pdf(2 * pages, seed))
    attack_requests = iter(stage.build_image_requests(name, range(1, 2 * pages, 2)))
    with requests.Session() as session:
        return measure_calls(lambda: session.get(next(attack_requests).url, timeout=_TIMEOUT_S).status_code, pages)


def measure_uploads(stage: FloodedServer, seed: int, times: int = UPLOADS) -> ResponseTimes:
    """Measure uploads of ordinary documents."""
    created = iter([pdfs.dense_text_pdf(10, seed * 1000 + number) for number in range(times)])
    return measure_calls(lambda: stage.innocent.upload(next(created))[0], times)


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
        with attack_in_background(attack_requests, count_clients(name)) as get_statuses:
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
    parser.add_argument("attack", nargs="*", choices=[*ATTACKS, []], help="which attacks (default: all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each is watched at least")
    options = parser.parse_args()
    results = [run_attack(name, options.seconds) for name in options.attack or ATTACKS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
