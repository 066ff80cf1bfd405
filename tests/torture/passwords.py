"""Flood a server with passwords from many addresses, and let an office of 80 enter the right one at the same time.

    python -m tests.torture.passwords [--seconds N] [--clients N]

Each wrong or right password takes the server tens of milliseconds of a processor. The attacker signs in to accounts
that do not exist, with another address every few attempts, which no limit per address stops, and enters the right
passwords of its own links. Meanwhile, another account's metadata and page images are requested one after another, and
80 readers behind one address enter the password of its link at once. The times are compared with those before.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import requests

from tests.support.documents import pdfs
from tests.torture.flooded_server import AttackRequest, FloodedServer, open_flooded_server
from tests.torture.rendering import TRIAL_COOKIE, ResponseTimes, attack_in_background, measure_calls

CLIENTS = 120
OFFICE = 80
OFFICE_ADDRESS = "198.51.100.80"
OFFICE_SECONDS = 10.0
TARGET_MS = 100.0
PASSWORD = "The right one 7"
_LINKS = 10
_ATTEMPTS = 4000
_PAGES = 20


def build_attempts(stage: FloodedServer) -> list[AttackRequest]:
    """Return attempts to sign in, each from another address, and right passwords of the attacker's links."""
    mal = stage.create_attacker("pro")
    names = []
    for number in range(_LINKS):
        names.append(mal.upload_and_share(pdfs.dense_text_pdf(1, 900 + number)))
        mal.put_settings(names[-1], password=f"password {number}")
    found = []
    for number in range(_ATTEMPTS):
        address = f"2001:db8:{number // 256:x}:{number % 256:x}::1"
        login = urlencode({"email": f"nobody{number}@example.com", "password": f"guess {number}"})
        found.append(AttackRequest("POST", f"{stage.server.url}/login", address=address, form=login))
        if not number % 4:
            link = number // 4 % _LINKS
            form, url = urlencode({"password": f"password {link}"}), f"{stage.server.url}/{names[link]}/enter"
            found.append(AttackRequest("POST", url, address=address, form=form))
    return found


def share_with_password(stage: FloodedServer, seed: int) -> str:
    """Return the name of a new link that requires ``PASSWORD``."""
    name = stage.innocent.upload_and_share(pdfs.dense_text_pdf(2, seed))
    stage.innocent.put_settings(name, password=PASSWORD)
    return name


def enter_as_office(stage: FloodedServer, name: str, count: int = OFFICE) -> ResponseTimes:
    """Enter ``PASSWORD`` at ``name`` from ``count`` browsers behind one address at the same time."""
    barrier, seen, lock = threading.Barrier(count), ResponseTimes(Counter(), []), threading.Lock()
    headers = {"X-Forwarded-For": OFFICE_ADDRESS, "Cookie": TRIAL_COOKIE}

    def enter() -> None:
        barrier.wait(60)
        start = time.perf_counter()
        answer = requests.post(
            f"{stage.server.url}/{name}/enter",
            data={"password": PASSWORD},
            headers=headers,
            allow_redirects=False,
            timeout=120,
        )
        with lock:
            seen.statuses[answer.status_code] += 1
            seen.seconds.append(time.perf_counter() - start)

    with ThreadPoolExecutor(count) as pool:
        for job in [pool.submit(enter) for _ in range(count)]:
            job.result()
    return seen


def measure_others(stage: FloodedServer, seed: int, count: int = _PAGES) -> ResponseTimes:
    """Request metadata and pages of a new document of the innocent account in turn."""
    name = stage.innocent.upload_and_share(pdfs.dense_text_pdf(count, seed))
    images = stage.build_image_requests(name, range(1, count + 1))
    urls = iter([url for image in images for url in (f"{stage.server.url}/api/files/{name}/metadata", image.url)])
    with requests.Session() as session:
        return measure_calls(lambda: session.get(next(urls), timeout=120).status_code, 2 * count)


def print_times(client: str, quiet: ResponseTimes, seen: ResponseTimes, most_ms: float) -> bool:
    """Print the measurements of ``client``; return whether every response is as before and the 95th percentile of the
    times at most ``most_ms``."""
    p95 = seen.compute_percentile_95() * 1000
    is_within = set(seen.statuses) == set(quiet.statuses) and p95 <= most_ms
    medians = [statistics.median(each.seconds) * 1000 for each in (quiet, seen)]
    print(
        f"{client:16} {dict(seen.statuses)}, p50 {medians[0]:.0f} -> {medians[1]:.0f} ms, "
        f"p95 {quiet.compute_percentile_95() * 1000:.0f} -> {p95:.0f} ms, most {max(seen.seconds) * 1000:.0f} ms: "
        f"{'ok' if is_within else 'EXCEEDED'}",
        flush=True,
    )
    return is_within


def run_attack(seconds: float, clients: int) -> bool:
    """Run the attack on a new server, print the measurements, and return whether they are within the limits."""
    with tempfile.TemporaryDirectory() as folder, open_flooded_server(Path(folder)) as stage:
        attempts = build_attempts(stage)
        names = [share_with_password(stage, 700 + number) for number in range(2)]
        measure_others(stage, 1, 4)
        quiet, quiet_office = measure_others(stage, 2), enter_as_office(stage, names[0])
        others = ResponseTimes(Counter(), [])
        with attack_in_background(attempts, clients) as get_statuses:
            time.sleep(3)
            until = time.monotonic() + seconds
            for seed in itertools.count(3):
                seen = measure_others(stage, seed)
                others.statuses += seen.statuses
                others.seconds += seen.seconds
                if time.monotonic() >= until:
                    break
            office = enter_as_office(stage, names[1])
    is_ok = print_times("others", quiet, others, TARGET_MS)
    is_ok &= print_times("office", quiet_office, office, OFFICE_SECONDS * 1000)
    print(f"attacker: {get_statuses()}", flush=True)
    return is_ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the others are watched at least")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="how many attempts are under way at once")
    options = parser.parse_args()
    return 0 if run_attack(options.seconds, options.clients) else 1


if __name__ == "__main__":
    sys.exit(main())
