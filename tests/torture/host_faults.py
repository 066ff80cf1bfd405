"""Inject host faults into a running server: a full disk, failing writes and syncs, missing permissions and directories,
size limits, no descriptors.

``python -m tests.torture.host_faults`` injects 200 faults and prints the results. Requires root, to mount a tmpfs, and
the Debian package ``strace``, which injects errors into system calls.
"""

import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import make_env, run_docshare, start_server

_SPACE = "3g"
_TIMEOUT_S = 30
_FILES = 8  # so that none gets more than 200 variants in the long form


@dataclass
class FaultFigures:
    """``answers`` counts status codes by kind of request; ``problems`` lists all errors."""

    injections: int = 0
    answers: dict[str, Counter[int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def count(self, kind: str, status: int) -> None:
        self.answers.setdefault(kind, Counter())[status] += 1

    def count_unavailable(self) -> int:
        """Return how many requests were answered with 503."""
        return sum(counts[503] for counts in self.answers.values())


class SmallDiskServer:
    """A server whose data directory is on a separate tmpfs, which tests can fill and empty."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.log = folder.with_name(f"{folder.name}.log")
        # Each request is from a different reader, so that limits per reader do not hide the fault.
        self.env = make_env(folder, DOCSHARE_RATE_LIMIT="1000000", DOCSHARE_TRUSTED_PROXIES="127.0.0.0/8")
        create = ("account", "create", "a@b.example", "--tier", "pro", "--json")
        created = run_docshare("admin", "--data", str(self.data_dir), *create, env=self.env)
        self.headers = {"Authorization": f"Bearer {json.loads(created.stdout)['apiKey']}"}
        self.start()
        self.files = [self.upload().json() for _ in range(_FILES)]

    def start(self) -> None:
        """Start the server on a free port and keep its log."""
        with self.log.open("a") as errors:
            self.process, self.url = start_server(
                "--data", str(self.data_dir), "--port", "0", env=self.env, errors=errors
            )
        self.http = requests.Session()

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self._wait_for_exit()

    def stop(self) -> int:
        """Send SIGTERM; return the exit code."""
        self.process.terminate()
        return self._wait_for_exit()

    def _wait_for_exit(self) -> int:
        self.http.close()
        self.process.communicate(timeout=_TIMEOUT_S)
        return int(self.process.returncode)

    def upload(self) -> requests.Response:
        """Upload a document of three pages."""
        files = {"file": ("a.pdf", simple_pdf(pages=3))}
        return self.http.post(f"{self.url}/api/v1/files", headers=self.headers, files=files, timeout=_TIMEOUT_S)

    def fill(self) -> None:
        """Fill the disk completely."""
        free = os.statvfs(self.folder)
        used_kib = (free.f_blocks - free.f_bfree) * free.f_frsize // 1024
        self._resize(f"{used_kib}k")

    def empty(self) -> None:
        """Free the disk space again."""
        self._resize(_SPACE)

    def _resize(self, size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.folder)], check=True)


@contextmanager
def run_small_disk_server() -> Iterator[SmallDiskServer]:
    """Run a server on a separate disk; stop and unmount it at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="docshare-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SPACE}", "tmpfs", str(folder)], check=True)
    server = None
    try:
        server = SmallDiskServer(folder)
        yield server
    finally:
        if server is not None and server.process.poll() is None:
            server.kill()
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


@contextmanager
def fill_disk(server: SmallDiskServer) -> Iterator[None]:
    """Fill the disk during the block."""
    server.fill()
    try:
        yield
    finally:
        server.empty()


