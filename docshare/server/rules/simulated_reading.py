"""The beacons of a simulated reader (``docshare trigger``): the same as a browser sends. Pure.

The page is open for a moment before reading starts, so that the session is never a short one and counts however
often it is repeated. The pages are read one after the other, each as long as the others; then the page is hidden.
"""

from typing import Any, NamedTuple

from docshare.server.rules import reading

FIRST_BEACON_MS = reading.SHORT_MS  # between opening the page and reading it
_BEACON_INTERVAL_MS = 30_000  # of reading in one beacon. A page takes a second or more, so no beacon names too many.
MIN_PAGE_MS = 1_000


class ScheduledBeacon(NamedTuple):
    """One beacon without its token, sent ``after_ms`` after the page was opened."""

    after_ms: int
    body: dict[str, Any]


def plan_beacons(pages: int, time_ms: int) -> list[ScheduledBeacon]:
    """The beacons of somebody who reads the first ``pages`` pages, which together takes ``time_ms``, and leaves; from
    the opening it takes ``OPEN_MS`` more.

    A page takes at least ``LEAST_PAGE_MS``: less was not seen (``reading.SEEN_MS``).
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
        turns = sum(page["views"] for page in chunk) - (seq == 1)  # to the first page nobody turns
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
