"""Attack the listener with many connections and measure how it serves another address at the same time.

    python -m tests.torture.connections [ATTACK...] [--seconds N] [--descriptors N]

Each attack runs in a separate process against a new ``docshare serve`` on loopback, and ends by itself. Meanwhile,
visitors from 127.0.0.2 send requests over new connections, each kind in every other visit: *small* is
``GET /healthz``, and *large* a response that is received in small parts until the server closes the connection. The
line of an attack shows how long each kind took, and how many visits failed.
"""

import argparse
import contextlib
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

VISITOR = "127.0.0.2"
TARGET_MS = 100.0
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE_AND_CLOSE = LARGE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
PARTIAL = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "
BODY = b"POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n"
FULL_BODY = b"POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 500_000
TLS = bytes.fromhex("16030100c8010000c40303") + b"\x00" * 64
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class ConnectionAttack:
    """The behavior of an attacker.

    It holds ``count`` connections from the addresses ``sources``, opened at ``pace`` per second, and replaces
    ``reopen_count`` of them per second. Each sends ``opening`` at once and ``drip`` every ``every`` seconds;
    ``is_half_closed``: it shuts down its sending side; ``is_reading``: it sends ``drip`` only where bytes have
    arrived, and receives these. All are closed with a reset, which keeps their ports free.
    ``is_flood``: more requests than the machine can serve, from as many addresses as real readers; it has no target.
    """

    count: int = 5000
    reopen_count: int = 200
    pace: int = 2500
    sources: Sequence[str] = ("127.0.0.1",)
    opening: bytes = b""
    drip: bytes = b""
    every: float = 3.0
    is_half_closed: bool = False
    small_window: bool = False
    is_reading: bool = False
    is_flood: bool = False


MANY = tuple(f"127.1.{third}.{fourth}" for third in range(8) for fourth in range(1, 201))
ATTACKS: dict[str, ConnectionAttack] = {
    "quiet": ConnectionAttack(count=0, reopen_count=0),
    "1500 silent, 50 reopened": ConnectionAttack(count=1500, reopen_count=50),
    "5000 silent, 200 reopened": ConnectionAttack(),
    "2000 idle after an answer": ConnectionAttack(2000, opening=GET, pace=300),
    "1600 addresses, 8000 silent": ConnectionAttack(count=8000, sources=MANY),
    "1600 addresses, 3000 idle": ConnectionAttack(3000, sources=MANY, opening=GET, pace=300),
    "slow headers": ConnectionAttack(opening=PARTIAL, drip=b"x"),
    "slow headers of 1600 addresses": ConnectionAttack(opening=PARTIAL, drip=b"x", sources=MANY),
    "endless headers": ConnectionAttack(3000, opening=b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000),
    "endless headers of 1600 addresses": ConnectionAttack(
        3000, opening=b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000, sources=MANY
    ),
    "endless request lines": ConnectionAttack(3000, opening=b"GET /" + b"a" * 200_000),
    "many header lines": ConnectionAttack(3000, opening=b"GET / HTTP/1.1\r\n" + b"A:\r\n" * 16_000),
    "slow bodies": ConnectionAttack(opening=BODY, drip=b"x"),
    "slow bodies of 1600 addresses": ConnectionAttack(opening=BODY, drip=b"x", sources=MANY),
    "answers never read": ConnectionAttack(2000, 50, opening=LARGE * 40, pace=300, small_window=True),
    "answers never read by 1600 addresses": ConnectionAttack(
        3000, 50, opening=LARGE * 4, sources=MANY, pace=150, small_window=True, is_flood=True
    ),
    "answers read by 100 addresses": ConnectionAttack(
        100, 0, sources=MANY[:100], opening=LARGE, drip=LARGE, every=1.0, pace=300, is_reading=True
    ),
    "half closed": ConnectionAttack(2000, opening=GET, is_half_closed=True, pace=300),
    "busy keep-alive": ConnectionAttack(480, 0, opening=GET, drip=GET, every=0.1),
    "busy keep-alive of 6 addresses": ConnectionAttack(
        2400, 0, sources=MANY[:6], opening=GET, drip=GET, every=0.5, is_flood=True
    ),
    "unfinished bodies": ConnectionAttack(480, 0, opening=FULL_BODY, pace=300),
    "pipelined": ConnectionAttack(opening=GET * 5000, count=50, reopen_count=2),
    "pipelined of 6 addresses": ConnectionAttack(1900, 0, sources=MANY[:6], opening=GET * 500, pace=300, is_flood=True),
    "resets": ConnectionAttack(count=20, reopen_count=2000),
    "resets after a request": ConnectionAttack(count=20, reopen_count=500, opening=GET),
    "TLS": ConnectionAttack(opening=TLS, count=2000, reopen_count=300),
}

