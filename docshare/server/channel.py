"""One connection of the listener: answers, refusals, and closing so that the other side can read them."""

import logging
import socket
import time
from functools import partial
from http.client import responses
from typing import Any

from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.task import Task, WSGITask

from docshare.server.multipart import FORM, FORM_ERROR
from docshare.server.request_parser import RequestParser
from docshare.server.verdicts import Refuse

LOGGER = logging.getLogger("docshare.listener")
LINGER_SECONDS = 2.0
LINGER_BYTES = 512 * 1024
"""How much more of a refused body is thrown away so that its sender gets to read the answer: closing at once would
make the kernel send a reset, and that may destroy the answer on its way."""


class _Marking:
    """Puts the headers of the whole server on an answer, whoever drew it."""

    channel: Any
    response_headers: list[tuple[str, str]]

    def build_response_header(self) -> bytes:
        """Called once for each answer."""
        self.response_headers.extend(self.channel.server.hooks.headers)
        header: bytes = super().build_response_header()  # type: ignore[misc]  # of the task beside it
        return header


class RefusalTask(_Marking, Task):  # type: ignore[misc]  # waitress has no types
    """Sends the answer of a request that the application never sees."""

    complete = True

    def execute(self) -> None:
        """Called by waitress in a worker thread."""
        if self.request.unread:
            self.set_close_on_finish()
        error = self.request.error
        # waitress puts an error of its own here when an answer could not be written into a header block.
        _answer(self, error if isinstance(error, Refuse) else self.request.draw(500, "The server failed."))


class ApplicationTask(_Marking, WSGITask):  # type: ignore[misc]
    """Runs the application, with the form of an upload in its environment."""

    wrote_header: bool

    def start(self) -> None:
        """Called by waitress before ``execute``."""
        super().start()
        if self.request.unread or self.channel.server.stopping:
            self.set_close_on_finish()

    def get_environment(self) -> dict[str, Any]:
        """The WSGI environment, with the form or what is wrong with it."""
        environ: dict[str, Any] = super().get_environment()
        if self.request.form is not None:
            environ[FORM] = self.request.form
        if self.request.form_error is not None:
            environ[FORM_ERROR] = self.request.form_error
        return environ

    def execute(self) -> None:
        """Called by waitress in a worker thread."""
        # waitress itself would log the address of a request that fails, and an address holds link ids.
        try:
            self.request.settle()
            if self.request.error is None:
                super().execute()
            else:
                self.complete = True
                _answer(self, self.request.error)
        except ClientDisconnected:
            self.close_on_finish = True
        except Exception:
            LOGGER.exception("the application failed")
            if not self.wrote_header:
                self.complete = True
                self.response_headers.clear()
                self.set_close_on_finish()
                _answer(self, self.request.draw(500, "The server failed."))
            self.close_on_finish = True

    def write(self, data: bytes) -> None:
        """Called by waitress with each block of the body.

        The header block goes out with the first of them: a small answer that takes two sends makes its thread give up
        the interpreter twice, and its reader wake up twice.
        """
        if data and self.has_body and self.complete and not self.wrote_header:
            self.channel.held = self.build_response_header()
            self.wrote_header = True
        super().write(data)
        if self.channel.held:  # nothing of the block was sent, for the header promises no bytes
            self.channel.write_soon(b"")


def _answer(task: Task, refuse: Refuse) -> None:
    # The path stays out of the log: it may hold link ids.
    request_id = next((value for name, value in refuse.headers if name == "X-Request-Id"), None)
    facts = {"method": task.request.command or None, "status": refuse.status, "request": request_id}
    LOGGER.info("refused", extra=facts)
    task.status = f"{refuse.status} {responses.get(refuse.status, 'Refused')}"
    task.response_headers.extend(refuse.headers)
    task.content_length = len(refuse.body)
    task.write(b"" if task.request.command == "HEAD" else refuse.body)


class Channel(HTTPChannel):  # type: ignore[misc]
    """``server`` is the Listener that accepted the connection; ``held`` the header block that waits for its body."""

    task_class = ApplicationTask
    error_task_class = RefusalTask
    request: RequestParser | None = None

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: dict[int, Any]) -> None:
        self.parser_class = partial(RequestParser, hooks=server.hooks, peer=addr[0], wake=self.wake)
        self._unread = False
        self._linger_until: float | None = None
        self._linger_room = LINGER_BYTES
        self.held = b""
        super().__init__(server, sock, addr, adj, map=map)

    @property
    def busy(self) -> bool:
        """Whether a request is being received, runs, or is still being answered."""
        receiving = self.request is not None and self.request.headers_finished
        return bool(self.requests or self.total_outbufs_len or receiving or self._linger_until)

    def wake(self, request: RequestParser, error: Exception | None) -> None:
        """Called from any thread: the body of ``request`` can be read on, or has failed with ``error``."""
        self.server.pull_trigger(None if error is None else partial(self._fail, request, error))

    def _fail(self, request: RequestParser, error: Exception) -> None:
        """In the loop: answer now, although the sender may go on sending or wait."""
        with self.requests_lock:
            if self.request is not request:
                return  # all of it has arrived meanwhile, so it is answered anyway
            request.stop(error)
            self.request = None
            self.requests.append(request)
            if len(self.requests) == 1:
                self.server.add_task(self)

    def write_soon(self, data: Any) -> int:
        """Send bytes, or a file, after what was ``held`` back; returns how many."""
        if self.held:
            data, self.held = self.held + data, b""
        return int(super().write_soon(data))

    def service(self) -> None:
        """Answer one request, in a worker thread."""
        # Read before the answer is written: the loop may see all of it sent before this returns.
        self._unread = any(request.unread for request in self.requests)
        super().service()

    def readable(self) -> bool:
        """Asked before every round of the loop."""
        if self._linger_until is None:
            return bool(super().readable()) and not (self.request is not None and self.request.held_up)
        if time.monotonic() > self._linger_until:
            self.will_close = True
        return not self.will_close

    def handle_read(self) -> None:
        """The socket has bytes."""
        if self._linger_until is None:
            super().handle_read()
            return
        self._linger_room -= len(self.recv(64 * 1024))
        if self._linger_room <= 0:
            self.handle_close()

    def handle_write(self) -> None:
        """The socket takes bytes, or the connection is to be closed."""
        if not (self._unread and self.close_when_flushed):
            super().handle_write()
            return
        self._flush_exception(self._flush_some)
        if self.will_close:
            self.handle_close()
        elif self.connected and not self.total_outbufs_len:
            self._linger()

    def _linger(self) -> None:
        """The answer is sent: say so, and let the sender notice while some of its body is thrown away."""
        self.close_when_flushed = False
        self._linger_until = time.monotonic() + LINGER_SECONDS
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()

    def handle_close(self) -> None:
        """The connection is gone: a body that was still arriving is gone too."""
        super().handle_close()
        if self.request is not None:
            self.request.close()

    def cancel(self) -> None:
        """The server stops before a queued request has run."""
        requests = self.requests
        super().cancel()
        for request in requests:
            request.close()
