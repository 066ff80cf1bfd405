"""Servers in separate processes, and a client that keeps many connections busy, for benchmarks of responses."""

import logging
import re
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from flask import Flask

from docshare.contract.plans import Plan
from docshare.server import logs
from docshare.server.config import Config
from docshare.server.http.listener import bind_sockets, make_server
from docshare.server.http.verdicts import Acceptance, Refusal
from docshare.server.instance import open_instance
from docshare.server.serve import bind_port, serve_instance
from docshare.server.services.accounts import accounts
from tests.support.servers.in_process_server import run_in_thread

CONNECTIONS = 16
THREADS = 8
_CLOSE = re.compile(rb"\r\nconnection: *close\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def serve_product(folder: Path, pipe: Connection) -> None:
    """Run the server like ``docshare serve`` without its command line; log lines go to the null device."""
    config = Config(data_dir=folder, base_url="http://127.0.0.1:8787", rate_limit=1_000_000_000, threads=THREADS)
    with bind_port("127.0.0.1", 0) as port, open_instance(config) as instance, open("/dev/null", "wb") as nowhere:
        logs.configure_logging("text", descriptor=nowhere.fileno())
        key = accounts.initialize_instance(instance.rt, Plan.PRO).api_key
        with serve_instance(port, instance) as serving:
            pipe.send((int(serving.url.rpartition(":")[2]), key))
            pipe.recv()


def serve_app(app: Flask, pipe: Connection) -> None:
    """Serve only ``app``, with the same listener."""
    logging.getLogger("waitress").setLevel(logging.ERROR)  # like the product does
    server = make_server(
        app,
        bind_sockets("127.0.0.1", 0),
        judge=lambda head: Acceptance(1024),
        create_partial=lambda: (_ for _ in ()).throw(AssertionError),
        render_error=lambda status, path, detail: Refusal(status),
        threads=THREADS,
    )
    pipe.send((server.port, ""))
    with run_in_thread(server):
        pipe.recv()


@contextmanager
def start_process(serve: Callable[[Path, Connection], None], folder: Path) -> Iterator[tuple[int, str]]:
    """Run ``serve`` in a separate process; yield its port and its key."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(folder, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join(20)


Request = bytes | Callable[[int], bytes]


def measure_rate(port: int, request: Request, seconds: float) -> float:
    """Return the responses per second; parameters as for ``count_responses``."""
    responses, duration_s = count_responses(port, request, seconds)
    return responses / duration_s


def count_responses(port: int, request: Request, seconds: float) -> tuple[int, float]:
    """Return the number of responses over ``CONNECTIONS`` connections and the seconds that passed; every response must
    be 200 or 204.

    ``request``: the request that each connection sends repeatedly, or a function that builds the next request of a
    connection from its number.
    """
    build = request if callable(request) else lambda _: request
    selector = selectors.DefaultSelector()
    open_sockets: set[socket.socket] = set()

    def connect(number: int) -> None:
        sock = socket.create_connection(("127.0.0.1", port))
        open_sockets.add(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(build(number))
        selector.register(sock, selectors.EVENT_READ, (number, bytearray()))

    def close(sock: socket.socket) -> None:
        selector.unregister(sock)
        open_sockets.discard(sock)
        sock.close()

    for number in range(CONNECTIONS):
        connect(number)
    responses = 0
    begun = time.perf_counter()
    while (now := time.perf_counter()) - begun < seconds:
        for event, _ in selector.select(1):
            sock, (number, received) = event.fileobj, event.data
            assert isinstance(sock, socket.socket)
            received += sock.recv(1 << 20)
            if not _is_complete(received):
                continue
            responses += 1
            if _CLOSE.search(received):  # as after a response without a body
                close(sock)
                connect(number)
            else:
                received.clear()
                sock.sendall(build(number))
    for sock in list(open_sockets):
        close(sock)
    return responses, now - begun


def _is_complete(received: bytearray) -> bool:
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    if received.startswith(b"HTTP/1.1 204"):
        return True
    assert received.startswith(b"HTTP/1.1 200"), received[:200]
    length = _LENGTH.search(received)
    assert length is not None
    return len(received) >= end + 4 + int(length[1])
