"""Remember pages that could not be rendered, and documents whose failures waste processor time."""

import math
from collections import OrderedDict
from typing import TypeVar

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import SpendingWindow
from docshare.server.pdf.engine import MISSING_REASON, UnrenderableError
from docshare.server.pdf.keys import DerivedKey

_MAX_KEYS = 10_000
_RETRY_S = 600.0
_MAX_WASTED_S = 15.0
_PAUSE_S = 60.0
_K = TypeVar("_K")


class PageFailures:
    """Pages that failed recently. The engine does not retry them on every request.

    A document is identified by ``content``, the SHA-256 of its bytes, so uploading it again does not clear its record;
    neither do its other pages. A broken page is rejected until the process exits, a slow page for ten minutes. Once
    the failures of a document have wasted 15 seconds of processor time within ten minutes, each further failure pauses
    the document for a minute. Times are monotonic seconds. Not thread-safe: the caller holds one lock around every
    call.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[tuple[str, int, int, str], float] = OrderedDict()
        self._reasons: dict[tuple[str, int, int, str], str] = {}
        self._wasted = SpendingWindow()
        self._paused: OrderedDict[str, float] = OrderedDict()

    def require_renderable(self, content: str, key: DerivedKey, now: float) -> None:
        """Raise UnrenderableError if the page is known to fail, Problem ``unavailable`` if the document is paused."""
        page = _page_key(content, key)
        if self._until.get(page, now) > now:
            raise UnrenderableError(
                "the page failed to render before", is_permanent=True, reason=self._reasons.get(page, "")
            )
        until = self._paused.get(content, now)
        if until > now:
            wait = str(math.ceil(until - now))
            raise Problem("unavailable", "Rendering this document takes too long.", headers={"Retry-After": wait})

    def remember(self, content: str, key: DerivedKey, error: UnrenderableError, now: float) -> None:
        """Record that the page of ``key`` failed with ``error``, unless its document was deleted: other files may have
        the same bytes."""
        if error.reason == MISSING_REASON:
            return
        page = _page_key(content, key)
        self._reasons[page] = error.reason
        for forgotten in _remember(self._until, page, math.inf if error.is_permanent else now + _RETRY_S):
            del self._reasons[forgotten]
        self._wasted.add(content, error.cost_s, now)
        if error.cost_s and self._wasted.total_s(content, now) >= _MAX_WASTED_S:
            _remember(self._paused, content, now + _PAUSE_S)


def _page_key(content: str, key: DerivedKey) -> tuple[str, int, int, str]:
    return (content, key.page, key.kind, key.parts)


def _remember(known: OrderedDict[_K, float], key: _K, until: float) -> list[_K]:
    """Store ``key``; return the keys that were evicted to make room."""
    known[key] = until
    known.move_to_end(key)
    return [known.popitem(last=False)[0]] if len(known) > _MAX_KEYS else []
