"""What the owner of a file learns of its readers.

Sums are kept as sessions end (``rollups``), so a report costs the same few statements however often a file was read.
Sessions that were not counted are in none of them but stand beside them, by class; one that still goes on is in
``views`` and ``active`` alone.
Pages have the document's own numbers, whatever window of it readers were shown.
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

from docshare.contract.features import require_plan
from docshare.contract.limits import ACTIVE_READER_MS, REPORT_CONTACTS, REPORT_REFERRERS
from docshare.contract.plans import Plan
from docshare.server.rules import readership as rules
from docshare.server.rules.page_window import PageWindow, resolve_window
from docshare.server.rules.readership import FunnelStep
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.files.files import FileRow
from docshare.server.services.readership import sessions as readership_sessions
from docshare.server.services.readership.sessions import SessionSummary

Counts = dict[str, int]
"""Label -> number of sessions, most first."""


class _Totals(NamedTuple):
    """Sums and numbers of the whole file as they are kept: times in ms, ``completion`` in millionths."""

    sessions: int
    came_back: int
    visitors: int
    time_ms: int
    turns: int
    back_turns: int
    completion: int
    countries: int
    downloads: int
    active: int
    not_viewed: int
    unconfirmed: int


@dataclass(frozen=True)
class Summary:
    """Numbers of the whole file: times in ms, ``completion`` and ``back_share`` 0 to 100. ``came_back``: sessions whose
    reader had been here before; ``active``: those that go on now; ``not_viewed``: invitations; ``unconfirmed``:
    sessions without input, which are in no other number."""

    views: int
    sessions: int
    visitors: int
    countries: int
    mean_ms: int
    downloads: int
    median_ms: int
    turns: int
    completion: float
    back_share: float
    active: int
    came_back: int
    not_viewed: int
    unconfirmed: int


@dataclass(frozen=True)
class Breakdown:
    """What Basic adds: ``days`` the last 30, ascending; ``hours`` sessions by (day of week, hour) in UTC, 0 = Sunday;
    ``funnel`` through the pages that readers are shown now; ``uncounted`` sessions that were not counted, by class."""

    days: list[tuple[str, int]]
    hours: dict[tuple[int, int], int]
    funnel: list[FunnelStep]
    countries: Counts
    devices: Counts
    browsers: Counts
    sources: Counts
    viewer_modes: Counts
    referrers: Counts
    uncounted: Counts


class HotspotTaps(NamedTuple):
    """How often a hotspot was tapped."""

    uuid: str
    page: int
    label: str
    taps: int


class VariantReaders(NamedTuple):
    """The sessions of a variant; ``label`` None when it has none or was redacted."""

    uuid: str
    label: str | None
    sessions: int
    mean_ms: int
    revoked_at: int | None
    redacted_at: int | None


class Contact(NamedTuple):
    """One completed gate form; ``fields`` as stored."""

    fields: str | None
    created_at: int


@dataclass(frozen=True)
class ReaderDetails:
    """What Pro adds; ``sessions``, ``variants`` and ``contacts`` newest first, ``hotspots`` by page."""

    sessions: list[SessionSummary]
    hotspots: list[HotspotTaps]
    cta_taps: int
    variants: list[VariantReaders]
    contacts: list[Contact]


@dataclass(frozen=True)
class Report:
    """The report as ``plan`` has it; ``shown``: how many pages readers see, while a page range is active."""

    plan: Plan
    file: FileRow
    shown: int | None
    summary: Summary
    breakdown: Breakdown | None
    people: ReaderDetails | None


class PageReaders(NamedTuple):
    """How a page was read: ``views`` in all sessions, of ``mean_ms`` each, ``back`` reached by going backward."""

    page: int
    views: int
    mean_ms: int
    back: int


_SUMS = ", ".join(f"IFNULL(r.{column}, 0)" for column in _Totals._fields[:7])
# The sessions that go on are few on the whole instance, those of a file are not: its index must not be taken.
_TOTALS = f"""
SELECT {_SUMS},
    (SELECT COUNT(*) FROM tallies WHERE file_id = f.id AND kind = 'country'),
    (SELECT COUNT(*) FROM download_rows WHERE file_id = f.id),
    (SELECT COUNT(*) FROM view_sessions
        WHERE ended_at IS NULL AND +file_id = f.id AND counted_at IS NOT NULL AND heard_at > ?),
    (SELECT COUNT(*) FROM invites WHERE file_id = f.id AND viewed_at IS NULL),
    IFNULL((SELECT sessions FROM tallies WHERE file_id = f.id AND kind = 'uncounted' AND label = 'unconfirmed'), 0)
FROM files f LEFT JOIN readerships r ON r.file_id = f.id WHERE f.id = ?
"""  # noqa: S608 - columns from the row
# One row in the middle, or the two around it.
_MEDIAN = """
SELECT SUM(time_ms), COUNT(*) FROM (SELECT time_ms FROM session_rows WHERE file_id = ?1 ORDER BY time_ms
LIMIT 2 - ?2 % 2 OFFSET (?2 - 1) / 2)
"""
# Kinds of which there are few labels each; of referrers there may be any number.
_TALLIES = """
SELECT kind, label, sessions FROM tallies
WHERE file_id = ? AND kind IN ('country', 'device', 'browser', 'source', 'viewerMode', 'hour', 'furthest', 'day',
        'uncounted')
    AND NOT (kind = 'day' AND label < ?) ORDER BY sessions DESC, label
