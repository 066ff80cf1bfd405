"""Compare the default, one process and one folder, with that of an earlier commit: no route may become slower.

``python -m tests.benchmarks.embedded [COMMIT [SECONDS]]``; by default the commit before the first that served several
machines. Both are separate ``docshare serve`` processes in the same Python environment, measured in turns by the same
client, and store documents without encryption, which that commit does not have. The requests are counted per second of
CPU time of the server and its PDF workers, which other programs on the machine affect less than their rate.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles

import requests

from tests.benchmarks.comparison import SMALLEST, format_verdict
from tests.benchmarks.servers import Request, count_responses
from tests.benchmarks.two_workers import build_user_request, make_beacons
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.process_memory import list_process_tree
from tests.support.servers.server_process import ServerProcess, run_server

TARGET = 0.98
PAIRS, ROUNDS = 6, 3
_BEFORE_CLUSTER = "8dd62ab^"
_ROOT = Path(__file__).resolve().parents[2]
_BOUNDARY = "benchmark-7f3a9c"
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_SETTINGS = {
    "DOCSHARE_RATE_LIMIT": "1000000",
    "DOCSHARE_TRUSTED_PROXIES": "127.0.0.1",
    "DOCSHARE_ENCRYPTION": "off",
    "PYTHONSAFEPATH": "1",  # so that the current directory is not searched first
}


@contextmanager
def check_out(commit: str) -> Iterator[Path]:
    """Yield a folder with the tree of ``commit``."""
    with tempfile.TemporaryDirectory(prefix="commit-") as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(_ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def build_page_request(server: ServerProcess) -> bytes:
    """Return a request for a page image that is already rendered."""
    files = {"file": ("a.pdf", simple_pdf(pages=3))}
    created = requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=60).json()
    path = f"/{created['shortId']}/pages/1-800.jpg?v=1"
    requests.get(server.url + path, timeout=60).raise_for_status()
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def build_upload(server: ServerProcess) -> bytes:
    """Return the upload of a small document."""
    part = 'Content-Disposition: form-data; name="file"; filename="a.pdf"\r\nContent-Type: application/pdf'
    body = f"--{_BOUNDARY}\r\n{part}\r\n\r\n".encode() + simple_pdf(pages=1) + f"\r\n--{_BOUNDARY}--\r\n".encode()
    head = (
        f"POST /api/v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: multipart/form-data; boundary={_BOUNDARY}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


_ROUTES: dict[str, Callable[[ServerProcess], Request]] = {
    "JSON endpoint": build_user_request,
    "page image, warm": build_page_request,
    "beacon": make_beacons,
    "small upload": build_upload,
}


def main(commit: str, seconds: float) -> int:
    """Measure, print the results, and return the exit code."""
    ratios: dict[str, list[float]] = {name: [] for name in _ROUTES}
    with ExitStack() as stack:
        # At the smallest size the tree is compared with itself: a copy of it may have no history.
        earlier = _ROOT if SMALLEST else stack.enter_context(check_out(commit))
        for number in range(1 if SMALLEST else PAIRS):
            _measure_pair(ratios, earlier, seconds, is_earlier_first=bool(number % 2))
    reached = []
    for name, found in ratios.items():
        low, ratio, high = quantiles(found * 2 if SMALLEST else found, n=4)
        reached.append(SMALLEST or ratio >= TARGET)
        print(
            f"{name}: {ratio:.2f} times the requests per CPU second of {commit}, half of {len(found)} rounds between "
            f"{low:.2f} and {high:.2f} (target >= {TARGET}) {format_verdict(reached[-1])}"
        )
    return 0 if all(reached) else 1


def _measure_pair(ratios: dict[str, list[float]], earlier: Path, seconds: float, *, is_earlier_first: bool) -> None:
    """Start a server of each tree, and append the ratios of each route to ``ratios``. Two processes of the same program
    differ as well, so there are several pairs."""
    trees = [_ROOT, earlier]
    if is_earlier_first:
        trees.reverse()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = [
            stack.enter_context(run_server(Path(folder) / str(place), PYTHONPATH=str(tree), **_SETTINGS))
            for place, tree in enumerate(trees)
        ]
        for name, build in _ROUTES.items():
            measures = [_measure(server, build(server), seconds) for server in servers]
            for _ in range(1 if SMALLEST else ROUNDS):
                first, second = (measure() for measure in measures)
                ratios[name].append(second / first if is_earlier_first else first / second)


def _measure(server: ServerProcess, request: Request, seconds: float) -> Callable[[], float]:
    port = int(server.url.rpartition(":")[2])

    def measure() -> float:
        before = _read_cpu_seconds(server.process.pid)
        responses, _ = count_responses(port, request, seconds)
        return responses / max(_read_cpu_seconds(server.process.pid) - before, _TICK_S)

    return measure


def _read_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and of its descendants, those that ended included."""
    return sum(_read_own_cpu_seconds(each) for each in list_process_tree(pid))


def _read_own_cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0.0
    return sum(map(int, fields[11:15])) * _TICK_S


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    named, duration = (*words, *(_BEFORE_CLUSTER, "1")[len(words) :])
    raise SystemExit(main(named, 0.1 if SMALLEST else float(duration)))
