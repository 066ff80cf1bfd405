"""Run a mixed load for hours: check responses, and that memory, processes, descriptors and threads stay flat after ten
minutes.

``python -m tests.torture.mixed_load [MINUTES [CLIENTS [REQUESTS_A_SECOND]]]``; by default, 16 clients send 20 requests
per second in total for 120 minutes: uploads, settings, recipient links, reading with reports, page images, downloads,
the feed, reports, deletions, and webhook deliveries. ``mixed_load 10 64 60`` is a short run with a heavy load. A run
of less than 20 minutes prints the growth without judging it.
"""

import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.receivers import open_receiver
from tests.support.people.share_page import find_facts
from tests.support.servers.process_memory import list_process_tree
from tests.support.servers.server_process import ServerProcess, run_server

_DESKTOP = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
_WARM_UP_S = 600.0
_MAX_FILES = 6  # files per client
_METADATA = ("detail", "list", "events", "report")

EXPECTED_STATUS = {
    "upload": 200, "delete": 200, "detail": 200, "list": 200, "events": 200, "report": 200, "settings": 200,
    "variant": 201, "variant delete": 204, "page": 200, "reading": 204, "image": 200, "download": 200,
}  # fmt: skip
"""The only status that each kind of request may have: no client uses a file or page that it has deleted."""

RSS_TARGET = 1.0  # MiB per hour
# Descriptors, threads and processes per hour. A pool that starts two more threads during the two hours stays below it.
# The rarest request is sent 1,400 times per hour, so losing one descriptor in 500 of them exceeds it.
COUNT_TARGET = 2.0
P95_TARGET_MS = 100.0
WAL_TARGET = 64.0  # MiB


@dataclass
class LoadSample:
    """Resource usage ``at`` seconds after the start. Workers come and go, so their memory is that of the largest."""

    at: float
    server_mib: float
    worker_mib: float
    processes: int
    descriptors: int
    threads: int
    wal_mib: float


