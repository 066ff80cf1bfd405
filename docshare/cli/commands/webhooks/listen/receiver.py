"""A small HTTP server on this machine that takes webhook deliveries."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop

HOST = "127.0.0.1"

_LONGEST = 1024 * 1024  # bytes; no envelope comes near it
_SILENCE = 20.0  # seconds without a byte after which a sender is given up
_DRAIN = 3.0  # seconds that running answers get at the end
_LOOK_EVERY = 0.02  # seconds, while draining
_TEXT = "text/plain; charset=utf-8"


class Hit(NamedTuple):
    """One POST as it came: ``headers`` by their names as sent, the raw ``body``."""

    headers: Mapping[str, str]
    body: bytes


class Receiver:
    """``url``: where it can be reached on this machine."""

    def __init__(self, server: "_Server") -> None:
        self._server = server
        self.url = f"http://{HOST}:{server.server_address[1]}/"


@contextmanager
def receiving(port: int, take: Callable[[Hit], int], answered: Callable[[], None]) -> Iterator[Receiver]:
    """Take deliveries on ``port`` (0: a free one) for the length of the block.

    Parameters: ``take`` is called in a thread of its own for each POST and returns the status to answer; ``answered``
    after that answer is out. Stop (7) where the port is taken.
    """
    try:
        server = _Server(port, take, answered)
    except (OSError, OverflowError) as error:
        raise Stop(
            ExitCode.CONFLICT, f"cannot listen on {HOST} port {port}: {error}", hint="--port 0 takes a free one."
        ) from None
    loop = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="receiver", daemon=True)
    loop.start()
    try:
        yield Receiver(server)
    finally:
        server.shutdown()
        server.server_close()
        server.drain(_DRAIN)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # ``drain`` waits, but not for somebody who connects and says nothing

    def __init__(self, port: int, take: Callable[[Hit], int], answered: Callable[[], None]) -> None:
        self.take, self.answered = take, answered
        self._running = 0
        self._lock = threading.Lock()
        super().__init__((HOST, port), _Handler)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count one delivery as running."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def drain(self, seconds: float) -> None:
        """Wait until nothing runs any more, up to ``seconds``."""
        end = time.monotonic() + seconds
        while self._running and time.monotonic() < end:
            time.sleep(_LOOK_EVERY)

    def _count(self, change: int) -> None:
        with self._lock:
            self._running += change

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Called when a sender hangs up: that is its own business."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENCE

    def do_POST(self) -> None:
        """One delivery."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self._answer(411, "Say how long the body is.\n")
        elif int(length) > _LONGEST:
            self._answer(413, "That is too much for a webhook delivery.\n")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):
                self._take(body)

    def do_GET(self) -> None:
        """Somebody looks whether anything is here."""
        self._answer(405, "docshare webhooks listen takes POST requests only.\n")

    do_HEAD = do_PUT = do_DELETE = do_GET  # noqa: N815

    def _take(self, body: bytes) -> None:
        with self.server.busy():
            status = self.server.take(Hit(dict(self.headers.items()), body))
            self._answer(status, "")
        self.server.answered()

    def _answer(self, status: int, text: str) -> None:
        body = b"" if self.command == "HEAD" else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", _TEXT)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Standard error is for people, and they get better lines."""
