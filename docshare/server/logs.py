"""Logs on stderr, as text or as JSON lines. Route templates are logged, never addresses: a link id is a capability."""

import json
import logging
import sys
from typing import Any

from docshare.contract.wire import instant

LOGGER = logging.getLogger("docshare")
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD and value is not None}


class TextLines(logging.Formatter):
    """``2026-01-31T09:00:00.000Z info  message key=value``"""

    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {key}={value}" for key, value in _extras(record).items())
        line = f"{instant(int(record.created * 1000))} {record.levelname.lower():<7} {record.getMessage()}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One object a line: ``time``, ``level``, ``message`` and the facts of the record."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": instant(int(record.created * 1000)), "level": record.levelname.lower()}
        line |= {"message": record.getMessage(), **_extras(record)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(shape: str, *, access: bool = True) -> None:
    """Send the program's log to stderr in ``shape`` (``text`` or ``json``); ``access=False`` leaves requests out."""
    # No line names a thread or a process, and looking them up is a third of what a line costs.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if shape == "json" else TextLines())
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO if access else logging.WARNING)
    LOGGER.propagate = False
    # waitress reports client disconnects and slow queues here; its errors carry no request data.
    listener = logging.getLogger("waitress")
    listener.handlers[:] = [handler]
    listener.setLevel(logging.ERROR)
    listener.propagate = False
