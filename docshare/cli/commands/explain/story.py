"""Explain the time and the class of a session from its reports (beacons). This module does not print.

The rules are in ``docshare/server/rules/reading.py``; this module describes their results.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from docshare.cli.terminal.cells import format_cell
from docshare.cli.terminal.text import format_local_time
from docshare.client.recipients import read_number, read_objects
from docshare.contract.amounts import format_plural
from docshare.contract.wire import format_duration, parse_instant

Row = Mapping[str, Any]

CUT_BY_CLOCK = "less time had passed"
CUT_BY_VISIBILITY = "the page was visible for less time"

_END_HIDDEN = ": a minute after the page was hidden"
_END_CLOSED = ": 10 seconds after the page was closed"
_END_INACTIVE = ": five minutes after the last activity"
_CLASSES = {
    "human": "a reader, counted",
    "tool": "a program that identifies itself, not counted",
    "preview": "a link preview that identifies itself, not counted",
    "prefetch": "prefetched without interaction, not counted",
    "unconfirmed": "opened without any interaction, not counted",
    "burst": "one of too many short sessions, not counted",
    "scanner": "ran the page and left immediately, not counted",
}


class BeaconExplanation(NamedTuple):
    """One beacon, times in ms. ``after_ms`` is its arrival since the start of the session, None if unknown; ``why``
    says why less than the claimed time was accepted, or is empty."""

    row: Row
    after_ms: int | None
    claimed_ms: int
    accepted_ms: int
    why: str


def explain_beacons(session: Row) -> list[BeaconExplanation]:
    """Return the beacons of ``session`` in order of arrival, with the claimed and the accepted time."""
    began = read_instant(session, "startedAt")
    rows = sorted(
        read_objects(session, "beacons"),
        key=lambda row: (read_instant(row, "receivedAt") or 0, read_number(row, "seq")),
    )
    found: list[BeaconExplanation] = []
    visible = accepted = 0.0
    for row in rows:
        at = read_instant(row, "receivedAt")
        after = None if at is None or began is None else at - began
        claimed = visible + read_number(row, "visibleMs")
        passed = claimed if after is None else max(after, visible)
        visible = min(claimed, passed)
        gained = _sum_ms(row, "accepted")
        found.append(
            BeaconExplanation(
                row,
                after,
                int(_sum_ms(row, "pages")),
                int(gained),
                _explain_cut(row, visible - accepted, claimed > passed),
            )
        )
        accepted += gained
    return found


def _explain_cut(row: Row, allowed: float, over_the_clock: bool) -> str:
    claimed, accepted = _sum_ms(row, "pages"), _sum_ms(row, "accepted")
    if accepted >= claimed:
        return ""
    if allowed < claimed:
        return CUT_BY_CLOCK if over_the_clock else CUT_BY_VISIBILITY
    known = {page.get("page") for page in read_objects(row, "accepted")}
    unknown = [format_cell(page.get("page")) for page in read_objects(row, "pages") if page.get("page") not in known]
    return f"not in the document: {', '.join(unknown)}" if unknown else "not accepted"


def describe_session(session: Row, reports: list[BeaconExplanation]) -> Iterator[str]:
    """Yield sentences about the class, the times and the measurement of the session that consists of ``reports``."""
    klass = str(session.get("class", "unknown"))
    yield f"{klass}: {_CLASSES.get(klass, 'a class unknown to this version')}"
    if session.get("reason"):
        yield f"reason: {session['reason']}"
    yield from _describe_timeline(session, reports)
    total = format_exact_duration(int(read_number(session, "totalTimeMs")))
    if not reports:
        yield f"{total} of reading; its reports have been deleted"
        return
    reports_count = format_plural(len(reports), "report")
    claimed = format_exact_duration(sum(report.claimed_ms for report in reports))
    yield f"{total} of reading accepted, of {claimed} claimed in {reports_count}"
    cut = sum(1 for report in reports if report.why)
    if cut:
        yield f"{cut} of them claimed more than was possible, as shown below"


def _describe_timeline(session: Row, reports: list[BeaconExplanation]) -> Iterator[str]:
    """Yield when the session started, was counted and ended, and why it ended."""
    began, counted, ended = (read_instant(session, key) for key in ("startedAt", "countedAt", "endedAt"))
    if began is None:
        return
    yield f"started {format_local_time(began)}"
    if counted is not None:
        yield f"counted {format_exact_duration(max(counted - began, 0))} later"
    if ended is None:
        yield "is still active"
        return
    # Reports may arrive out of order; their number shows which is the last.
    last = max((report.row for report in reports), key=lambda row: read_number(row, "seq"), default=None)
    why = (
        ""
        if last is None
        else _END_INACTIVE
        if last.get("visible")
        else _END_CLOSED
        if last.get("closing")
        else _END_HIDDEN
    )
    yield f"ended {format_exact_duration(max(ended - began, 0))} after the start{why}"


def read_instant(row: Row, key: str) -> int | None:
    """Return the time under ``key`` in ms since 1970, or None."""
    return parse_instant(str(row.get(key, "")))


def _sum_ms(row: Row, key: str) -> float:
    return sum(read_number(page, "ms") for page in read_objects(row, key))


def format_exact_duration(millis: int) -> str:
    """Return for example ``1m 42.3s``: tenths of a second below an hour, so that parts add up to their sum."""
    minutes, tenths = divmod(round(millis / 100), 600)
    if minutes >= 60:
        return format_duration(millis)
    return f"{minutes}m {tenths / 10:04.1f}s" if minutes else f"{tenths / 10:.1f}s"