SLOW_CONNECTIONS = 1000
SLOW_MODES = {
    "headers": ["-H", "-i", "5"],
    "body": ["-B", "-i", "5", "-t", "POST", "-s", "8192"],
    "read": ["-X", "-w", "10", "-y", "20", "-n", "5", "-z", "32", "-k", "3"],
    "range": ["-R", "-t", "GET", "-a", "1", "-b", "3000"],
}
"""The options of ``slowhttptest`` for slow headers, slow bodies, responses that are read slowly, and many ranges."""


def run_attack(port: int, attack: ConnectionAttack, stop: Any, opened: Any) -> None:
    """Run ``attack`` until ``stop`` is set; ``opened`` counts the connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sockets: deque[socket.socket] = deque()
    due, dripped, number = time.monotonic(), time.monotonic(), 0
    while not stop.is_set():
        now = time.monotonic()
        missing = attack.count - len(sockets)
        replaced = min(int((now - due) * attack.reopen_count), attack.count)
        if replaced:
            due = now
        for _ in range(min(replaced, len(sockets))):
            _reset_connection(sockets.popleft())
        for _ in range(min(missing, attack.pace // 100) + replaced):
            sock = _open_connection(port, attack, attack.sources[number % len(attack.sources)])
            number += 1
            if sock is None:
                break
            sockets.append(sock)
        opened.value = number
        if attack.drip and now - dripped >= attack.every:
            dripped = now
            for sock in sockets:
                with contextlib.suppress(OSError):
                    if attack.is_reading:
                        sock.recv(1024 * 1024)
                    sock.send(attack.drip)
        stop.wait(0.01)
    for sock in sockets:
        _reset_connection(sock)


def _open_connection(port: int, attack: ConnectionAttack, source: str) -> socket.socket | None:
    sock = socket.socket()
    sock.settimeout(1)
    if attack.small_window:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    try:
        sock.bind((source, 0))
        sock.connect(("127.0.0.1", port))
        sock.setblocking(False)
        if attack.opening:
            sock.send(attack.opening)
        if attack.is_half_closed:
            sock.shutdown(socket.SHUT_WR)
    except OSError:
        sock.close()
        return None
    return sock


def _reset_connection(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    sock.close()


def visit(port: int, source: str = VISITOR, timeout: float = 10, is_large: bool = False) -> float:
    """Send one request over a new connection; return its milliseconds, or infinity if it failed."""
    begun = time.perf_counter()
    try:
        with socket.socket() as sock:
            sock.settimeout(timeout)
            if is_large:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
            sock.bind((source, 0))
            sock.connect(("127.0.0.1", port))
            sock.sendall(LARGE_AND_CLOSE if is_large else GET)
            data = sock.recv(65536)
            if not data.startswith(b"HTTP/1.1 200"):
                return float("inf")
            if is_large and not _receive_rest(sock, data):
                return float("inf")
    except OSError:
        return float("inf")
    return (time.perf_counter() - begun) * 1000


def _receive_rest(sock: socket.socket, data: bytes) -> bool:
    """Receive until the server closes the connection; return whether the response was complete."""
    while more := sock.recv(65536):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    return b"\r\ncontent-length: %d\r\n" % len(body) in head.lower() + b"\r\n"


@contextmanager
def run_limited_server(descriptors: int | None = None) -> Iterator[tuple[int, int]]:
    """Run a new ``docshare serve``; yield its port and its process ID. ``descriptors`` is its descriptor limit."""
    with tempfile.TemporaryDirectory() as home:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("DOCSHARE_", "XDG_"))}
        command = [sys.executable, "-m", "docshare", "serve", "--data", f"{home}/data", "--port", "0"]
        limit = "" if descriptors is None else f"ulimit -n {descriptors}; "
        with (
            open(f"{home}/log", "wb") as log,
            subprocess.Popen(
                ["sh", "-c", f'{limit}exec "$0" "$@"', *command],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**environ, "HOME": home, "DOCSHARE_RATE_LIMIT": "1000000"},
            ) as child,
        ):
            assert child.stdout is not None
            try:
                address = child.stdout.readline()
                assert address, Path(f"{home}/log").read_text()
                yield int(address.rsplit(":", 1)[1]), child.pid
            finally:
                child.send_signal(signal.SIGTERM)
                try:
                    child.wait(30)
                finally:
                    child.kill()


@contextmanager
def attack_in_background(port: int, attack: ConnectionAttack) -> Iterator[Callable[[], int]]:
    """Run ``attack`` during the block; yield a function that returns the number of connections made."""
    context = get_context("spawn")
    stop, opened = context.Event(), context.Value("q", 0)
    process = context.Process(target=run_attack, args=(port, attack, stop, opened), daemon=True)
    process.start()
    try:
        yield lambda: int(opened.value)
    finally:
        stop.set()
        process.join(20)
        process.kill()


@contextmanager
def run_slowhttptest(port: int, mode: str, seconds: int) -> Iterator[Callable[[], int]]:
    """Run ``slowhttptest`` with ``SLOW_CONNECTIONS`` connections; ``mode`` is one of ``SLOW_MODES``."""
    target = "/oauth/token" if mode == "body" else "/api/v1/openapi.json"
    url, count = f"http://127.0.0.1:{port}{target}", str(SLOW_CONNECTIONS)
    command = ["slowhttptest", "-c", count, "-r", "500", "-l", str(seconds + 5), "-p", "3", "-u", url]
    with subprocess.Popen([*command, *SLOW_MODES[mode]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            yield lambda: SLOW_CONNECTIONS
        finally:
            child.kill()


@dataclass
class VisitTimes:
    """The milliseconds of each visit."""

    times: list[float] = field(default_factory=list)

    def quantile(self, part: float) -> float:
        """Return the time within which this share of the visits finished."""
        return sorted(self.times)[min(len(self.times) - 1, int(len(self.times) * part))]

    @property
    def failure_count(self) -> int:
        return sum(time == float("inf") for time in self.times)


def visit_all(port: int, seconds: float) -> tuple[VisitTimes, VisitTimes]:
    """Send requests one after another for ``seconds``; return the times of small and of large responses."""
    small, large, until = VisitTimes(), VisitTimes(), time.monotonic() + seconds
    while time.monotonic() < until:
        small.times.append(visit(port))
        time.sleep(0.01)
        large.times.append(visit(port, is_large=True))
        time.sleep(0.01)
    return small, large


def count_open_sockets(pid: int) -> int:
    """Return the number of sockets that the process has open."""
    links = (_read_link(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd"))
    return sum(link.startswith("socket:") for link in links)


def count_temporary_files(pid: int) -> int:
    """Return the number of temporary files that the process has open."""
    links = (_read_link(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd"))
    return sum(link.startswith(tempfile.gettempdir()) and link.endswith("(deleted)") for link in links)


def measure_memory(pid: int) -> int:
    """Return the resident megabytes of the process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def measure(
    name: str,
    begin: Callable[[int], Any],
    seconds: float,
    attack: ConnectionAttack,
    descriptors: int | None = None,
) -> bool:
    """Run one attack and print its line; return False if it missed its target."""
    with run_limited_server(descriptors) as (port, pid):
        visit_all(port, 2)  # the first requests to a new server take longer
        with begin(port) as opened:
            until = time.monotonic() + 30
            while opened() < attack.count and time.monotonic() < until:
                time.sleep(0.1)
            time.sleep(2)
            kinds = visit_all(port, seconds)
            sockets = count_open_sockets(pid)
            total = opened()
    failure_count = sum(kind.failure_count for kind in kinds)
    reached = all(kind.quantile(0.95) <= TARGET_MS for kind in kinds) and not failure_count
    verdict = "no target" if attack.is_flood else "ok" if reached else "MISSED"
    figures = "  ".join(
        f"{label} p50 {kind.quantile(0.5):7.1f} p95 {kind.quantile(0.95):7.1f}"
        for label, kind in zip(("small", "large"), kinds, strict=True)
    )
    print(
        f"{name:38} {sum(len(kind.times) for kind in kinds):5} visits  {figures}  "
        f"failed {failure_count:4}  held {sockets:5}  made {total:6}  {verdict}",
        flush=True,
    )
    return reached or attack.is_flood


