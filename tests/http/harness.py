"""A real listener on a free port with a small application behind it, and a client that sends raw bytes."""

import hashlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from docshare.server.http import parking
from docshare.server.http.channel import Channel
from docshare.server.http.connection_limits import Phase
from docshare.server.http.listener import Server, bind_sockets, make_server
from docshare.server.http.verdicts import Acceptance, Refusal, RequestHead, Verdict
from docshare.server.store.blobs import FolderStore

MB = 1024 * 1024
SMALL_BODY = 64 * 1024
BIG = bytes(12 * MB)
BOUNDARY = "----x7Kp"


class MonotonicClock:
    """Monotonic seconds that a test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class ListenerHarness:
    """The listener under test.

    ``heads``: request heads that the judge received; ``calls``: paths that reached the application; ``gate`` delays
    requests to ``/slow``, ``/slow-files`` and ``/slow/reported``, which reports its wait. ``/busy`` returns 503,
    ``/often`` 429, ``/big`` 12 MB, ``/file`` the content of ``file``; ``/files`` and ``/slow-files`` accept uploads up
    to ``max_file``, ``/refuse`` is rejected, everything else accepts ``SMALL_BODY`` bytes.
    """

    def __init__(self, root: Path, *, max_file: int = 8 * MB, run: bool = True, port: int = 0, **settings: Any) -> None:
        names = count()
        self.blobs = FolderStore(root / "blobs", root / "tmp", lambda: f"name{next(names):016d}")
        self.create_partial: Callable[[], Any] = self.blobs.create_partial
        self.max_file = max_file
        self.heads: list[RequestHead] = []
        self.calls: list[str] = []
        self.environs: list[dict[str, Any]] = []
        self.file: Any = None
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.server: Server = make_server(
            self.application,
            bind_sockets("127.0.0.1", port),
            judge=self.judge,
            create_partial=lambda: self.create_partial(),
            render_error=self.render_error,
            **settings,
        )
        self.port = self.server.port
        self.thread = threading.Thread(target=self.server.run)
        if run:
            self.thread.start()

    def judge(self, head: RequestHead) -> Verdict:
        self.heads.append(head)
        if head.path == "/refuse":
            return Refusal(401, [("WWW-Authenticate", "Bearer"), ("Content-Type", "text/plain")], b"who are you?")
        if head.path == "/unwritable":
            return Refusal(404, [("X-Price", "5 €")])
        if head.path == "/broken-judge":
            raise RuntimeError("the judge fell asleep")
        if head.path in ("/files", "/slow-files"):
            too_large = Refusal(413, [("X-Plan", "free")], b"more than the plan allows")
            return Acceptance(self.max_file + MB, stores_files=True, max_file=self.max_file, on_too_large=too_large)
        return Acceptance(SMALL_BODY)

    def render_error(self, status: int, path: str | None, detail: str) -> Refusal:
        if detail == "The request line is malformed." and path == "/broken-pen":
            raise RuntimeError("the pen is broken")
        body = json.dumps({"status": status, "path": path, "detail": detail}).encode()
        return Refusal(status, [("Content-Type", "application/problem+json"), ("X-Rendered", "yes")], body)

    def application(self, environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        self.calls.append(path)
        self.environs.append(environ)
        if path == "/file":
            start_response("200 OK", [("Content-Type", "text/plain")])
            return environ["wsgi.file_wrapper"](self.file)
        if path == "/boom":
            raise RuntimeError("boom")
        if path == "/slow/reported":
            parking.report_wait()
        if path in ("/slow", "/slow-files", "/slow/reported"):
            self.entered.set()
            self.gate.wait(40)  # longer than a client waits
        answer = BIG if path == "/big" else json.dumps(self.describe_request(environ)).encode()
        kind = "text/plain" if path == "/big" else "application/json"
        status = {"/busy": "503 Service Unavailable", "/often": "429 Too Many Requests"}.get(path, "200 OK")
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(answer)))])
        return [answer]

    def describe_request(self, environ: dict[str, Any]) -> dict[str, Any]:
        body = environ["wsgi.input"].read()
        facts: dict[str, Any] = {"path": environ["PATH_INFO"], "body": body.decode("latin-1")}
        if "docshare.form_error" in environ:
            facts["form_error"] = environ["docshare.form_error"]
        if "docshare.form" in environ:
            form = environ["docshare.form"]
            facts["fields"] = form.fields
            facts["files"] = {name: describe_file(file) for name, file in form.files.items()}
            if "keep" in parse_qs(environ["QUERY_STRING"], keep_blank_values=True):
                facts["key"] = self.blobs.store(form.files["file"].part)
        return facts

    def count_connections(self, phase: Phase) -> int:
        """Return how many connections are in ``phase``, from any thread."""
        return len(self.server.limiter._all.by_phase[phase])

    def list_connections(self) -> list[Channel]:
        """Return the connections that have a phase, from any thread: the loop changes its own lists meanwhile, and adds
        a connection that it accepts before the connection has all its attributes."""
        return [channel for channels in self.server.limiter._all.by_phase for channel in list(channels)]  # type: ignore[misc]

    def list_partials(self) -> list[Path]:
        return list(self.blobs.tmp.iterdir())

    def list_stored(self) -> list[Path]:
        return [path for path in self.blobs.root.rglob("*") if path.is_file()]

    def close(self) -> None:
        self.gate.set()
        self.server.stop(5)
        self.thread.join(20)
        assert not self.thread.is_alive(), "the server does not stop"


def describe_file(file: Any) -> dict[str, Any]:
    return {
        "filename": file.filename,
        "contentType": file.content_type,
        "size": file.part.size,
        "sha256": file.part.sha256(),
        "head": file.part.head.decode("latin-1"),
    }


@dataclass
class ReceivedResponse:
    status: int
    headers: dict[str, str]
    body: bytes
    facts: dict[str, Any] = field(default_factory=dict)


class RawConnection:
    """One connection that sends and receives raw bytes. ``receive``: size of its receive buffer."""

    def __init__(self, port: int, source: str = "127.0.0.1", receive: int | None = None) -> None:
        self.socket = socket.socket()
        if receive is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(20)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", int(port)))
        self.buffer = b""

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *failure: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_repeatedly(self, block: bytes, most: int) -> int:
        """Send ``block`` repeatedly until the other side disconnects; return the number of bytes sent."""
        sent = 0
        with suppress(BrokenPipeError, ConnectionResetError):
            while sent < most:
                sent += self.socket.send(block)
        return sent

    def read_response(self, method: str = "GET") -> ReceivedResponse:
        """Read one complete response with a Content-Length."""
        head = self._read_until(b"\r\n\r\n")
        status_line, *lines = head[:-4].decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        status = int(status_line.split(" ")[1])
        length = 0 if method == "HEAD" or status < 200 else int(headers["content-length"])
        while len(self.buffer) < length:
            self._receive()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        json_body = headers.get("content-type", "").endswith("json") and body
        return ReceivedResponse(status, headers, body, json.loads(body) if json_body else {})

    def read_to_end(self) -> bytes:
        """Return all bytes until the other side closes the connection."""
        with suppress(ConnectionResetError):
            while block := self.socket.recv(65536):
                self.buffer += block
        return self.buffer

    def _read_until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            self._receive()
        end = self.buffer.index(mark) + len(mark)
        found, self.buffer = self.buffer[:end], self.buffer[end:]
        return found

    def _receive(self) -> None:
        block = self.socket.recv(65536)
        if not block:
            raise EOFError(f"closed after {self.buffer!r}")
        self.buffer += block


def build_request(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    """Return a request with Host and, if there is a body, its Content-Length."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def build_part(content: bytes, disposition: str = 'form-data; name="file"; filename="a.pdf"', *headers: str) -> bytes:
    """Return one part of a form, including its final line break."""
    lines = "".join(f"{line}\r\n" for line in (f"Content-Disposition: {disposition}", *headers))
    return f"--{BOUNDARY}\r\n".encode() + lines.encode() + b"\r\n" + content + b"\r\n"


