"""An authenticated JSON endpoint against an empty Flask route: python -m tests.benchmarks.json_endpoint [SECONDS]

Both are served by the same waitress with the same threads, each in a process of its own, and asked by the same client:
16 connections kept alive, each with one request under way. ``GET /api/v1/user`` finds its key, checks its scope, counts
the account's files, keeps its rate limit and logs its line; the empty route does nothing.
"""

import logging
import re
import selectors
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from flask import Flask

from docshare.contract.plans import Plan
from docshare.server import logs
from docshare.server.api.early import make_judge
from docshare.server.api.problems import draw_error
from docshare.server.app import create_app
from docshare.server.config import Config
from docshare.server.instance import open_instance
from docshare.server.listener import Accept, Refuse, make_server
from docshare.server.services import accounts
from tests.benchmarks.side_by_side import side_by_side

CONNECTIONS = 16
THREADS = 8
TARGET = 0.45
ROUNDS = 15  # many short ones, so that both meet the same machine
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def serve_product(folder: Path, pipe: Connection) -> None:
    """``docshare serve`` as it is, log lines included (they go nowhere), without its command line."""
    config = Config(data_dir=folder, base_url="http://127.0.0.1:8787", rate_limit=1_000_000_000)
    with open_instance(config) as instance, open("/dev/null", "wb") as nowhere:
        rt = instance.rt
        logs.configure("text", descriptor=nowhere.fileno())
        key = accounts.first_run(rt, Plan.PRO).api_key
        server = make_server(
            create_app(rt),
            "127.0.0.1",
            0,
            judge=make_judge(rt),
            parts=rt.blobs.part,
            draw_error=lambda status, path, detail: draw_error(rt, status, path, detail),
            threads=THREADS,
        )
        pipe.send((server.port, key))
        _run_until_told(server.run, server.stop, pipe)


def serve_limit(folder: Path, pipe: Connection) -> None:
    """An empty route."""
    logging.getLogger("waitress").setLevel(logging.ERROR)  # as the product does
    app = Flask("limit", root_path=str(folder))
    app.add_url_rule("/", view_func=lambda: "")
    server = make_server(
        app,
        "127.0.0.1",
        0,
        judge=lambda head: Accept(1024),
        parts=lambda: (_ for _ in ()).throw(AssertionError),
        draw_error=lambda status, path, detail: Refuse(status),
        threads=THREADS,
    )
    pipe.send((server.port, ""))
    _run_until_told(server.run, server.stop, pipe)


def _run_until_told(run: Callable[[], None], stop: Callable[[], None], pipe: Connection) -> None:
    loop = threading.Thread(target=run)
    loop.start()
    pipe.recv()
    stop()
    loop.join()


@contextmanager
def started(serve: Callable[[Path, Connection], None], folder: Path) -> Iterator[tuple[int, str]]:
    """``serve`` in a process of its own; gives its port and its key."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(folder, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join(20)


def rate(port: int, request: bytes, seconds: float) -> float:
    """Answers a second over ``CONNECTIONS`` connections; every answer must be a 200."""
    selector = selectors.DefaultSelector()
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(request)
            selector.register(sock, selectors.EVENT_READ, bytearray())
        answered = 0
        begun = time.perf_counter()
        while (now := time.perf_counter()) - begun < seconds:
            for event, _ in selector.select(1):
                sock, held = event.fileobj, event.data
                assert isinstance(sock, socket.socket)
                held += sock.recv(65536)
                if _is_whole(held):
                    answered += 1
                    held.clear()
                    sock.sendall(request)
        return answered / (now - begun)


def _is_whole(held: bytearray) -> bool:
    end = held.find(b"\r\n\r\n")
    if end < 0:
        return False
    assert held.startswith(b"HTTP/1.1 200"), held[:200]
    length = _LENGTH.search(held)
    assert length is not None
    return len(held) >= end + 4 + int(length[1])


def main(seconds: float) -> int:
    """Measure, print, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        port, key = stack.enter_context(started(serve_product, Path(folder)))
        empty, _ = stack.enter_context(started(serve_limit, Path(folder)))
        ours = f"GET /api/v1/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        theirs = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        outcome = side_by_side(
            "authed JSON endpoint",
            lambda: rate(port, ours, seconds),
            lambda: rate(empty, theirs, seconds),
            target=TARGET,
            better="more",
            unit="requests/s",
            rounds=ROUNDS,
        )
    return 0 if outcome.reached else 1


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
