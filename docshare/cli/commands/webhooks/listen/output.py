"""Print and save the deliveries of ``docshare webhooks listen``."""

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.webhooks.listen.rows import DELIVERY_SPEC, render_delivery
from docshare.cli.local.storage import write_error
from docshare.contract.webhooks import ATTEMPT_HEADER, EVENT_HEADER, ID_HEADER
from docshare.contract.wire import format_instant

if TYPE_CHECKING:
    from docshare.cli.commands.webhooks.listen.forward import ForwardResult
    from docshare.cli.framework.context import Context

Row = dict[str, Any]


@dataclass(frozen=True)
class ReceivedDelivery:
    """One delivery. ``received_at`` is in milliseconds; ``headers`` and ``body`` are unchanged; ``flaw`` says why the
    signature is invalid, or is empty."""

    received_at: int
    headers: Mapping[str, str]
    body: bytes
    signature_error: str = ""

    def find_header(self, name: str) -> str:
        """Return the value of a header, ignoring case, or an empty string."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")

    @property
    def kind(self) -> str:
        """Return the kind of event, preferably from the body because the header is not signed."""
        return str(self._envelope.get("event") or self.find_header(EVENT_HEADER))

    @property
    def attempt(self) -> int:
        """Return the number of the attempt, from 1."""
        text = self.find_header(ATTEMPT_HEADER)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1

    def row(self, forwards: "Sequence[ForwardResult]", answer: int | None) -> Row:
        """Return the row to print. ``answer`` is the status sent to the server, or None when bridging."""
        data = self._envelope.get("data")
        row = {
            "receivedAt": format_instant(self.received_at),
            "kind": self.kind,
            "fileName": data.get("fileName") if isinstance(data, Mapping) else None,
            "verified": not self.signature_error,
            "flaw": self.signature_error or None,
            "id": self.find_header(ID_HEADER) or None,
            "attempt": self.attempt,
            "answer": answer,
            "body": self.body.decode("utf-8", "replace"),
            "forwards": [forward.row() for forward in forwards],
        }
        return {key: value for key, value in row.items() if value is not None}

    @cached_property
    def _envelope(self) -> Mapping[str, Any]:
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, Mapping) else {}


class Journal:
    """Prints deliveries and appends them to a file, if any. Thread-safe."""

    def __init__(self, context: "Context", *, beside: bool, file: int | None) -> None:
        self._ctx = context
        self._printer = context.emitter(DELIVERY_SPEC)
        self._beside = beside
        self._file = file
        self._lock = threading.Lock()

    def add(self, row: Row) -> None:
        """Print and save a delivery. Raise the error of a full disk or a closed pipe."""
        with self._lock:
            if self._file is not None:
                _append(self._file, json.dumps(row, ensure_ascii=False).encode() + b"\n")
            if self._beside:
                self._ctx.err_raw("".join(f"{line}\n" for line in render_delivery(row, self._ctx)))
            else:
                self._printer.emit_row(row)


@contextmanager
def open_journal(context: "Context", save: Path | None, *, beside: bool) -> Iterator[Journal]:
    """Open a journal that also appends JSON lines to the file ``save``, if given.

    ``beside`` prints lines for people to standard error, because standard output is used otherwise. Raise Stop (2) if
    the file cannot be written.
    """
    if save is None:
        yield Journal(context, beside=beside, file=None)
        return
    try:
        file = os.open(save, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise write_error(save, error) from error
    try:
        yield Journal(context, beside=beside, file=file)
    finally:
        os.close(file)


def _append(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]