"""
_REFERRERS = """
SELECT label, sessions FROM tallies WHERE file_id = ? AND kind = 'referrer' ORDER BY sessions DESC, label LIMIT ?
"""
_HOTSPOTS = """
SELECT h.uuid, h.page, h.label, (SELECT COUNT(*) FROM taps t WHERE t.hotspot_id = h.id)
FROM hotspots h JOIN files f ON f.id = h.file_id WHERE h.file_id = ? AND h.page <= f.total_pages ORDER BY h.page, h.id
"""
_CTA_TAPS = "SELECT COUNT(*) FROM taps WHERE file_id = ? AND hotspot_id IS NULL"
_VARIANTS = """
SELECT v.uuid, v.label, IFNULL(t.sessions, 0), IFNULL(t.time_ms, 0), v.revoked_at, v.redacted_at
FROM variants v LEFT JOIN variant_tallies t ON t.variant_id = v.id WHERE v.file_id = ? ORDER BY v.id DESC
"""
_CONTACTS = "SELECT fields, read_at FROM gate_rows WHERE file_id = ? ORDER BY id DESC LIMIT ?"
_PAGES = "SELECT page, time_ms, views, back_views FROM page_tallies WHERE file_id = ? AND page <= ?"


def build_report(rt: Runtime, caller: Caller, name: str) -> Report:
    """The report of the caller's file ``name`` (UUID or short id), as far as the caller's plan goes.

    Raises ``forbidden`` for another account's file, ``not_found``.
    """
    now = rt.clock()
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        totals = _Totals._make(rt.db.rows(_TOTALS, (now - ACTIVE_READER_MS, file.id))[0])
        page_range = json.loads(file.settings).get("pageRange")
        shown = resolve_window(file.total_pages, page_range)
        return Report(
            plan=caller.plan,
            file=file,
            shown=shown.size if page_range else None,
            summary=_build_summary(file, totals, _compute_median(rt, file.id, totals.sessions)),
            breakdown=_build_breakdown(rt, file.id, shown, totals.sessions, now) if caller.plan >= Plan.BASIC else None,
            people=_load_reader_details(rt, file.id) if caller.plan >= Plan.PRO else None,
        )


def list_pages(rt: Runtime, caller: Caller, name: str) -> list[PageReaders]:
    """How every page of the caller's file ``name`` was read, in order.

    Raises ``forbidden`` for another account's file, ``not_found``, ``plan_required`` below Basic.
    """
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.pages", "The readership of single pages")
        found = {
            page: PageReaders(page, views, rules.rounded_mean(time_ms, views), back)
            for page, time_ms, views, back in rt.db.rows(_PAGES, (file.id, file.total_pages))
        }
    return [found.get(page) or PageReaders(page, 0, 0, 0) for page in range(1, file.total_pages + 1)]


def _build_summary(file: FileRow, totals: _Totals, median_ms: int) -> Summary:
    return Summary(
        views=file.view_count,
        sessions=totals.sessions,
        visitors=totals.visitors,
        countries=totals.countries,
        mean_ms=rules.rounded_mean(totals.time_ms, totals.sessions),
        downloads=totals.downloads,
        median_ms=median_ms,
        turns=totals.turns,
        completion=rules.percent_share(totals.completion, totals.sessions * 1_000_000),
        back_share=rules.percent_share(totals.back_turns, totals.turns),
        active=totals.active,
        came_back=totals.came_back,
        not_viewed=totals.not_viewed,
        unconfirmed=totals.unconfirmed,
    )


def _compute_median(rt: Runtime, file_id: int, sessions: int) -> int:
    if not sessions:
        return 0
    total, count = rt.db.rows(_MEDIAN, (file_id, sessions))[0]
    return rules.rounded_mean(total, count)


def _build_breakdown(rt: Runtime, file_id: int, shown: PageWindow, sessions: int, now: int) -> Breakdown:
    days = rules.list_last_days(now)
    tallies: defaultdict[str, Counts] = defaultdict(dict)
    for kind, label, count in rt.db.rows(_TALLIES, (file_id, days[0])):
        tallies[kind][label] = count
    furthest = {int(page): count for page, count in tallies["furthest"].items()}
    return Breakdown(
        days=[(day, tallies["day"].get(day, 0)) for day in days],
        hours={rules.parse_hour_of_week(label): count for label, count in sorted(tallies["hour"].items())},
        funnel=rules.build_funnel(furthest, sessions, shown.first, shown.last),
        countries=tallies["country"],
        devices=tallies["device"],
        browsers=tallies["browser"],
        sources=tallies["source"],
        viewer_modes=tallies["viewerMode"],
        uncounted=tallies["uncounted"],
        referrers=dict(rt.db.rows(_REFERRERS, (file_id, REPORT_REFERRERS))),
    )


def _load_reader_details(rt: Runtime, file_id: int) -> ReaderDetails:
    return ReaderDetails(
        sessions=readership_sessions.list_newest(rt, file_id),
        hotspots=[HotspotTaps._make(found) for found in rt.db.rows(_HOTSPOTS, (file_id,))],
        cta_taps=rt.db.rows(_CTA_TAPS, (file_id,))[0][0],
        variants=[_build_variant_readers(found) for found in rt.db.rows(_VARIANTS, (file_id,))],
        contacts=[Contact._make(found) for found in rt.db.rows(_CONTACTS, (file_id, REPORT_CONTACTS))],
    )


def _build_variant_readers(found: tuple[Any, ...]) -> VariantReaders:
    uuid, label, sessions, time_ms, revoked_at, redacted_at = found
    return VariantReaders(uuid, label, sessions, rules.rounded_mean(time_ms, sessions), revoked_at, redacted_at)