def measure_slowhttptest(seconds: float, descriptors: int | None) -> list[bool]:
    """Run ``slowhttptest`` in each mode and print its lines; return whether each reached its target."""
    if not shutil.which("slowhttptest"):
        for mode in SLOW_MODES:
            print(f"slowhttptest {mode:25} skipped: slowhttptest is not installed (Debian: slowhttptest)", flush=True)
        return []
    attack = ConnectionAttack(SLOW_CONNECTIONS)
    return [
        measure(
            f"slowhttptest {mode}",
            partial(run_slowhttptest, mode=mode, seconds=int(seconds)),
            seconds,
            attack,
            descriptors,
        )
        for mode in SLOW_MODES
    ]


def main() -> int:
    """Run the attacks, print the results, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*", help="parts of the names of the attacks to run; all by default")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--descriptors", type=int)
    args = parser.parse_args()
    selected = [name for name in ATTACKS if not args.attacks or any(part in name for part in args.attacks)]
    reached = []
    for name in selected:
        attack = ATTACKS[name]
        reached.append(
            measure(name, partial(attack_in_background, attack=attack), args.seconds, attack, args.descriptors)
        )
    if not args.attacks or "slowhttptest" in args.attacks:
        reached += measure_slowhttptest(args.seconds, args.descriptors)
    if not args.attacks or "descriptors" in args.attacks:
        reached.append(
            measure(
                "256 descriptors",
                partial(attack_in_background, attack=ConnectionAttack()),
                args.seconds,
                ConnectionAttack(),
                256,
            )
        )
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
