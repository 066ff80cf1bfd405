"""Logs on stderr, as text or as JSON lines. Route templates are logged, never paths: a link id is a capability."""

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
_JSON_ONLY_KEYS = ("client", "account")  # the client: in lines for other programs, not on a terminal
_FLUSH_DELAY_SECONDS = 0.05
_BLOCK_BYTES = 4096  # PIPE_BUF of Linux: writes of other processes are never mixed into such a block
_STANDARD_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    return {
        key: value for key, value in record.__dict__.items() if key not in _STANDARD_ATTRIBUTES and value is not None
    }


class TextFormatter(logging.Formatter):
    """Formats lines as ``2026-01-31T09:00:00.000Z info  message key=value``."""

    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {key}={value}" for key, value in _extra_fields(record).items() if key not in _JSON_ONLY_KEYS)
        line = (
            f"{format_instant(int(record.created * 1000))} {record.levelname.lower():<7} {record.getMessage()}{facts}"
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """Formats one object per line: ``time``, ``level``, ``message`` and the fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": format_instant(int(record.created * 1000)), "level": record.levelname.lower()}
        line |= {"message": record.getMessage(), **_extra_fields(record)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _ProcessName(logging.Filter):
    """Adds the name of this process to every line, as ``instance``."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.instance = self.name
        return True


class BufferedHandler(logging.Handler):
    """Writes lines to ``descriptor``: warnings and errors immediately, those of requests a moment later and many at
    once.

    A thread that writes releases the interpreter and waits to get it again; once per request, that made a busy server
    a third slower.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._pending_lines: deque[bytes] = deque()
        self._write_lock = threading.Lock()
        self._wake_event = threading.Event()
        threading.Thread(target=self._flush_periodically, name="log", daemon=True).start()

    def createLock(self) -> None:  # noqa: N802  # the name is logging's
        """Do nothing: formatting and queueing a line need no lock."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record. logging calls this from any thread."""
        self._pending_lines.append(f"{self.format(record)}\n".encode(errors="backslashreplace"))
        if record.levelno >= logging.WARNING:
            self.flush()
        elif not self._wake_event.is_set():
            self._wake_event.set()

    def flush(self) -> None:
        """Write the queued lines; logging calls this when the process ends."""
        with self._write_lock, suppress(OSError):  # stderr is closed, or the disk is full: requests continue
            while block := self._take_block():
                while block:
                    block = block[os.write(self._descriptor, block) :]

    def _take_block(self) -> bytes:
        """Remove complete lines from the queue, as many as fit into a block, and return them."""
        block = b""
        while self._pending_lines and (not block or len(block) + len(self._pending_lines[0]) <= _BLOCK_BYTES):
            block += self._pending_lines.popleft()
        return block

    def _flush_periodically(self) -> None:
        while self._wake_event.wait():
            time.sleep(_FLUSH_DELAY_SECONDS)
            self._wake_event.clear()
            self.flush()


def configure_logging(
    shape: str, *, access: bool = True, descriptor: int | None = None, process_name: str = ""
) -> None:
    """Send the program's log in ``shape`` (``text`` or ``json``) to ``descriptor``, stderr by default.

    ``access=False`` omits requests. ``process_name``: added to every line, if several processes write to one log.
    """
    # No line contains a thread or a process, and looking them up takes a third of the time of a line.
    logging._srcfile = None  # nor the position in the code (recommended by the logging manual)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = BufferedHandler(sys.stderr.fileno() if descriptor is None else descriptor)
    handler.setFormatter(JsonFormatter() if shape == "json" else TextFormatter())
    if process_name:
        handler.addFilter(_ProcessName(process_name))
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO if access else logging.WARNING)
    LOGGER.propagate = False
    logging.lastResort = handler  # warnings of libraries, such as those of the pool of connections to PostgreSQL
    # waitress reports client disconnects and slow queues here; its errors carry no request data.
    listener = logging.getLogger("waitress")
    listener.handlers[:] = [handler]
    listener.setLevel(logging.ERROR)
    listener.propagate = False