@dataclass
class LoadTally:
    """``answers`` by kind and status; ``ms`` by kind; ``problems`` lists all errors."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    ms: dict[str, list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    samples: list[LoadSample] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, status: int, ms: float, text: str) -> None:
        with self.lock:
            self.answers[kind, status] += 1
            self.ms.setdefault(kind, []).append(ms)
            if status != EXPECTED_STATUS[kind]:
                self.problems.append(f"{kind}: {status} {text[:120]!r}")


class LoadClient(threading.Thread):
    """A client that sends ``rate`` requests per second until it is stopped."""

    def __init__(self, server: ServerProcess, tally: LoadTally, seed: int, rate: float, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._server, self._tally, self._rate, self._stopping = server, tally, rate, stop
        self._chance = random.Random(seed)
        self._http = requests.Session()
        self._reader = {"User-Agent": _DESKTOP, "X-Forwarded-For": f"198.51.{100 + seed // 250}.{seed % 250 + 1}"}
        self._files: list[dict[str, Any]] = []
        self._page: dict[str, Any] = {}
        self._read_file: dict[str, Any] = {}
        self._seq = 0
        self._opened_at = 0.0
        self._acts: list[Callable[[], None]] = [
            *[self._get_detail] * 12,
            *[self._list_files] * 2,
            *[self._list_events] * 4,
            *[self._open_link] * 4,
            *[self._report_reading] * 14,
            *[self._get_image] * 6,
            *[self._put_settings] * 3,
            *[self._create_variant] * 2,
            *[self._download] * 1,
            *[self._get_report] * 2,
            *[self._upload] * 2,
        ]

    def run(self) -> None:
        due = time.monotonic() + self._chance.random() / self._rate
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1 / self._rate, time.monotonic() - 1)
            act = self._chance.choice(self._acts) if self._files else self._upload
            try:
                act()
            except requests.RequestException as error:
                with self._tally.lock:
                    self._tally.problems.append(f"{act.__name__}: {error}")

    def _request(self, kind: str, method: str, path: str, **more: Any) -> requests.Response:
        headers = more.pop("headers", self._server.headers)
        began = time.monotonic()
        answer = self._http.request(method, f"{self._server.url}{path}", headers=headers, timeout=60, **more)
        text = "" if answer.ok else answer.text
        self._tally.add(kind, answer.status_code, (time.monotonic() - began) * 1000, text)
        return answer

    def _pick_file(self) -> dict[str, Any]:
        return self._chance.choice(self._files)

    def _upload(self) -> None:
        content = simple_pdf(pages=self._chance.randint(1, 8)) + self._chance.randbytes(500).hex().encode()
        answer = self._request("upload", "POST", "/api/v1/files", files={"file": ("a.pdf", content)})
        if answer.status_code == 200:
            self._files.append(answer.json())
        if len(self._files) > _MAX_FILES:
            gone = self._files.pop(0)
            if gone is self._read_file:
                self._page = {}
            self._request("delete", "DELETE", f"/api/v1/files/{gone['uuid']}?purge=1")

    def _get_detail(self) -> None:
        self._request("detail", "GET", f"/api/v1/files/{self._pick_file()['uuid']}")

    def _list_files(self) -> None:
        self._request("list", "GET", "/api/v1/files")

    def _list_events(self) -> None:
        self._request("events", "GET", "/api/v1/events?limit=50")

    def _get_report(self) -> None:
        self._request("report", "GET", f"/api/v1/files/{self._pick_file()['uuid']}/readership")

    def _put_settings(self) -> None:
        body = {"showExpiry": self._chance.random() < 0.5}
        self._request("settings", "PUT", f"/api/v1/files/{self._pick_file()['uuid']}/settings", json=body)

    def _create_variant(self) -> None:
        path = f"/api/v1/files/{self._pick_file()['uuid']}/variants"
        answer = self._request("variant", "POST", path, json={"label": "Ada"})
        if answer.status_code == 201:
            self._request("variant delete", "DELETE", f"{path}/{answer.json()['uuid']}")

    def _open_link(self) -> None:
        file = self._pick_file()
        facts = find_facts(self._request("page", "GET", f"/{file['shortId']}", headers=self._reader).text)
        if facts is not None:
            self._page, self._seq, self._opened_at = facts, 0, time.monotonic()
            self._read_file = file

    def _report_reading(self) -> None:
        if not self._page:
            return self._open_link()
        age = round((time.monotonic() - self._opened_at) * 1000)
        report = {"token": self._page["token"], "part": 0, "seq": self._seq, "ageMs": age, "visible": True}
        report |= {"visibleMs": 900, "input": True, "turns": 0, "backTurns": 0}
        report["pages"] = [{"page": 1, "ms": 900, "views": int(self._seq == 0), "back": 0}]
        self._seq += 1
        self._request("reading", "POST", self._page["beaconUrl"], json=report, headers=self._reader)
        return None

    def _get_image(self) -> None:
        self._request("image", "GET", f"/{self._pick_file()['shortId']}/pages/1-800.jpg?v=1", headers=self._reader)

    def _download(self) -> None:
        self._request("download", "POST", f"/{self._pick_file()['shortId']}/download", headers=self._reader)


def take_sample(server: ServerProcess, at: float) -> LoadSample:
    """Return the resource usage of the server and its child processes."""
    own, *workers = list_process_tree(server.process.pid)
    wal = server.data_dir / "docshare.db-wal"
    return LoadSample(
        at,
        _read_status(own, "VmRSS") / 1024,
        max((_read_status(pid, "VmRSS") for pid in workers), default=0) / 1024,
        1 + len(workers),
        len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())),
        _read_status(server.process.pid, "Threads"),
        (wal.stat().st_size if wal.exists() else 0) / (1 << 20),
    )


def _read_status(pid: int, name: str) -> int:
    try:
        found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):  # the process has ended
        return 0
    return int(found[1]) if found else 0


def compute_slope_per_hour(samples: list[LoadSample], value: Callable[[LoadSample], float]) -> float:
    """Return the least-squares slope of ``value`` per hour after the warm-up, or in the second half of a short run."""
    late = [one for one in samples if one.at >= min(_WARM_UP_S, samples[-1].at / 2)]
    if len(late) < 2:
        return 0.0
    return statistics.linear_regression([one.at / 3600 for one in late], [value(one) for one in late]).slope


def run_load(
    minutes: float,
    clients: int,
    rate: float,
    sample_s: float = 5.0,
    is_complete: Callable[[LoadTally], bool] = lambda tally: True,
) -> LoadTally:
    """Load a server for ``minutes``, and until ``is_complete``, with ``clients`` that send ``rate`` requests per second
    in total.

    A sample of its resource usage is taken every ``sample_s`` seconds."""
    tally, stop = LoadTally(), threading.Event()
    settings = {"RATE_LIMIT": "1000000", "TRUSTED_PROXIES": "127.0.0.0/8", "WEBHOOK_ALLOW": "127.0.0.0/8"}
    environ = {f"DOCSHARE_{name}": value for name, value in settings.items()}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_receiver() as receiver,
        run_server(Path(folder), **environ) as server,
    ):
        hook = {"url": receiver.url, "events": ["file.viewed", "file.downloaded"]}
        requests.post(f"{server.url}/api/v1/webhooks", json=hook, headers=server.headers, timeout=30).raise_for_status()
        threads = [LoadClient(server, tally, seed, rate / clients, stop) for seed in range(clients)]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        while (at := time.monotonic() - began) < minutes * 60 or not is_complete(tally):
            tally.samples.append(take_sample(server, at))
            receiver.requests.clear()
            time.sleep(sample_s)
        stop.set()
        for thread in threads:
            thread.join(90)
    return tally


def find_growth(samples: list[LoadSample]) -> list[str]:
    """Return what grows faster than its limit. Print all slopes; a run that is too short for them has no limits."""
    last, wrong = samples[-1], []
    is_judged = last.at >= 2 * _WARM_UP_S
    values: list[tuple[str, str, Callable[[LoadSample], float], float]] = [
        ("memory of the server", "MiB", lambda one: one.server_mib, RSS_TARGET),
        ("memory of the largest worker", "MiB", lambda one: one.worker_mib, RSS_TARGET),
        ("processes", "", lambda one: one.processes, COUNT_TARGET),
        ("descriptors", "", lambda one: one.descriptors, COUNT_TARGET),
        ("threads", "", lambda one: one.threads, COUNT_TARGET),
    ]
    for name, unit, value, target in values:
        slope = compute_slope_per_hour(samples, value)
        if is_judged and slope >= target:
            wrong.append(f"{name}: {slope:+.2f} an hour")
        remark = f"target < {target:g}" if is_judged else "not judged, the run is too short"
        print(f"{name} {value(last):.0f} {unit}".rstrip() + f", {slope:+.2f} an hour ({remark})")
    return wrong


def print_report(tally: LoadTally) -> bool:
    """Print the measurements; return whether all are within their limits."""
    total, last = sum(tally.answers.values()), tally.samples[-1]
    print(
        f"{total} responses in {last.at / 60:.1f} min ({total / max(last.at, 1):.0f}/s), {len(tally.problems)} errors"
    )
    print(*tally.problems[:10], sep="\n")
    for kind, times in sorted(tally.ms.items()):
        p95 = sorted(times)[int(len(times) * 0.95)]
        statuses = {status: count for (name, status), count in sorted(tally.answers.items()) if name == kind}
        print(f"  {kind:<15} p50 {statistics.median(times):7.1f} ms  p95 {p95:7.1f} ms  {statuses}")
    metadata = sorted(ms for kind in _METADATA for ms in tally.ms.get(kind, []))
    p95 = metadata[int(len(metadata) * 0.95)] if metadata else 0.0
    wal = max(one.wal_mib for one in tally.samples)
    growth = find_growth(tally.samples)
    print(f"metadata p95 {p95:.1f} ms (target <= {P95_TARGET_MS:g}); database log at most {wal:.1f} MiB "
          f"(target <= {WAL_TARGET:g})")  # fmt: skip
    return not tally.problems and not growth and p95 <= P95_TARGET_MS and wal <= WAL_TARGET


def main(minutes: float = 120, clients: int = 16, rate: float = 20) -> int:
    """Run the load, print the results, and return the exit code."""
    return 0 if print_report(run_load(minutes, clients, rate)) else 1


if __name__ == "__main__":
    numbers = [float(word) for word in sys.argv[1:]]
    sys.exit(main(*numbers[:1], *(int(number) for number in numbers[1:2]), *numbers[2:]))
