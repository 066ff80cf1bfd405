"""Receivers of webhooks on loopback, correct and misbehaving ones, and helpers to queue and send deliveries."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docshare.contract.webhooks import ATTEMPT_HEADER, ID_HEADER
from docshare.contract.wire import format_instant
from docshare.server.outbound.addresses import AddressPolicy
from docshare.server.outbound.exchange import OutboundClient, OutboundRequest, OutboundResponse
from docshare.server.outbound.targets import OutboundTarget
from docshare.server.outbound.watchdog import DeadlineWatchdog
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import Script, endless_response, hold_connection, http_response, raw_response
from tests.support.people.cast import Person, World

LOOPBACK_NETWORKS = ("127.0.0.0/8",)
"""DOCSHARE_WEBHOOK_ALLOW of a server whose webhooks may call this machine."""

OK = http_response(b"thanks")
SERVER_ERROR = http_response(b"", "500 Internal Server Error")
_SHORT_DEADLINE_S = 0.4


@dataclass(frozen=True)
class ReceivedRequest:
    """One request: header names in lower case."""

    headers: dict[str, str]
    body: bytes

    @property
    def delivery(self) -> str:
        return self.headers["webhook-id"]

    @property
    def attempt(self) -> int:
        return int(self.headers["webhook-attempt"])


@dataclass
class FakeReceiver:
    """``choose_script``: returns the script for a request; ``choose_context``: returns the TLS context for a connection
    by its number from 1, or None for plain HTTP; ``requests``: those received, in order; ``connections``: the number of
    connections; ``open_requests``: the number of running scripts; ``max_open_requests``: the most requests at once with
    an open connection; ``watchdogs``: the deadlines to shorten, by the UUID of the delivery and the number of the
    attempt (``shorten_deadlines``)."""

    url: str
    choose_script: Callable[[ReceivedRequest], Script]
    choose_context: Callable[[int], ssl.SSLContext | None]
    requests: list[ReceivedRequest] = field(default_factory=list)
    connections: int = 0
    open_sockets: list[socket.socket] = field(default_factory=list)
    max_open_requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    watchdogs: dict[tuple[str, int], DeadlineWatchdog] = field(default_factory=dict)

    @property
    def open_requests(self) -> int:
        return len(self.open_sockets)

    def set_script(self, script: Script) -> None:
        """Run ``script`` for all later requests."""
        self.choose_script = lambda hit: script

    def group_by_delivery(self) -> dict[str, list[ReceivedRequest]]:
        """Return the requests by the UUID of their delivery."""
        found: dict[str, list[ReceivedRequest]] = {}
        for hit in self.requests:
            found.setdefault(hit.delivery, []).append(hit)
        return found


def reset_connection(sock: socket.socket) -> None:
    """Reset the connection without a response."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


_HEAD = b"HTTP/1.1 200 OK\r\n"
FAILING_SCRIPTS: dict[str, Script] = {
    "5xx": http_response(b"out of order", "503 Service Unavailable"),
    "4xx": http_response(b"", "404 Not Found"),
    "reset": reset_connection,
    "hang": hold_connection,
    "drip": endless_response(_HEAD, b"X", 0.05),
    "redirect": http_response(b"", "307 Temporary Redirect", "Location: http://127.0.0.1:1/elsewhere"),
    "endless headers": endless_response(_HEAD, b"X-Filler: 0123456789\r\n"),
    "not http": raw_response(b"220 mail.example ESMTP\r\n"),
    "cut head": raw_response(b"HTTP/1.1 20"),
}
"""Scripts that fail the delivery, by name."""

