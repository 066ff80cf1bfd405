"""Pages that could not be drawn, and documents that waste the time of the workers."""

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import SpendingWindow
from docshare.server.pdf.engine import UnrenderableError

_MAX_KEYS = 10_000
_RETRY_S = 600.0
_MAX_WASTED_S = 15.0
_PAUSE_S = 60.0
_K = TypeVar("_K")


@dataclass(frozen=True)
class DerivedKey:
    """One derived file: ``kind`` is the pixel width of an image, or 0 for the text; ``parts`` the name of what is drawn
    over it. A derived document has neither page nor kind but ``parts``, the name of what it is made of."""

    file_uuid: str
    content_version: int
    page: int
    kind: int
    parts: str = ""

    @property
    def name(self) -> str:
        """Its name in the cache."""
        rest = f"{self.page}-{self.kind}{self.parts}.jpg" if self.kind else f"{self.page}.json"
        if not self.page:
            rest = f"{self.parts}.pdf"
        return f"{self.file_uuid}/{self.content_version}/{rest}"


class PageFailures:
    """Pages that failed, so that no reader can make the engine fail on them again and again.

    A document is known by its ``content``, the SHA-256 of its bytes, so another upload of them changes nothing, and
    neither do its pages that can be drawn. A broken page is refused until the process ends, one that took too long for
    ten minutes. A document whose failures have wasted 15 seconds of processor time within ten minutes is paused for a
    minute after each further one. Times are monotonic seconds. Not thread-safe: its owner holds one lock around every
    call.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[tuple[str, int, int, str], float] = OrderedDict()
        self._reasons: dict[tuple[str, int, int, str], str] = {}
        self._wasted = SpendingWindow()
        self._paused: OrderedDict[str, float] = OrderedDict()

    def check(self, content: str, key: DerivedKey, now: float) -> None:
        """Raises Unrenderable for a page known to fail, Problem ``unavailable`` for a paused document."""
        page = _page_key(content, key)
        if self._until.get(page, now) > now:
            raise UnrenderableError(
                "the page could not be drawn before", lasting=True, reason=self._reasons.get(page, "")
            )
        until = self._paused.get(content, now)
        if until > now:
            wait = str(math.ceil(until - now))
            raise Problem("unavailable", "Drawing this document takes too long.", headers={"Retry-After": wait})

    def remember(self, content: str, key: DerivedKey, error: UnrenderableError, now: float) -> None:
        """The page of ``key`` failed with ``error``."""
        page = _page_key(content, key)
        self._reasons[page] = error.reason
        for forgotten in _remember(self._until, page, math.inf if error.lasting else now + _RETRY_S):
            del self._reasons[forgotten]
        self._wasted.add(content, error.cost_s, now)
        if error.cost_s and self._wasted.total(content, now) >= _MAX_WASTED_S:
            _remember(self._paused, content, now + _PAUSE_S)


def _page_key(content: str, key: DerivedKey) -> tuple[str, int, int, str]:
    return (content, key.page, key.kind, key.parts)


def _remember(known: OrderedDict[_K, float], key: _K, until: float) -> list[_K]:
    """Remember ``key``; returns what was forgotten for it."""
    known[key] = until
    known.move_to_end(key)
    return [known.popitem(last=False)[0]] if len(known) > _MAX_KEYS else []
