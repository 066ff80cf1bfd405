"""A small HTTP server on this machine that receives webhook deliveries."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from docshare.cli.framework.exits import ExitCode, Stop

HOST = "127.0.0.1"

_MAX_BODY_BYTES = 1024 * 1024  # bytes; far more than any envelope
_READ_TIMEOUT = 20.0  # seconds without a byte after which a connection is closed
_DRAIN_TIMEOUT = 3.0  # seconds that running responses get at the end
_DRAIN_INTERVAL = 0.02  # seconds, while draining
_CONTENT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class IncomingRequest:
    """An unchanged POST request: ``headers`` under the names sent, and the raw ``body``."""

    headers: Mapping[str, str]
    body: bytes


class LocalReceiver:
    """A running receiver; ``url`` is its address on this machine."""

    def __init__(self, server: "_ReceiverServer") -> None:
        self._server = server
        self.url = f"http://{HOST}:{server.server_address[1]}/"


@contextmanager
def run_receiver(
    port: int, take: Callable[[IncomingRequest], int], answered: Callable[[], None]
) -> Iterator[LocalReceiver]:
    """Receive deliveries on ``port`` (0: a free one) during the block.

    ``take`` runs in its own thread for each POST and returns the status of the response; ``answered`` runs after the
    response was sent. Raise Stop (7) if the port is in use.
    """
    try:
        server = _ReceiverServer(port, take, answered)
    except (OSError, OverflowError) as error:
        raise Stop(
            ExitCode.CONFLICT, f"cannot listen on {HOST} port {port}: {error}", hint="--port 0 selects a free port."
        ) from None
    loop = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="receiver", daemon=True)
    loop.start()
    try:
        yield LocalReceiver(server)
    finally:
        server.shutdown()
        server.server_close()
        server.drain(_DRAIN_TIMEOUT)


class _ReceiverServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # ``drain`` waits, but not for idle connections

    def __init__(self, port: int, take: Callable[[IncomingRequest], int], answered: Callable[[], None]) -> None:
        self.on_request, self.on_response = take, answered
        self._running = 0
        self._lock = threading.Lock()
        super().__init__((HOST, port), _ReceiverHandler)

    @contextmanager
    def count_running(self) -> Iterator[None]:
        """Count a delivery as running during the block."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def drain(self, seconds: float) -> None:
        """Wait until no delivery is running, for at most ``seconds``."""
        end = time.monotonic() + seconds
        while self._running and time.monotonic() < end:
            time.sleep(_DRAIN_INTERVAL)

    def _count(self, change: int) -> None:
        with self._lock:
            self._running += change

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors such as a closed connection."""


class _ReceiverHandler(BaseHTTPRequestHandler):
    server: _ReceiverServer
    timeout = _READ_TIMEOUT

    def do_POST(self) -> None:
        """Handle a delivery."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self._respond(411, "Content-Length is required.\n")
        elif int(length) > _MAX_BODY_BYTES:
            self._respond(413, "The body is too large for a webhook delivery.\n")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):
                self._receive(body)

    def do_GET(self) -> None:
        """Reject other methods."""
        self._respond(405, "docshare webhooks listen accepts only POST requests.\n")

    do_HEAD = do_PUT = do_DELETE = do_GET  # noqa: N815

    def _receive(self, body: bytes) -> None:
        with self.server.count_running():
            status = self.server.on_request(IncomingRequest(dict(self.headers.items()), body))
            self._respond(status, "")
        self.server.on_response()

    def _respond(self, status: int, text: str) -> None:
        body = b"" if self.command == "HEAD" else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", _CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the journal prints the deliveries."""
