"""An API server with scripted responses, on a real socket. It implements the cursor rules of the feeds itself.

``api.on("GET", "/files", answer, answer)`` queues responses for one route; the last one repeats. A response is a value
(JSON), a ``FakeResponse``, or a function that returns one for a ``RecordedRequest``. Other routes are 404.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SO_LINGER, SOL_SOCKET
from ssl import SSLContext
from struct import pack
from typing import Any
from urllib.parse import parse_qs, urlsplit

from docshare.client.http.clock import Clock

UUID = "00000000-0000-4000-8000-{:012d}"
BASE = 1_790_000_000.0  # seconds since 1970 where fake time begins
_STREAM_PATHS = {"/gate-responses": "gate", "/activity": "activity"}  # paths of one stream


@dataclass
class RecordedRequest:
    """One request. ``path``: below ``/api/v1``; ``port``: the port of the client, which identifies the connection."""

    method: str
    path: str
    query: dict[str, str]
    headers: Message
    body: bytes
    port: int

    def part(self) -> tuple[str, bytes]:
        """Return file name and bytes of the only part of a multipart body."""
        boundary = self.headers["Content-Type"].partition("boundary=")[2].encode()
        head, _, rest = self.body.partition(b"\r\n\r\n")
        assert head.startswith(b"--" + boundary)
        content, _, end = rest.rpartition(b"\r\n--" + boundary + b"--\r\n")
        assert end == b""
        return head.decode().partition('filename="')[2].partition('"')[0], content


@dataclass
class FakeResponse:
    """``read_bytes``: how much of the request body is read before the response (None: all). ``connection_action``:
    ``keep``, ``close`` after the response, ``drop`` without one, or ``reset`` without one and at once."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    read_bytes: int | None = None
    connection_action: str = "keep"


def problem(status: int, code: str, detail: str = "no", **headers: str) -> FakeResponse:
    body = {"type": "x", "title": "x", "status": status, "code": code, "detail": detail, "hint": "do it"}
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return FakeResponse(body, status, {"Content-Type": "application/problem+json", **named})


def row(stream: str, number: int, at: float | None = None, **more: Any) -> dict[str, Any]:
    """Return a feed row as the specification orders its keys; ``at``: seconds after ``BASE`` (default: its id)."""
    from docshare.contract.wire import format_instant

    moment = format_instant(int((BASE + (number if at is None else at)) * 1000))
    if stream == "activity":
        data = {"fileUuid": UUID.format(1), "fileName": "deck.pdf", **more.pop("data", {"name": "Ada"})}
        return {"id": number, "event": "receipt.confirmed", "timestamp": moment, "data": data} | more
    base = {"id": number, "fileUuid": UUID.format(1), "fileName": "deck.pdf", "readAt": moment}
    if stream == "view":
        base |= {"country": "DE", "pagesViewed": 3, "timeMs": 102_000}
    if stream == "download":
        base |= {"country": "DE"}
    base["type"] = stream
    if stream == "gate":
        base["fields"] = {"email": "ann@example.com"}
    return base | more


