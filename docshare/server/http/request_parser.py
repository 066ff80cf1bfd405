"""Parse one HTTP request as it arrives: first its framing, then the verdict on it, then its body.

waitress only passes on complete requests, sends its own errors as text, and stores every body before the sender is
known. This parser asks the judge when the header block is complete, and streams uploads to the store.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser, ParsingError, TransferEncodingNotImplemented

from docshare.server import faults
from docshare.server.http.fair_queue import ComputedKind
from docshare.server.http.form_writer import FormWriter
from docshare.server.http.framing import (
    TOKEN_BYTES,
    BodyTooLargeError,
    ChunkedBody,
    FixedBody,
    Framing,
    FramingError,
    parse_framing,
    parse_target_path,
)
from docshare.server.http.multipart import FileTooLargeError, FormError, FormParser, ReceivedForm, parse_boundary
from docshare.server.http.parking import ParkableRequest
from docshare.server.http.verdicts import Acceptance, ErrorRenderer, Judge, Refusal, RequestHead, Verdict
from docshare.server.store.blobs import PartialFile

LOGGER = logging.getLogger("docshare.listener")


WakeCallback = Callable[["RequestParser", Exception | None], None]


@dataclass(frozen=True)
class ListenerHooks:
    """The functions that the listener calls, and the ``headers`` of every response; ``make_server`` describes them.

    ``writer``: an executor whose only thread writes forms and may wait for the disk.
    """

    judge: Judge
    create_partial: Callable[[], PartialFile]
    render_error: ErrorRenderer
    writer: Executor
    find_client: Callable[[str, str | None], str]
    find_kind: Callable[[str, str], ComputedKind | None]
    headers: tuple[tuple[str, str], ...] = ()

    def find_verdict(self, head: RequestHead) -> Verdict:
        """Return the verdict of the judge. If the judge raises an error, return a Refusal, so that the request is never
        accepted by mistake."""
        try:
            return self.judge(head)
        except Exception as error:  # noqa: BLE001 - the sender gets an error, and the log has the reason
            return self.build_failure(error, head.path)

    def build_failure(self, error: Exception, path: str | None) -> Refusal:
        """Log ``error`` and return the response for it: 503 for a fault of the host, else 500."""
        faults.log_error(error, "a request failed")
        problem = faults.to_problem(error)
        return (
            self.build_refusal(500, path, "The server failed.")
            if problem is None
            else self.build_refusal(503, path, problem.detail)
        )

    def build_refusal(self, status: int, path: str | None, detail: str) -> Refusal:
        """Return the response for an error of the listener itself."""
        try:
            return self.render_error(status, path, detail)
        except Exception:
            LOGGER.exception("an error could not be rendered")
            return Refusal(status, [("Content-Type", "text/plain; charset=utf-8")], f"{detail}\n".encode())


class RequestParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """Parses one request.

    The channel calls ``received`` in the loop until the request is ``completed``; then a worker thread calls
    ``finish_form``. After that, ``error`` is the Refusal to send, or None if the application must run. If the body was
    a form for the store, the application gets ``form`` or ``form_error``.

    ``has_unread_body``: bytes of this request may still arrive, so the connection must end with the response.
    ``wake(request, error)`` is called from other threads once the body can be read further, or reading it has failed.
    """

    error: Refusal | None
    parkable: ParkableRequest  # set by the channel when it passes the request to a worker

    def __init__(self, adj: Any, hooks: ListenerHooks, peer: str, wake: WakeCallback) -> None:
        super().__init__(adj)
        self.hooks = hooks
        self.peer = peer
        self.version = "1.1"
        self.command = ""
        # waitress logs it when a client disconnects, even if the request was rejected before its path was parsed.
        self.path = ""
        self.form: ReceivedForm | None = None
        self.form_error: str | None = None
        self.has_unread_body = False
        self._wake = wake
        self._is_closed = False
        self._head = bytearray()
        self._body: FixedBody | ChunkedBody | None = None
        self._writer: FormWriter | None = None
        self._buffer: OverflowableBuffer | None = None
        self._too_large: Refusal | None = None

    @property
    def is_paused(self) -> bool:
        """Return whether reading must pause, because too many bytes of the body wait for the disk."""
        return self._writer is not None and self._writer.is_paused

    @property
    def is_upload(self) -> bool:
        """Return whether the body is streamed into the store."""
        return self._writer is not None

    def received(self, data: bytes) -> int:
        """Consume the part of ``data`` that belongs to this request; return its length."""
        if self.completed:
            return 0
        if self._is_closed:
            return len(data)
        try:
            used = self._receive_head(data) if self._body is None else self._receive_body(data)
        except Exception as error:  # noqa: BLE001 - _set_error logs what the sender has not caused
            self.stop(error)
        # Bytes after a rejected request belong to it and are never parsed as another request.
        return len(data) if self.has_unread_body else used

    def stop(self, error: Exception) -> None:
        """Set the response for ``error``, and read no more of the body."""
        self._set_error(error)
        self._end_early()

    def finish_form(self) -> None:
        """Wait until the form is written, so that ``form``, ``form_error`` and ``error`` are final."""
        if self._writer is not None and not self.has_unread_body:
            try:
                self.form = self._writer.finish()
            except Exception as error:  # noqa: BLE001 - _set_error logs what the sender has not caused
                self._set_error(error)

    def _set_error(self, error: Exception) -> None:
        """Set ``error``, or ``form_error`` for an invalid form, and log errors that the sender has not caused."""
        match error:
            case FormError():
                self.form_error = str(error)
            case FileTooLargeError() | BodyTooLargeError():
                self.error = self._too_large or self.build_refusal(413, "The body is larger than allowed.")
            case FramingError():
                self.error = self.build_refusal(error.status, error.detail)
            case ParsingError() | TransferEncodingNotImplemented():
                self.error = self.build_refusal(400, "The header block is malformed.")
            case OSError():
                faults.log_error(error, "a body cannot be stored")
                self.error = self.build_refusal(503, "The server cannot store the body now.")
            case _:
                faults.log_error(error, "a request cannot be received")
                self.error = self.build_refusal(500, "The server failed while it received the request.")

    def _end_early(self) -> None:
        """End the request before its body has been read."""
        self.has_unread_body = True
        self.completed = True
        self.expect_continue = False
        self.headers_finished = True
        self.close()

    def build_refusal(self, status: int, detail: str) -> Refusal:
        """Return an error response for the path of this request, if it could be read."""
        return self.hooks.build_refusal(status, parse_target_path(bytes(self._head)), detail)

    def build_failure(self, error: Exception) -> Refusal:
        """Log ``error``, which the application raised, and return the response for it."""
        return self.hooks.build_failure(error, parse_target_path(bytes(self._head)))

    def get_body_stream(self) -> Any:
        """Return ``wsgi.input``: the body from its beginning, also if the request runs again after it was parked. It is
        empty if the body was written to the store."""
        if self._buffer is None:
            return BytesIO()
        body = self._buffer.getfile()
        body.seek(0)
        return body

    def close(self) -> None:
        """Remove the data of the request, except files that were kept. May be called twice."""
        self._is_closed = True
        if self._writer is not None:
            self._writer.discard()
        if self._buffer is not None:
            self._buffer.close()

    def _receive_head(self, data: bytes) -> int:
        head, old_size = self._head, len(self._head)
        head += data
        # A client may send a line break before its request (RFC 9112).
        skipped = 2 if head.startswith(b"\r\n") else 0
        del head[:skipped]
        if head and head[0] not in TOKEN_BYTES and head != b"\r":
            raise FramingError(400, "The request line is malformed.")
        start = max(0, old_size - skipped)
        # A search for one byte is 20 times as fast as one for several, and the line of an attacker may never end.
        has_line_end = head.find(b"\n", start) >= 0
        end = head.find(b"\r\n\r\n", max(0, start - 3)) if has_line_end else -1
        if (end if end >= 0 else len(head)) > self.adj.max_request_header_size:
            raise FramingError(431, "The request headers are too long.")
        if end < 0:
            # Counted without a regular expression, which takes a millisecond for a long block.
            if has_line_end and head.count(b"\n", start) > head.count(b"\r\n", max(0, start - 1)):
                raise FramingError(400, "A line of the request does not end in CR LF.")
            return len(data)
        block = bytes(head[: end + 4])
        del head[end + 4 :]
        self.headers_finished = True
        self._begin(block)
        return end + 4 + skipped - old_size

    def _begin(self, block: bytes) -> None:
        """Check the complete header block, get the verdict, and prepare to receive the body."""
        framing = parse_framing(block)
        self.parse_header(framing.normalized_head)
        self.body_rcv = None  # the receivers of this module are used instead
        verdict = self.hooks.find_verdict(self._build_head(framing))
        has_body = framing.is_chunked or bool(framing.content_length)
        if isinstance(verdict, Refusal):
            self.error = verdict
            if has_body:
                self._end_early()
        elif has_body:
            self._begin_body(framing, verdict)
        if not has_body:
            self.completed = True
            self.expect_continue = False

    def _build_head(self, framing: Framing) -> RequestHead:
        path: str = self.path
        return RequestHead(
            method=self.command,
            # The same text as PATH_INFO, so that the judge and the application match the same route.
            path="/" + path.lstrip("/") if path.startswith("/") else path,
            headers={name.lower().replace("_", "-"): value for name, value in self.headers.items()},
            content_length=framing.content_length,
            is_chunked=framing.is_chunked,
            peer=self.peer,
            query=self.query,
        )

    def _begin_body(self, framing: Framing, acceptance: Acceptance) -> None:
        limit = min(acceptance.max_body, self.adj.max_request_body_size)
        self._too_large = acceptance.on_too_large
        if (framing.content_length or 0) > limit:
            raise BodyTooLargeError
        if acceptance.stores_files:
            boundary = parse_boundary(self.headers.get("CONTENT_TYPE", ""))
            form = FormParser(boundary, self.hooks.create_partial, acceptance.max_file)
            self._writer = FormWriter(form, self.hooks.writer, partial(self._wake, self))
            sink = self._writer.feed
        elif acceptance.discards_body:
            sink = _discard_block
        else:
            self._buffer = OverflowableBuffer(self.adj.inbuf_overflow)
            sink = self._buffer.append
        self._body = ChunkedBody(limit, sink) if framing.is_chunked else FixedBody(framing.content_length or 0, sink)

    def _receive_body(self, data: bytes) -> int:
        body = self._body
        assert body is not None
        used = body.receive(data)
        if body.is_complete:
            self.completed = True
            # The bytes of a form are in the store, so the application has nothing to read.
            self.headers["CONTENT_LENGTH"] = "0" if self._writer is not None else str(body.size)
        return used


def _discard_block(block: bytes) -> None:
    """Discard a block of the body. ``ChunkedBody`` or ``FixedBody`` has already counted it."""
