"""One connection of the listener. It receives requests, sends responses, and closes without losing the last one."""

import fcntl
import logging
import socket
import sys
import termios
from functools import partial
from selectors import EVENT_READ as READ
from selectors import EVENT_WRITE as WRITE
from typing import Any

from waitress.channel import HTTPChannel

from docshare.server.http.connection_limits import Phase
from docshare.server.http.file_body import FileBody
from docshare.server.http.parking import ParkableRequest
from docshare.server.http.request_parser import RequestParser
from docshare.server.http.tasks import ApplicationTask, RefusalTask
from docshare.server.store.segments import DamagedBytesError

LOGGER = logging.getLogger("docshare.listener")
LINGER_SECONDS = 2.0
LINGER_BYTES = 512 * 1024
"""Bytes of a rejected body that are read and discarded before the connection is closed. If it were closed at once, the
kernel would send a reset, and the client could discard the response."""
SEND_BYTES_PER_TURN = 1024 * 1024
"""The maximum that the loop sends to one connection before it handles the others."""
_MAX_SEND_BYTES = 256 * 1024  # per call of the system
_PARSE_BYTES = 8 * 1024
"""Bytes that are parsed at once while a header block is incomplete; more could contain many pipelined requests."""


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection.

    ``server``: the Listener that accepted it; ``pending_header``: a header block that waits for the first bytes of its
    body, to be sent with them; ``peer``: the address of the other end; ``watched``: the events that the loop waits for;
    ``received_bytes``: bytes read from the socket; ``socket_bytes``: these, plus the bytes written to it; ``turn``: the
    number of the last turn of the loop that handled its events.
    """

    task_class = ApplicationTask
    error_task_class = RefusalTask
    request: RequestParser | None = None
    watched = 0
    turn = 0
    sent_continue: bool
    # Maintained by the limiter.
    network: str
    phase: Phase
    phase_request_count: int
    phase_since: float
    phase_bytes: int

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: dict[int, Any]) -> None:
        self.parser_class = partial(RequestParser, hooks=server.hooks, peer=addr[0], wake=self.wake)
        self.peer: str = addr[0]
        self.request_count = 0
        self._has_unread_body = False
        self._is_lingering = False
        self._linger_room = LINGER_BYTES
        self._pipelined = b""  # bytes that were pipelined after the running request
        self.socket_bytes = 0
        self.received_bytes = 0
        self._send_budget: int | None = None
        self._is_socket_full = False
        self._is_worker_sending = False
        self._send_at = 0.0
        self.pending_header = b""
        super().__init__(server, sock, addr, adj, map=map)
        self.sendbuf_len: int = min(self.sendbuf_len, _MAX_SEND_BYTES)
        server.limiter.add(self)

    def current_phase(self) -> Phase:
        """Return the current phase of this connection."""
        if self._is_lingering:
            return Phase.LINGERING
        if self.total_outbufs_len:
            return Phase.TRANSFERRING
        if self.requests:
            return Phase.RUNNING
        request = self.request
        if request is None or not request.headers_finished:
            return Phase.IDLE if request is None and self.request_count else Phase.WAITING
        return Phase.RUNNING if request.is_paused else Phase.TRANSFERRING

    def transferred_bytes(self) -> int:
        """Return how many bytes were received, plus how many sent bytes the other end has acknowledged."""
        if not self.total_outbufs_len or self.socket is None:
            return self.socket_bytes
        try:
            unsent = fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4))
        except OSError:  # this system cannot report unsent bytes, so all that it accepted count as sent
            return self.socket_bytes
        return self.socket_bytes - int.from_bytes(unsent, sys.byteorder)

    @property
    def next_request(self) -> RequestParser | None:
        """Return the request that runs, or that runs next."""
        return self.requests[0] if self.requests else None

    def find_client(self) -> str:
        """Return the address of the client that sent ``next_request``."""
        request = self.next_request
        client: str = self.server.hooks.find_client(self.peer, request and request.headers.get("X_FORWARDED_FOR"))
        return client

    def get_method_and_path(self) -> tuple[str, str]:
        """Return the method and the path of ``next_request``, or empty texts for a rejected one."""
        request = self.next_request
        return (request.command, request.path) if request and not request.error else ("", "")

    @property
    def is_next_an_upload(self) -> bool:
        """Return whether the body of ``next_request`` is streamed into the store."""
        return self.next_request is not None and self.next_request.is_upload

    def wanted_events(self) -> int:
        """Return the events that this connection needs now. A worker thread may change them at any time."""
        return (READ if self.readable() else 0) | (WRITE if self.writable() else 0)

    @property
    def needs_loop(self) -> bool:
        """Return whether a worker that has changed this connection must wake the loop, because the loop does not wait
        for the events that are needed now."""
        return bool(self.wanted_events() & ~self.watched or self._pipelined)

    def wake(self, request: RequestParser, error: Exception | None) -> None:
        """Resume reading the body of ``request``, or fail it with ``error``; called from any thread."""
        self.server.wake(self, None if error is None else partial(self._fail, request, error))

    def _fail(self, request: RequestParser, error: Exception) -> None:
        """Answer ``request`` with ``error`` before its body has been received. Called in the loop."""
        with self.requests_lock:
            if self.request is not request:
                return  # its body has been received in the meantime, so a worker answers it
            request.stop(error)
            self.request = None
            self._start(request)

    def _start(self, request: RequestParser) -> None:
        """Pass ``request`` to a worker thread. The caller must hold the lock, and no other request may be running."""
        self.request_count += 1
        dispatcher = self.server.task_dispatcher
        request.parkable = ParkableRequest(partial(dispatcher.add_task, self), partial(dispatcher.report_wait, request))
        self.requests.append(request)
        self.server.add_task(self)

    def postpone(self) -> None:
        """Delay a rejection; called by a worker before it writes the response."""
        self._send_at = self.server.loop.postpone(self)
        self.server.wake()

    def _is_postponed(self) -> bool:
        return self._send_at > 0 and self.server.limiter.clock() < self._send_at

    def writable(self) -> bool:
        """Return whether the loop must send or close now. It must not send while a worker does: the socket would wake
        the loop again and again, which would delay the worker."""
        has_bytes = self.total_outbufs_len and not self._is_worker_sending
        return bool(has_bytes or self.will_close or self.close_when_flushed) and not self._is_postponed()

    def write_soon(self, data: Any) -> int:
        """Send bytes, or a file, after the pending header block; return how many."""
        if self.pending_header:
            data, self.pending_header = self.pending_header + data, b""
        return int(super().write_soon(data))

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Pass ``data`` to the system; return how many bytes it accepted."""
        if self._is_postponed() or (self._send_budget is not None and self._send_budget <= 0):
            return 0  # as if the socket were full, so the loop tries again in its next turn
        sent = int(super().send(data, do_close))
        self.socket_bytes += sent
        if self._send_budget is not None:
            self._send_budget -= sent
        if sent < len(data):
            self._is_socket_full = True
        return sent

    def _flush_some(self, do_close: bool = True) -> bool:
        """Send as many bytes as the socket accepts. waitress calls this with the lock of the buffers held.

        ``do_close`` is True in the loop, and False in a worker, which wakes the loop if bytes are left.

        If stored bytes are damaged, the response ends early. The client only sees that it is incomplete, so this logs
        the reason.
        """
        self._is_socket_full = False
        self._is_worker_sending = not do_close
        try:
            has_sent = bool(super()._flush_some(do_close))
        except DamagedBytesError as error:
            LOGGER.error("a response was cut off: stored bytes are damaged", extra={"reason": error.strerror})
            raise
        finally:
            self._is_worker_sending = False
        if self._is_socket_full and isinstance(self.outbufs[0], FileBody):
            self.outbufs[0].release()
        return has_sent

    def service(self) -> None:
        """Process one request, in a worker thread."""
        self.server.thread_state.channel = self
        request = self.requests[0]
        # Set this before the response is written, because the loop may have sent all of it before service() returns.
        self._has_unread_body = any(request.has_unread_body for request in self.requests)
        with request.parkable.run():
            try:
                super().service()
            finally:
                self.server.task_dispatcher.finish(request)

    def readable(self) -> bool:
        """Return whether this connection can be read now."""
        if self._is_lingering:
            return not self.will_close
        return not self._pipelined and self._may_parse()

    def _may_parse(self) -> bool:
        return bool(super().readable()) and not (self.request is not None and self.request.is_paused)

    def handle_events(self, events: int) -> int:
        """Read if possible; the loop then calls ``advance``, which sends. Return the events that are not needed now."""
        if not events & READ:
            return 0
        if not self.readable():
            return READ
        self.handle_read()
        return 0

    def advance(self) -> None:
        """Send, close and parse pipelined bytes, as far as possible without reading. Called in the loop."""
        if self._fileno is not None and self.writable():
            self._send_budget = SEND_BYTES_PER_TURN
            self.handle_write()
            self._send_budget = None
        if self._pipelined and self._fileno is not None and self._may_parse():
            self.received(self._pipelined)

    def has_unread_bytes(self) -> bool:
        """Return whether bytes have arrived that the loop has not processed yet."""
        try:
            return bool(self._pipelined or self.socket.recv(1, socket.MSG_PEEK))
        except OSError:  # none, or the connection has failed
            return False

    def handle_read(self) -> None:
        """Read from the socket."""
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.socket_bytes += len(data)
        self.received_bytes += len(data)
        if not data:
            self.handle_close()
        elif not self._is_lingering:
            self.received(data)
        elif self._linger_room <= len(data):
            self.handle_close()
        else:
            self._linger_room -= len(data)

    def received(self, data: bytes) -> bool:
        """Parse up to the end of one request, and keep the following bytes until it has been answered.

        Thousands of tiny requests fit into one read; parsing them at once would delay all other connections.
        """
        with self.requests_lock:
            if self.will_close or self.close_when_flushed:
                return False
            start = 0
            while start < len(data) and not self.requests:
                request = self.request = self.request or self.parser_class(self.adj)
                end = len(data) if request.headers_finished else start + _PARSE_BYTES
                start += request.received(data[start:end])
                if request.expect_continue and request.headers_finished and not self.sent_continue:
                    self.send_continue()
                if request.completed:
                    self.sent_continue = False
                    self.request = None
                    self._start(request)
            self._pipelined = data[start:]
        return True

    def handle_write(self) -> None:
        """Send to the socket, or close the connection if nothing is left to send."""
        if not (self._has_unread_body and self.close_when_flushed):
            super().handle_write()
            return
        self._flush_exception(self._flush_some)
        if self.will_close:
            self.handle_close()
        elif self.connected and not self.total_outbufs_len:
            self._linger()

    def _linger(self) -> None:
        """Shut down the sending direction after the response, and then only discard what the client still sends."""
        self.close_when_flushed = False
        self._is_lingering = True
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()

    def handle_close(self) -> None:
        """Close the connection, and discard a body that was not received completely."""
        super().handle_close()
        self._pipelined = b""
        if self.request is not None:
            self.request.close()

    def del_channel(self, map: dict[int, Any] | None = None) -> None:
        """Remove the channel from the map. waitress calls this before the socket is closed."""
        if self._fileno is not None:
            self.server.limiter.remove(self)
        super().del_channel(map)

    def cancel(self) -> None:
        """Cancel a queued request because the server stops."""
        requests = self.requests
        super().cancel()
        for request in requests:
            request.parkable.end_claim()
            request.close()