@contextmanager
def inject_failures(server: SmallDiskServer, calls: str, error: str) -> Iterator[None]:
    """Make the system ``calls`` of the server fail with ``error``."""
    command = ["strace", "-f", "-q", "-o", os.devnull, "-p", str(server.process.pid), "-e", f"trace={calls}"]
    tracer = subprocess.Popen(
        [*command, "-e", f"inject={calls}:error={error}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(lambda: _find_tracer(server.process.pid) == tracer.pid)
        yield
    finally:
        tracer.terminate()
        tracer.wait(_TIMEOUT_S)


@contextmanager
def move_documents(server: SmallDiskServer) -> Iterator[None]:
    """Keep the directory of the documents elsewhere during the block."""
    blobs = server.data_dir / "blobs"
    away = blobs.rename(server.folder / "away")
    try:
        yield
    finally:
        away.rename(blobs)


@contextmanager
def limit_resource(server: SmallDiskServer, limit: int, value: Callable[[int], int]) -> Iterator[None]:
    """Set the resource ``limit`` of the server to ``value``, which receives its process ID."""
    pid = server.process.pid
    before = resource.prlimit(pid, limit)
    resource.prlimit(pid, limit, (value(pid), before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, limit, before)


def _find_smallest_file_size(server: SmallDiskServer) -> int:
    return min(
        path.stat().st_size for path in server.data_dir.glob("docshare.db*")
    )  # the server may use the log from its beginning


def _count_descriptors(pid: int) -> int:
    return max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1


FAULTS: dict[str, Callable[[SmallDiskServer], AbstractContextManager[None]]] = {
    "full disk": fill_disk,
    "fsync fails": lambda server: inject_failures(server, "fsync,fdatasync", "EIO"),
    "write fails": lambda server: inject_failures(server, "pwrite64", "EIO"),
    "read-only": lambda server: inject_failures(
        server, "pwrite64,fsync,fdatasync,ftruncate,rename,mkdir,unlink", "EROFS"
    ),
    "no permission": lambda server: inject_failures(server, "openat,rename,mkdir,unlink,statfs", "EACCES"),
    "directory missing": move_documents,
    "size limit": lambda server: limit_resource(
        server, resource.RLIMIT_FSIZE, lambda _: _find_smallest_file_size(server)
    ),
    "no descriptors": lambda server: limit_resource(server, resource.RLIMIT_NOFILE, _count_descriptors),
}


def inject_fault(server: SmallDiskServer, fault: str, rounds: int, figures: FaultFigures) -> None:
    """Inject ``fault``, send ``rounds`` rounds of requests meanwhile, and check that the server recovers by itself."""
    _send_requests(server, FaultFigures(), "before", 0)
    with FAULTS[fault](server):
        for number in range(rounds):
            _send_requests(server, figures, fault, number)
    figures.injections += 1
    # Workers that died during the fault restart after a pause.
    _wait_for(lambda: server.upload().status_code == 200)
    recovered = FaultFigures()
    _send_requests(server, recovered, "after", 0)
    bad = {kind: dict(counts) for kind, counts in recovered.answers.items() if any(status >= 400 for status in counts)}
    if bad:
        figures.problems.append(f"after '{fault}': {bad}")


def _send_requests(server: SmallDiskServer, figures: FaultFigures, fault: str, number: int) -> None:
    """Send one round of requests: writes that grow the database log, an upload, and reads."""
    row = server.files[next(_rounds) % _FILES]
    api, page = f"{server.url}/api/v1/files/{row['uuid']}", f"{server.url}/{row['shortId']}"
    settings = {"viewerSettings": {"cta": {"label": f"Read {number}", "url": f"https://example.com/{'y' * 1500}"}}}
    calls: dict[str, Callable[[], requests.Response]] = {
        "settings": lambda: server.http.put(f"{api}/settings", json=settings, headers=server.headers, timeout=60),
        "variant": lambda: server.http.post(
            f"{api}/variants", json={"label": "z" * 190}, headers=server.headers, timeout=60
        ),
        "upload": server.upload,
        "detail": lambda: server.http.get(api, headers=server.headers, timeout=60),
        "events": lambda: server.http.get(f"{server.url}/api/v1/events", headers=server.headers, timeout=60),
        "content": lambda: server.http.get(f"{api}/content", headers=server.headers, timeout=60),
        "page": lambda: server.http.get(page, headers=_make_reader_header(), timeout=60),
        "download": lambda: server.http.post(f"{page}/download", headers=_make_reader_header(), timeout=60),
        "health": lambda: server.http.get(f"{server.url}/healthz", timeout=60),
    }
    for kind, call in calls.items():
        try:
            answer = call()
        except requests.RequestException as error:
            figures.problems.append(f"'{fault}', {kind}: {error}")
            continue
        figures.count(kind, answer.status_code)
        if answer.status_code >= 400 and (problem := _find_problem(kind, answer)):
            figures.problems.append(f"'{fault}', {kind}: {problem}")


def _make_reader_header() -> dict[str, str]:
    number = next(_reader_numbers)
    return {"X-Forwarded-For": f"203.0.{number // 250 % 250}.{number % 250}"}


_reader_numbers = itertools.count()
_rounds = itertools.count()
_READS = ("detail", "events")


def _find_problem(kind: str, answer: requests.Response) -> str | None:
    """Return what is wrong with an error response, or None if it is the documented one."""
    if answer.status_code != 503 or kind in _READS:
        return f"{answer.status_code} {answer.text[:60]!r}"
    if kind != "health" and not re.fullmatch("[1-9][0-9]*", answer.headers.get("Retry-After", "")):
        return "503 without Retry-After"
    if "/api/" in answer.url and answer.headers["Content-Type"] != "application/problem+json":
        return f"503 as {answer.headers['Content-Type']}"
    return None


def restart_on_full_disk(server: SmallDiskServer, figures: FaultFigures) -> None:
    """Kill the server on a full disk. It must start and serve reads, and recover once there is free space."""
    server.fill()
    _send_requests(server, figures, "full disk, before the kill", 0)
    server.kill()
    server.start()
    _send_requests(server, figures, "full disk, after the kill", 1)
    server.empty()
    inject_fault(server, "full disk", 1, figures)


def check_stopped_server(server: SmallDiskServer, figures: FaultFigures) -> None:
    """Stop the server and check that its log has no traceback and ``docshare admin check`` finds no error."""
    if server.stop() != 0:
        figures.problems.append("the server did not exit with 0")
    tracebacks = server.log.read_text().count("Traceback")
    if tracebacks:
        figures.problems.append(f"{tracebacks} tracebacks in the log")
    checked = run_docshare("admin", "--data", str(server.data_dir), "check", env=server.env)
    if checked.returncode != 0:
        figures.problems.append(f"admin check: {checked.stdout}{checked.stderr}")
    server.log.unlink()


def _find_tracer(pid: int) -> int:
    tracers = set()
    for task in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            tracers.add(int(re.search(r"TracerPid:\s+(\d+)", task.read_text())[1]))  # type: ignore[index]
    return tracers.pop() if len(tracers) == 1 else 0


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + _TIMEOUT_S
    while not condition():
        if time.monotonic() > until:
            raise AssertionError("the condition did not become true")
        time.sleep(0.05)


def main(injections: int = 200) -> int:
    figures = FaultFigures()
    with run_small_disk_server() as server:
        for fault in itertools.islice(itertools.cycle(FAULTS), injections):
            inject_fault(server, fault, 3, figures)
        restart_on_full_disk(server, figures)
        check_stopped_server(server, figures)
    print(f"{figures.injections} injections of {len(FAULTS)} faults")
    for kind, counts in figures.answers.items():
        print(f"  {kind:<10}", "  ".join(f"{status}: {count}" for status, count in sorted(counts.items())))
    print(f"{len(figures.problems)} errors", *figures.problems[:20], sep="\n  ")
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
