"""The readership report of a file.

``rollups`` updates the sums as sessions end, so a report costs the same few statements however often a file was read.
Sessions that were not counted are not part of the sums; the report counts them separately, by class. A session that
has not ended is only part of ``views`` and ``active``. Page numbers are those of the document, whatever readers see.
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
from docshare.server.store.tables import feed, rollups, sharing
from docshare.server.store.tables import readers as reader_tables
from docshare.server.store.tables.feed import Contact
from docshare.server.store.tables.rollups import ReadershipTotals
from docshare.server.store.tables.sharing import HotspotTaps

Counts = dict[str, int]
"""Label -> number of sessions, most first."""


@dataclass(frozen=True)
class Summary:
    """Totals of the whole file: times in ms, ``completion`` and ``back_share`` 0 to 100.

    ``came_back``: sessions of returning readers; ``active``: sessions that are open now; ``not_viewed``: invitations;
    ``unconfirmed``: sessions without input, which no other number includes.
    """

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
    """The sections from Basic on.

    ``days`` the last 30, ascending; ``hours`` sessions by (day of week, hour) in UTC, 0 = Sunday; ``funnel`` over the
    pages that readers see now; ``uncounted`` sessions by class.
    """

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


class VariantReaders(NamedTuple):
    """The sessions of a variant; ``label`` is None if it has none or was redacted."""

    uuid: str
    label: str | None
    sessions: int
    mean_ms: int
    revoked_at: int | None
    redacted_at: int | None


@dataclass(frozen=True)
class ReaderDetails:
    """The sections that require Pro; ``sessions``, ``variants`` and ``contacts`` newest first, ``hotspots`` by page."""

    sessions: list[SessionSummary]
    hotspots: list[HotspotTaps]
    cta_taps: int
    variants: list[VariantReaders]
    contacts: list[Contact]


@dataclass(frozen=True)
class Report:
    """The report for one ``plan``; ``shown`` is the number of pages that readers see while a page range is active."""

    plan: Plan
    file: FileRow
    shown: int | None
    summary: Summary
    breakdown: Breakdown | None
    reader_details: ReaderDetails | None


class PageReaders(NamedTuple):
    """How a page was read: ``views`` in all sessions, ``mean_ms`` per view, ``back`` views reached backward."""

    page: int
    views: int
    mean_ms: int
    back: int


def build_report(rt: Runtime, caller: Caller, name: str) -> Report:
    """Return the report of the caller's file ``name`` (UUID or short id) with the sections of the caller's plan.

    Raises ``forbidden`` for another account's file, ``not_found``.
    """
    now = rt.clock()
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        totals = rollups.get_totals(rt.db, file.id, now - ACTIVE_READER_MS)
        page_range = json.loads(file.settings).get("pageRange")
        shown = resolve_window(file.total_pages, page_range)
        return Report(
            plan=caller.plan,
            file=file,
            shown=shown.size if page_range else None,
            summary=_build_summary(file, totals, _compute_median(rt, file.id, totals.sessions)),
            breakdown=_build_breakdown(rt, file.id, shown, totals.sessions, now) if caller.plan >= Plan.BASIC else None,
            reader_details=_load_reader_details(rt, file.id) if caller.plan >= Plan.PRO else None,
        )


def list_pages(rt: Runtime, caller: Caller, name: str) -> list[PageReaders]:
    """Return how each page of the caller's file ``name`` was read, in order.

    Raises ``forbidden`` for another account's file, ``not_found``, ``plan_required`` below Basic.
    """
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.pages", "The readership of single pages")
        found = {
            page: PageReaders(page, views, rules.rounded_mean(time_ms, views), back)
            for page, time_ms, views, back in rollups.list_pages(rt.db, file.id, file.total_pages)
        }
    return [found.get(page) or PageReaders(page, 0, 0, 0) for page in range(1, file.total_pages + 1)]


def _build_summary(file: FileRow, totals: ReadershipTotals, median_ms: int) -> Summary:
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
    total, count = rollups.get_median_sum(rt.db, file_id, sessions)
    return rules.rounded_mean(total, count)


def _build_breakdown(rt: Runtime, file_id: int, shown: PageWindow, sessions: int, now: int) -> Breakdown:
    days = rules.list_last_days(now)
    tallies: defaultdict[str, Counts] = defaultdict(dict)
    for kind, label, count in rollups.list_tallies(rt.db, file_id, days[0]):
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
        referrers=rollups.count_by_referrer(rt.db, file_id, REPORT_REFERRERS),
    )


def _load_reader_details(rt: Runtime, file_id: int) -> ReaderDetails:
    return ReaderDetails(
        sessions=readership_sessions.list_newest(rt, file_id),
        hotspots=sharing.count_hotspot_taps(rt.db, file_id),
        cta_taps=reader_tables.count_cta_taps(rt.db, file_id),
        variants=[_build_variant_readers(found) for found in sharing.list_variant_sessions(rt.db, file_id)],
        contacts=feed.list_contacts(rt.db, file_id, REPORT_CONTACTS),
    )


def _build_variant_readers(found: tuple[Any, ...]) -> VariantReaders:
    uuid, label, sessions, time_ms, revoked_at, redacted_at = found
    return VariantReaders(uuid, label, sessions, rules.rounded_mean(time_ms, sessions), revoked_at, redacted_at)