def build_form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def build_upload(body: bytes, path: str = "/files", *headers: str) -> bytes:
    return build_request("POST", path, body, content_type_header(), *headers)


def content_type_header() -> str:
    return f"Content-Type: multipart/form-data; boundary={BOUNDARY}"


def encode_chunks(body: bytes, size: int) -> bytes:
    """Return the body in chunks of ``size`` bytes, including the last chunk."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wait_until(is_true: Callable[[], bool], seconds: float = 10) -> bool:
    """Return whether ``is_true`` becomes true in time: the server closes and cleans up asynchronously."""
    until = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def advance_time(rig: ListenerHarness, clock: MonotonicClock, seconds: float) -> None:
    """Advance the clock by ``seconds`` and wait until the server has checked its deadlines."""
    clock.now += seconds
    assert wait_until(lambda: rig.server._check_at > clock.now)


Connect = Callable[..., RawConnection]
"""Opens a connection with the arguments of ``RawConnection``."""


def is_closed(wire: RawConnection) -> bool:
    """Return whether the other end has closed the connection; it must not have sent anything."""
    if not select.select([wire.socket], [], [], 0)[0]:
        return False
    try:
        return wire.socket.recv(1, socket.MSG_PEEK) == b""
    except ConnectionResetError:
        return True


def ping(wire: RawConnection, path: str = "/ping") -> bool:
    wire.send(build_request("GET", path))
    return wire.read_response().status == 200
