"""Parse forms and write their files outside the loop, so that a slow disk does not delay other requests."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor

from docshare.server.http.multipart import FormParser, ReceivedForm

MAX_PENDING_BYTES = 2 * 1024 * 1024
"""If this many bytes of one form wait for the disk, the listener stops reading its connection."""
RESUME_PENDING_BYTES = 512 * 1024
"""It reads on once at most this many bytes wait. If both limits were equal, the loop would wake up for each block."""


class FormWriter:
    """Passes blocks of a form to ``parser`` in the thread of ``writer``, one after the other.

    ``is_paused``: too many bytes are queued, so the listener must not read on. ``wake`` is called in the thread of
    ``writer``: with None when the listener can read on, with the error if the form fails. Later blocks are discarded.
    """

    def __init__(self, parser: FormParser, writer: Executor, wake: Callable[[Exception | None], None]) -> None:
        self._parser = parser
        self._writer = writer
        self._wake = wake
        self._blocks: deque[bytes] = deque()
        self._pending_bytes = 0
        self._is_running = False
        self._is_discarded = False
        self.is_paused = False
        self._condition = threading.Condition()
        self.error: Exception | None = None

    def feed(self, block: bytes) -> None:
        """Queue ``block`` and return at once."""
        with self._condition:
            if self.error is not None or self._is_discarded:
                return
            self._blocks.append(block)
            self._pending_bytes += len(block)
            self.is_paused = self.is_paused or self._pending_bytes >= MAX_PENDING_BYTES
            if not self._is_running:
                self._is_running = True
                self._writer.submit(self._drain)

    def finish(self) -> ReceivedForm:
        """Wait until everything is written; return the complete form or raise the error of writing it."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_running)
        if self.error is not None:
            raise self.error
        return self._parser.finish()

    def discard(self) -> None:
        """Remove the files of the form that were not kept: now, or when the running write has ended."""
        with self._condition:
            self._is_discarded = True
            self._blocks.clear()
            if self._is_running:
                return
        self._parser.discard()

    def _drain(self) -> None:
        """Write the queued blocks, then yield the thread to other forms."""
        for _ in range(len(self._blocks)):
            self._write_one()
        with self._condition:
            if self._blocks:
                self._writer.submit(self._drain)
                return
            self._is_running = False
            self._condition.notify_all()
            is_discarded = self._is_discarded
        if is_discarded:
            self._parser.discard()

    def _write_one(self) -> None:
        with self._condition:
            if not self._blocks:
                return
            block = self._blocks.popleft()
        try:
            self._parser.feed(block)
        except Exception as error:  # noqa: BLE001 - raised again by finish, or passed to wake
            self.error = error
        with self._condition:
            self._pending_bytes -= len(block)
            if self.error is not None:
                self._blocks.clear()
                self._pending_bytes = 0
            may_resume = self.is_paused and self._pending_bytes <= RESUME_PENDING_BYTES
            self.is_paused = self.is_paused and not may_resume
        if self.error is not None or may_resume:
            self._wake(self.error)