class FakeApi:
    """``requests``: every request so far; ``rows``: the feed by stream; ``is_gate_allowed``: whether the plan includes
    the gate stream."""

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.is_gate_allowed = True
        self.files: list[dict[str, Any]] = []
        self.before_page: Callable[[], FakeResponse | None] = lambda: None
        self.wall: Callable[[], float] = lambda: BASE
        self._routes: dict[tuple[str, str], list[Any]] = {}
        for path in ("/events", "/gate-responses", "/activity"):
            self.on("GET", path, self._build_page)
        self.on("GET", "/files", lambda heard: list(self.files))
        self.on("GET", "/user", {"uuid": UUID.format(9), "tier": "pro", "subscription": "pro", "limits": {}})
        self.url = ""

    def on(self, method: str, path: str, *answers: Any) -> None:
        self._routes[method, path] = list(answers)

    def list_requests(self, method: str, path: str) -> list[RecordedRequest]:
        return [heard for heard in self.requests if (heard.method, heard.path) == (method, path)]

    def take_response(self, method: str, path: str) -> Any:
        waiting = self._routes.get((method, path), [problem(404, "not_found")])
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def add(self, stream: str, *numbers: int, **more: Any) -> None:
        """Append rows with these ids to a stream."""
        self.rows[stream] += [row(stream, number, **more) for number in numbers]

    def _build_page(self, heard: RecordedRequest) -> Any:
        early = self.before_page()
        if early is not None:
            return early
        stream = _STREAM_PATHS.get(heard.path) or heard.query.get("type", "view")
        if stream == "gate" and not self.is_gate_allowed:
            return FakeResponse("This feature requires the pro plan or higher", 403, {"Content-Type": "text/plain"})
        since, limit = int(heard.query.get("since", 0)), min(max(int(heard.query.get("limit", 50)), 1), 100)
        rows = sorted(self.rows[stream], key=lambda each: each["id"])
        if "file" in heard.query:
            rows = [each for each in rows if each.get("data", each)["fileUuid"] == heard.query["file"]]
        if "kind" in heard.query:
            rows = [each for each in rows if each["event"] in heard.query["kind"].split(",")]
        rows = [each for each in rows if each["id"] > since] if since else rows[::-1]
        return rows[:limit]


class _ApiHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: apart, each answer would wait 40 ms for a delayed ACK
    server: _ApiServer

    def _serve(self) -> None:
        api, parts = self.server.api, urlsplit(self.path)
        path = parts.path.removeprefix("/api/v1")
        answer = api.take_response(self.command, path)
        length = int(self.headers.get("Content-Length", 0))
        wanted = answer.read_bytes if isinstance(answer, FakeResponse) and answer.read_bytes is not None else length
        body = self.rfile.read(min(wanted, length))
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        heard = RecordedRequest(self.command, path, query, self.headers, body, self.client_address[1])
        api.requests.append(heard)
        if callable(answer):
            answer = answer(heard)
        self._answer(answer if isinstance(answer, FakeResponse) else FakeResponse(answer))

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def _answer(self, answer: FakeResponse) -> None:
        if answer.connection_action in ("drop", "reset"):
            if answer.connection_action == "reset":
                self.connection.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
            self.close_connection = True
            return
        raw = answer.body if isinstance(answer.body, bytes) else _encode_body(answer)
        self.send_response(answer.status)
        for key, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            **answer.headers,
        }.items():
            self.send_header(key, value)
        if answer.connection_action == "close":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()
        self.close_connection = answer.connection_action == "close"

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate(self.server.api.wall(), usegmt=True)

    def log_message(self, *args: Any) -> None:
        return


def _encode_body(answer: FakeResponse) -> bytes:
    if isinstance(answer.body, str) and answer.headers.get("Content-Type", "").startswith("text/"):
        return answer.body.encode()
    return json.dumps(answer.body).encode()


class _ApiServer(ThreadingHTTPServer):
    daemon_threads = True
    api: FakeApi

    def handle_error(self, *args: Any) -> None:
        return  # some tests close their connection


@contextmanager
def fake_api(tls: SSLContext | None = None) -> Iterator[FakeApi]:
    """Yield a running ``FakeApi`` at ``api.url``; behind TLS if a context is given."""
    api = FakeApi()
    server = _ApiServer(("127.0.0.1", 0), _ApiHandler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.api = api
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class FakeTime:
    """Time that passes only while the code under test sleeps. ``waits``: the seconds of each sleep; ``on_sleep``:
    called before time passes."""

    def __init__(self) -> None:
        self.wall = BASE
        self.passed = 0.0
        self.waits: list[float] = []
        self.on_sleep: Callable[[float], None] = lambda seconds: None

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.on_sleep(seconds)
        self.wall += seconds
        self.passed += seconds

    def run_in_waits(self, *steps: Callable[[], object] | None) -> None:
        """Run one step in each of the next sleeps."""
        waiting = iter(steps)

        def step(seconds: float) -> None:
            action = next(waiting, None)
            if action is not None:
                action()

        self.on_sleep = step

    def make_clock(self, chance: float = 1.0) -> Clock:
        return Clock(wall=lambda: self.wall, monotonic=lambda: self.passed, sleep=self.sleep, chance=lambda: chance)
