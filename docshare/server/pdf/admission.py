"""Who may have a document inspected now: a few at a time, and never again what has just cost a worker (M23).

An inspection holds a thread of the server while it lasts. Documents made to stall could hold them all.
"""

import contextlib
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docshare.contract.problems import Problem

_PLACES = 2  # inspections at a time
_WAITING = 2  # callers who may wait for a place whatever happens
_STUCK_S = 0.5  # an ordinary inspection takes milliseconds
_PATIENCE_S = 1.0
_LONGEST_S = 30.0
_CAUTION_S = 60.0
_MAX_DOCUMENTS = 1_000
_RETRY_S = 600.0

Print = tuple[int, str]  # bytes and SHA-256 of a document


@dataclass(eq=False)
class Turn:
    """One inspection: ``since`` when it began (monotonic seconds), infinite while its worker is being started."""

    since: float

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Around the start of a worker: that takes long on a busy machine, and is not the document's fault."""
        self.since = float("inf")
        try:
            yield
        finally:
            self.since = time.monotonic()


class Turns:
    """Two inspections at a time. Thread-safe.

    Bursts wait for their turn; once both inspections stall, or did within the last minute, only two callers may wait.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: list[Turn] = []
        self._waiting = 0
        self._careful_until = 0.0

    @contextlib.contextmanager
    def taken(self) -> Iterator[Turn]:
        """A turn, given back afterwards. Raises Problem ``unavailable``."""
        turn = self._wait()
        try:
            yield turn
        finally:
            with self._changed:
                self._inside.remove(turn)
                self._changed.notify_all()

    def _wait(self) -> Turn:
        start = patient_since = time.monotonic()
        with self._changed:
            self._waiting += 1
            try:
                while len(self._inside) >= _PLACES:
                    now = time.monotonic()
                    if any(turn.since > now for turn in self._inside):
                        patient_since = now
                    crowded = self._waiting > _WAITING and (self._careful(now) or now - patient_since > _PATIENCE_S)
                    if crowded or now - start > _LONGEST_S:
                        detail = "Too many documents are being inspected at the moment."
                        raise Problem("unavailable", detail, headers={"Retry-After": "2"})
                    self._changed.wait(0.1)
                turn = Turn(time.monotonic())
                self._inside.append(turn)
                return turn
            finally:
                self._waiting -= 1

    def _careful(self, now: float) -> bool:
        """Whether all turns stall, or did within the last minute: who stalls them once comes back."""
        if all(now - turn.since > _STUCK_S for turn in self._inside):
            self._careful_until = now + _CAUTION_S
        return now < self._careful_until


class Hopeless:
    """Documents that crashed or stalled the engine within the last ten minutes, known by their bytes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: OrderedDict[Print, float] = OrderedDict()

    def holds(self, path: Path) -> bool:
        """Whether the file at ``path`` is one of them. It is read only if one of them has its size."""
        now = time.monotonic()
        with contextlib.suppress(OSError):
            size = path.stat().st_size
            with self._lock:
                alike = any(known[0] == size and until > now for known, until in self._until.items())
            if alike:
                mark = _print(path)
                with self._lock:
                    return self._until.get(mark, now) > now
        return False

    def add(self, path: Path) -> None:
        """Remember the file at ``path``."""
        with contextlib.suppress(OSError):
            mark = _print(path)
            with self._lock:
                self._until[mark] = time.monotonic() + _RETRY_S
                self._until.move_to_end(mark)
                if len(self._until) > _MAX_DOCUMENTS:
                    self._until.popitem(last=False)


def _print(path: Path) -> Print:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest
