"""Logs on stderr, as text or as JSON lines. Route templates are logged, never addresses: a link id is a capability."""

import json
import logging
import os
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from docshare.contract.wire import format_instant

LOGGER = logging.getLogger("docshare")
_JSON_ONLY_KEYS = ("client", "account")  # who asked: in the lines that other programs search, not on a terminal
_FLUSH_DELAY_SECONDS = 0.05
_STANDARD_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    return {
        key: value for key, value in record.__dict__.items() if key not in _STANDARD_ATTRIBUTES and value is not None
    }


class TextFormatter(logging.Formatter):
    """``2026-01-31T09:00:00.000Z info  message key=value``"""

    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {key}={value}" for key, value in _extra_fields(record).items() if key not in _JSON_ONLY_KEYS)
        line = (
            f"{format_instant(int(record.created * 1000))} {record.levelname.lower():<7} {record.getMessage()}{facts}"
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One object a line: ``time``, ``level``, ``message`` and the facts of the record."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": format_instant(int(record.created * 1000)), "level": record.levelname.lower()}
        line |= {"message": record.getMessage(), **_extra_fields(record)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class BufferedHandler(logging.Handler):
    """Writes lines to ``descriptor``: warnings and errors right away, those of requests a moment later and many at
    once.

    A thread that writes gives up the interpreter and waits for its turn again; once in each request, that made a busy
    server a third slower.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._pending_lines: deque[bytes] = deque()
        self._write_lock = threading.Lock()
        self._wake_event = threading.Event()
        threading.Thread(target=self._flush_periodically, name="log", daemon=True).start()

    def createLock(self) -> None:  # noqa: N802  # the name is logging's
        """Formatting and queueing a line need none."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        """Called by logging, from any thread."""
        self._pending_lines.append(f"{self.format(record)}\n".encode(errors="backslashreplace"))
        if record.levelno >= logging.WARNING:
            self.flush()
        elif not self._wake_event.is_set():
            self._wake_event.set()

    def flush(self) -> None:
        """Write what waits; logging calls it when the process ends."""
        with self._write_lock, suppress(OSError):  # nobody reads the log any more, or the disk is full: requests go on
            block = b"".join(self._pending_lines.popleft() for _ in range(len(self._pending_lines)))
            while block:
                block = block[os.write(self._descriptor, block) :]

    def _flush_periodically(self) -> None:
        while self._wake_event.wait():
            time.sleep(_FLUSH_DELAY_SECONDS)
            self._wake_event.clear()
            self.flush()


def configure_logging(shape: str, *, access: bool = True, descriptor: int | None = None) -> None:
    """Send the program's log in ``shape`` (``text`` or ``json``) to ``descriptor``, stderr by default.

    ``access=False`` leaves requests out.
    """
    # No line names a thread or a process, and looking them up is a third of what a line costs.
    logging._srcfile = None  # nor the place in the code (the logging manual's own advice)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = BufferedHandler(sys.stderr.fileno() if descriptor is None else descriptor)
    handler.setFormatter(JsonFormatter() if shape == "json" else TextFormatter())
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO if access else logging.WARNING)
    LOGGER.propagate = False
    # waitress reports client disconnects and slow queues here; its errors carry no request data.
    listener = logging.getLogger("waitress")
    listener.handlers[:] = [handler]
    listener.setLevel(logging.ERROR)
    listener.propagate = False