UNUSUAL_SCRIPTS: dict[str, Script] = {
    "201": http_response(b"", "201 Created"),
    "204": raw_response(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "299": http_response(b"", "299 Whatever"),
    "slow body": endless_response(_HEAD + b"Content-Length: 1000000\r\n\r\n", b"X", 0.05),
    "endless body": endless_response(_HEAD + b"\r\n", b"X" * 65536),
    "gzip bomb": http_response(gzip.compress(b"\0" * 10_000_000), "200 OK", "Content-Encoding: gzip"),
    "cut body": http_response(b"short", length=1000),
}
"""Scripts with an unusual response that still succeed, because of its status, by name."""

ENDLESS_SCRIPTS = ("hang", "drip", "slow body")
"""The scripts that only the deadline ends."""


def load_context(cert: Path) -> ssl.SSLContext:
    """Return the TLS context of a receiver with this certificate, whose key is beside it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, cert.with_name("key.pem"))
    return context


@contextmanager
def open_receiver(script: Script = OK, cert: Path | None = None, *, https: bool = False) -> Iterator[FakeReceiver]:
    """Yield a running receiver. With ``cert`` it speaks TLS; ``https`` without one: it only claims to."""
    context = None if cert is None else load_context(cert)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        scheme = "https" if cert or https else "http"
        # A random path, because another test's server may still send to a port that its receiver had before.
        place = f"127.0.0.1:{listener.getsockname()[1]}/{uuid.uuid4().hex}"
        receiver = FakeReceiver(f"{scheme}://{place}", lambda hit: script, lambda number: context)
        thread = threading.Thread(target=_accept, args=(listener, receiver), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listener: socket.socket, receiver: FakeReceiver) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        receiver.connections += 1
        context = receiver.choose_context(receiver.connections)
        threading.Thread(target=_serve, args=(sock, context, receiver), daemon=True).start()


def _serve(plain: socket.socket, context: ssl.SSLContext | None, receiver: FakeReceiver) -> None:
    with suppress(OSError), plain:
        plain.getpeername()  # for a disconnected client, wrap_socket would leave an open socket
        sock = plain if context is None else context.wrap_socket(plain, server_side=True)
        with sock:
            _handle_request(sock, receiver)


def _handle_request(sock: socket.socket, receiver: FakeReceiver) -> None:
    hit = _read_request(sock, urlsplit(receiver.url).path)
    if hit is None:
        return
    with receiver.lock:
        receiver.requests.append(hit)
        receiver.open_sockets.append(sock)
        # A sender that has the response may send the next request before the thread of the script runs again.
        open_requests = sum(map(_is_open, receiver.open_sockets))
        receiver.max_open_requests = max(receiver.max_open_requests, open_requests)
    if receiver.watchdogs:  # otherwise the request may be no delivery
        _expire_soon(receiver.watchdogs.pop((hit.delivery, hit.attempt), None))
    try:
        receiver.choose_script(hit)(sock)
    finally:
        with receiver.lock:
            receiver.open_sockets.remove(sock)


def _is_open(sock: socket.socket) -> bool:
    """Return whether the sender has not closed the connection."""
    try:
        return socket.socket.recv(sock, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def _read_request(sock: socket.socket, path: str) -> ReceivedRequest | None:
    with sock.makefile("rb") as lines:
        if not lines.readline().startswith(f"POST {path}".encode()):
            return None
        headers: dict[str, str] = {}
        while (line := lines.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            assert name.lower() not in headers, "a header stands twice"
            headers[name.lower()] = value.strip()
        if not line:
            return None
        size = int(headers["content-length"])
        body = lines.read(size)
        return ReceivedRequest(headers, body) if len(body) == size else None  # incomplete: the sender was killed


def _expire_soon(watchdog: DeadlineWatchdog | None) -> None:
    if watchdog is not None:
        timer = threading.Timer(_SHORT_DEADLINE_S, watchdog._expire)
        timer.daemon = True
        timer.start()


class _ShortDeadlineOutbound(OutboundClient):
    def __init__(self, ca_bundle: Path | None, receivers: Sequence[FakeReceiver], *, after_head: bool) -> None:
        super().__init__(ca_bundle)
        self._receivers = {receiver.url: receiver for receiver in receivers}
        self._after_head = after_head
        self._current = threading.local()

    @contextmanager
    def exchange(
        self, request: OutboundRequest, permit: AddressPolicy, *, deadline_s: float
    ) -> Iterator[OutboundResponse]:
        assert deadline_s == 10, "the request timeout is 10 seconds"
        target = request.target
        receiver = self._receivers.get(f"{target.scheme}://{target.host}:{target.port}{target.path}")
        self._current.receiver, self._current.headers = receiver, request.headers
        with super().exchange(request, permit, deadline_s=deadline_s) as reply:
            if receiver is not None and self._after_head:
                _expire_soon(reply._watchdog)
            yield reply

    def _connect(self, target: OutboundTarget, permit: AddressPolicy, watchdog: DeadlineWatchdog) -> socket.socket:
        receiver, headers = self._current.receiver, self._current.headers
        if receiver is not None and not self._after_head:
            receiver.watchdogs[headers[ID_HEADER], int(headers[ATTEMPT_HEADER])] = watchdog
        return super()._connect(target, permit, watchdog)


def shorten_deadlines(rt: Runtime, *receivers: FakeReceiver, after_head: bool = False) -> Runtime:
    """Return ``rt`` with another deadline for attempts to ``receivers``: instead of 10 s after their start, they end
    0.4 s after the receiver has the request, or with ``after_head`` 0.4 s after the server has the head of the
    response. A busy machine may need most of the 10 s until then. Other receivers keep them."""
    return replace(rt, outbound=_ShortDeadlineOutbound(rt.config.ca_bundle, receivers, after_head=after_head))


@dataclass(frozen=True)
class CreatedWebhook:
    """UUID and secret of a webhook."""

    uuid: str
    secret: str


def add_webhook(person: Person, url: str, *events: str, **more: str) -> CreatedWebhook:
    """Create a webhook of ``person`` for ``events`` (by default ``content.replaced``)."""
    body = {"url": url, "events": events or ["content.replaced"], **more}
    answer = person.post("/api/v1/webhooks", json=body)
    assert answer.status_code == 201, answer.get_data(as_text=True)
    made = answer.get_json()
    return CreatedWebhook(made["webhook"]["uuid"], made["secret"])


def record_replacements(
    world: World, file_uuid: str, *, times: int = 1, variant: str | None = None, **extras: object
) -> None:
    """Record ``times`` events ``content.replaced`` of a file, without replacing its document."""
    with world.rt.db.write():
        ((file_id,),) = world.rt.db.fetch_all("SELECT id FROM files WHERE uuid = ?", (file_uuid,))
        found = world.rt.db.fetch_one("SELECT id FROM variants WHERE uuid = ?", (variant,))
        for _ in range(times):
            activity.record(
                world.rt, file_id, "content.replaced", extras, at=world.clock.now, variant_id=found and found[0]
            )


def deliver_until_idle(world: World, rt: Runtime) -> list[int]:
    """Advance the clock and deliver until no delivery is queued; return the times of the attempts in seconds from now.
    Asserts that nothing is due a millisecond earlier."""
    start, moments = world.clock.now, []
    while (found := rt.db.fetch_one("SELECT MIN(next_at) FROM deliveries")) and found[0] is not None:
        if found[0] > world.clock.now:
            world.clock.now = found[0] - 1
            assert deliver_due(rt) == 0, "before its time"
            world.clock.now = found[0]
        assert deliver_due(rt) > 0
        moments.append((world.clock.now - start) // 1000)
    return moments


def build_envelope(file_uuid: str, name: str, at: int, **extras: object) -> bytes:
    """Return the expected body of a delivery of ``content.replaced``."""
    data = {"fileUuid": file_uuid, "fileName": name, **extras}
    told = {"event": "content.replaced", "timestamp": format_instant(at), "data": data}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def list_deliveries(person: Person, hook: CreatedWebhook, query: str = "") -> list[dict[str, Any]]:
    """Return the log of the webhook as its owner sees it."""
    answer = person.get(f"/api/v1/webhooks/{hook.uuid}/deliveries{query}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    found: list[dict[str, Any]] = answer.get_json()
    return found


def get_webhook(person: Person, hook: CreatedWebhook) -> dict[str, Any]:
    """Return the webhook as its owner's list shows it."""
    found = person.get("/api/v1/webhooks").get_json()["webhooks"]
    return next(row for row in found if row["uuid"] == hook.uuid)
