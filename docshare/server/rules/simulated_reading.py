"""The beacons of a simulated reader (``docshare trigger``): the same as a browser sends. Pure.

The page is open for a moment before reading starts, so that the session is never a short one and counts however often
it is repeated. The pages are read in order, each for the same time; then the page is hidden.
"""

from dataclasses import dataclass
from typing import Any

from docshare.server.rules import reading

FIRST_BEACON_MS = reading.SHORT_MS  # between opening the page and reading it
_BEACON_INTERVAL_MS = 30_000  # reading time per beacon; at a second or more per page it has few pages
MIN_PAGE_MS = 1_000


@dataclass(frozen=True)
class ScheduledBeacon:
    """One beacon without its token, sent ``after_ms`` after the page was opened."""

    after_ms: int
    body: dict[str, Any]


def plan_beacons(pages: int, time_ms: int) -> list[ScheduledBeacon]:
    """Return the beacons of somebody who reads the first ``pages`` pages in ``time_ms`` and leaves.

    Before that, the page is open for ``FIRST_BEACON_MS``. Each page takes at least ``MIN_PAGE_MS``, the time from
    which a page counts as seen.
    """
    chunks: list[list[dict[str, int]]] = [[], []]
    for page in range(1, pages + 1):
        left, fresh = time_ms // pages + (page <= time_ms % pages), 1
        while left:
            part = min(left, _BEACON_INTERVAL_MS - _total_ms(chunks[-1]))
            if not part:
                chunks.append([])
                continue
            chunks[-1].append({"page": page, "ms": part, "views": fresh, "back": 0})
            left, fresh = left - part, 0
    return list(_build_beacons(chunks))


def _build_beacons(chunks: list[list[dict[str, int]]]) -> list[ScheduledBeacon]:
    sent: list[ScheduledBeacon] = []
    after = 0
    for seq, chunk in enumerate(chunks):
        after += _total_ms(chunk) + (FIRST_BEACON_MS if seq == 1 else 0)
        turns = sum(page["views"] for page in chunk) - (seq == 1)  # the first page is not turned to
        body = {
            "part": 0,
            "seq": seq,
            "ageMs": after,
            "visible": seq < len(chunks) - 1,
            "visibleMs": _total_ms(chunk),
            "input": seq > 0,
            "turns": turns,
            "backTurns": 0,
            "pages": chunk,
        }
        sent.append(ScheduledBeacon(after, body))
    return sent


def _total_ms(chunk: list[dict[str, int]]) -> int:
    return sum(page["ms"] for page in chunk)
