"""What is remembered about pages that could not be drawn (hardening M23)."""

import math
import time
from collections import OrderedDict
from dataclasses import dataclass

from docshare.contract.problems import Problem
from docshare.server.pdf.engine import Unrenderable

_MAX_KEYS = 10_000
_MAX_DOCUMENTS = 1_000
_RETRY_S = 600.0
_SLOW_S = 2.0
_STRIKES = 3
_PAUSE_S = 60.0


@dataclass(frozen=True)
class Key:
    """One derived file: ``kind`` is the pixel width of an image, or 0 for the text; ``parts`` the name of what is drawn
    over it. A derived document has neither page nor kind but ``parts``, the name of what it is made of."""

    file_uuid: str
    content_version: int
    page: int
    kind: int
    parts: str = ""

    @property
    def document(self) -> tuple[str, int]:
        """The document the page belongs to."""
        return (self.file_uuid, self.content_version)

    @property
    def name(self) -> str:
        """Its name in the cache."""
        rest = f"{self.page}-{self.kind}{self.parts}.jpg" if self.kind else f"{self.page}.json"
        if not self.page:
            rest = f"{self.parts}.pdf"
        return f"{self.file_uuid}/{self.content_version}/{rest}"


@dataclass
class Strikes:
    """Slow failures of one document in a row, and until when it is paused (monotonic seconds)."""

    count: int = 0
    until: float = 0.0


class Failures:
    """Pages that failed, so that no reader can make the engine fail on them again and again.

    A broken page is refused until the process ends or the file is forgotten, one that took too long for ten minutes.
    A document with three slow failures in a row is paused for a minute: its readers must not slow down all others.
    Not thread-safe: its owner holds one lock around every call.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[Key, float] = OrderedDict()
        self._strikes: OrderedDict[tuple[str, int], Strikes] = OrderedDict()

    def check(self, key: Key) -> None:
        """Raises Unrenderable for a page known to fail, Problem ``unavailable`` for a paused document."""
        now = time.monotonic()
        if self._until.get(key, now) > now:
            raise Unrenderable("the page could not be drawn before", lasting=True)
        strikes = self._strikes.get(key.document)
        if strikes is not None and strikes.until > now:
            wait = str(math.ceil(strikes.until - now))
            raise Problem("unavailable", "Drawing this document takes too long.", headers={"Retry-After": wait})

    def remember(self, key: Key, error: Unrenderable, seconds: float) -> None:
        """The page of ``key`` failed with ``error`` after ``seconds``."""
        now = time.monotonic()
        self._until[key] = math.inf if error.lasting else now + _RETRY_S
        if len(self._until) > _MAX_KEYS:
            self._until.popitem(last=False)
        if seconds < _SLOW_S:
            return
        strikes = self._strikes.setdefault(key.document, Strikes())
        strikes.count += 1
        if strikes.count >= _STRIKES:
            strikes.until = now + _PAUSE_S
        if len(self._strikes) > _MAX_DOCUMENTS:
            self._strikes.popitem(last=False)

    def succeeded(self, key: Key) -> None:
        """A page of the document was drawn: its strikes are forgiven."""
        self._strikes.pop(key.document, None)

    def forget(self, file_uuid: str) -> None:
        """Forget all about a file."""
        for key in [key for key in self._until if key.file_uuid == file_uuid]:
            del self._until[key]
        for document in [document for document in self._strikes if document[0] == file_uuid]:
            del self._strikes[document]
