"""The readership report of a file.

``rollups`` updates the sums as sessions end, so a report costs the same few statements however often a file was read.
Sessions that were not counted are not part of the sums; the report counts them separately, by class. A session that
has not ended is only part of ``views`` and ``active``. Page numbers are those of the document, whatever readers see.

The report of a range of days reads its sessions instead of the sums: at most ``MAX_RANGE_SESSIONS``, so that it stays
fast.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from docshare.contract.features import require_plan
from docshare.contract.fields import field_problem
from docshare.contract.limits import ACTIVE_READER_MS, REPORT_CONTACTS, REPORT_REFERRERS
from docshare.contract.plans import Plan
from docshare.server.rules import day_range
from docshare.server.rules import readership as rules
from docshare.server.rules.day_range import ALL_TIME
from docshare.server.rules.day_range import DayRange as DayRange
from docshare.server.rules.page_window import PageWindow, resolve_window
from docshare.server.rules.readership import FunnelStep
from docshare.server.rules.settings import read_settings
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.files.files import FileRow
from docshare.server.services.readership import sessions as readership_sessions
from docshare.server.services.readership.sessions import SessionSummary
from docshare.server.store.tables import feed, hotspots, rollups, sharing
from docshare.server.store.tables import readers as reader_tables
from docshare.server.store.tables import sessions as session_table
from docshare.server.store.tables.feed import Contact
from docshare.server.store.tables.hotspots import HotspotTaps
from docshare.server.store.tables.rollups import ReadershipTotals
from docshare.server.store.tables.sessions import ChosenSessions

RANGE_PRESETS = tuple(day_range.PRESETS)
MAX_RANGE_SESSIONS = 20_000  # the newest ones of a range
Counts = dict[str, int]
"""Label -> number of sessions, most first."""


@dataclass(frozen=True)
class Summary:
    """Totals of the whole file: times in ms, ``completion`` and ``back_share`` 0 to 100.

    ``came_back``: sessions of returning readers; ``active``: sessions that are running now; ``not_viewed``: invitations
    that were never opened; ``unconfirmed``: sessions without input, which no other number includes.
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


@dataclass(frozen=True)
class VariantReaders:
    """The sessions of a variant; ``label`` is None if it has none or was redacted; ``sessions_before``: those of the
    previous range, None without a range and if the ranges cannot be compared."""

    uuid: str
    label: str | None
    sessions: int
    mean_ms: int
    revoked_at: int | None
    redacted_at: int | None
    sessions_before: int | None = None


@dataclass(frozen=True)
class ReaderDetails:
    """The sections that require Pro; ``sessions``, ``variants`` and ``contacts`` newest first, ``hotspots`` by page.
    ``other_links``: the sessions through all links that are not variants, without a UUID."""

    sessions: list[SessionSummary]
    hotspots: list[HotspotTaps]
    cta_taps: int
    variants: list[VariantReaders]
    contacts: list[Contact]
    other_links: VariantReaders


@dataclass(frozen=True)
class Report:
    """The report for one ``plan``; ``shown`` is the number of pages that readers see while a page range is active;
    ``previous``: the totals of the range before, None without a range and if one of the two has more sessions than are
    read; ``is_cut``: the range itself has."""

    plan: Plan
    file: FileRow
    shown: int | None
    summary: Summary
    breakdown: Breakdown | None
    reader_details: ReaderDetails | None
    previous: Summary | None = None
    is_cut: bool = False


@dataclass(frozen=True)
class PageReaders:
    """How a page was read: ``views`` in all sessions, ``mean_ms`` per view, ``back`` views reached backward."""

    page: int
    views: int
    mean_ms: int
    back: int


def select_days(rt: Runtime, preset: str, first: str, last: str) -> DayRange | None:
    """Return the range ``preset`` of ``RANGE_PRESETS``, or else the one from ``first`` to ``last`` (``YYYY-MM-DD``).

    None, for all time, if neither is valid.
    """
    now = rt.clock()
    return day_range.find_preset(preset, now) or day_range.parse_days(first, last, now)


def parse_requested_days(rt: Runtime, first: str | None, last: str | None) -> DayRange | None:
    """Return the days from ``first`` to ``last`` (each ``YYYY-MM-DD`` or an RFC 3339 instant; ``last`` is today by
    default, and at most today); None without either.

    Raises ``bad_request``.
    """
    if first is None and last is None:
        return None
    today = day_range.end_today(1, rt.clock()).last
    days = [day_range.parse_day(first or ""), today if last is None else day_range.parse_day(last)]
    for name, day in zip(("from", "to"), days, strict=True):
        if day is None:
            raise field_problem(name, "a date such as 2026-11-20, or an RFC 3339 time")
    earlier, later = (min(day, today) if day else today for day in days)
    if days[0] != earlier or earlier > later:
        raise field_problem("from", "a day that is neither after to nor after today")
    found = DayRange(earlier, later)
    if found.days > day_range.MAX_DAYS:
        raise field_problem("from", f"at most {day_range.MAX_DAYS} days before to")
    return found


def build_report(rt: Runtime, caller: Caller, name: str, days: DayRange | None = None) -> Report:
    """Return the report of the caller's file ``name`` (UUID or short id) with the sections of the caller's plan, over
    all time or over the sessions that began on ``days``.

    Raises ``forbidden`` for another account's file, ``not_found``.
    """
    now = rt.clock()
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        totals = rollups.get_totals(rt.db, file.id, now - ACTIVE_READER_MS)
        page_range = read_settings(file.settings)["pageRange"]
        shown = resolve_window(file.total_pages, page_range)
        if days is not None:
            return _build_range_report(rt, caller, file, shown if page_range else None, days, totals)
        return Report(
            plan=caller.plan,
            file=file,
            shown=shown.size if page_range else None,
            summary=_build_summary(file.view_count, totals, _compute_median(rt, file.id, totals.sessions)),
            breakdown=_build_breakdown(rt, file.id, shown, totals.sessions, now) if caller.plan >= Plan.BASIC else None,
            reader_details=_load_reader_details(rt, file.id, totals) if caller.plan >= Plan.PRO else None,
        )


def _build_range_report(
    rt: Runtime, caller: Caller, file: FileRow, shown: PageWindow | None, days: DayRange, totals: ReadershipTotals
) -> Report:
    """Return the report over the sessions that began on ``days``. ``totals``: those of all time."""
    chosen, before = _choose_sessions(file, days), _choose_sessions(file, days.previous)
    summary, previous = _summarize_range(rt, chosen, totals), _summarize_range(rt, before, totals)
    is_comparable = MAX_RANGE_SESSIONS not in (summary.sessions, previous.sessions)
    window = shown or resolve_window(file.total_pages, None)
    return Report(
        plan=caller.plan,
        file=file,
        shown=shown.size if shown else None,
        summary=summary,
        breakdown=_build_range_breakdown(rt, chosen, window, summary, days) if caller.plan >= Plan.BASIC else None,
        reader_details=_load_range_reader_details(rt, file.id, chosen, before if is_comparable else None)
        if caller.plan >= Plan.PRO
        else None,
        previous=previous if is_comparable else None,
        is_cut=summary.sessions == MAX_RANGE_SESSIONS,
    )


def _choose_sessions(file: FileRow, days: DayRange) -> ChosenSessions:
    return ChosenSessions(file.id, *days.bounds, MAX_RANGE_SESSIONS)


def _summarize_range(rt: Runtime, chosen: ChosenSessions, totals: ReadershipTotals) -> Summary:
    found = session_table.get_range_totals(rt.db, chosen)
    uncounted = session_table.count_range_uncounted(rt.db, chosen)
    median = session_table.get_range_median_sum(rt.db, chosen, found.sessions) if found.sessions else (0, 0)
    sums = {key: value for key, value in found._asdict().items() if key != "open"}
    return _build_summary(
        found.sessions + found.open,
        ReadershipTotals(
            **sums,
            active=totals.active,
            not_viewed=totals.not_viewed,
            unconfirmed=uncounted.get("unconfirmed", 0),
        ),
        rules.rounded_mean(*median),
    )


def list_pages(rt: Runtime, caller: Caller, name: str, days: DayRange | None = None) -> list[PageReaders]:
    """Return how each page of the caller's file ``name`` was read, in order, over all time or on ``days``.

    Raises ``forbidden`` for another account's file, ``not_found``, ``plan_required`` below Basic.
    """
    with rt.db.snapshot():
        file = files.get_for_readership(rt, caller, name)
        require_plan(caller.plan, "readership.pages", "The readership of single pages")
        rows = (
            rollups.list_pages(rt.db, file.id, file.total_pages)
            if days is None
            else session_table.list_range_pages(rt.db, _choose_sessions(file, days), file.total_pages)
        )
    found = {
        page: PageReaders(page, views, rules.rounded_mean(time_ms, views), back) for page, time_ms, views, back in rows
    }
    return [found.get(page) or PageReaders(page, 0, 0, 0) for page in range(1, file.total_pages + 1)]


def _build_summary(views: int, totals: ReadershipTotals, median_ms: int) -> Summary:
    return Summary(
        views=views,
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
    tallies = _group_by_kind(rollups.list_tallies(rt.db, file_id, days[0]))
    tallies["referrer"] = rollups.count_by_referrer(rt.db, file_id, REPORT_REFERRERS)
    return _arrange_breakdown(tallies, days, shown, sessions)


def _build_range_breakdown(
    rt: Runtime, chosen: ChosenSessions, shown: PageWindow, summary: Summary, days: DayRange
) -> Breakdown:
    tallies = _group_by_kind(session_table.list_range_tallies(rt.db, chosen))
    tallies["referrer"] = dict(list(tallies["referrer"].items())[:REPORT_REFERRERS])
    tallies["uncounted"] = session_table.count_range_uncounted(rt.db, chosen)
    return _arrange_breakdown(tallies, days.list_days(), shown, summary.sessions)


def _group_by_kind(rows: Iterable[tuple[str, str, int]]) -> defaultdict[str, Counts]:
    tallies: defaultdict[str, Counts] = defaultdict(dict)
    for kind, label, count in rows:
        tallies[kind][label] = count
    return tallies


def _arrange_breakdown(
    tallies: defaultdict[str, Counts], days: list[str], shown: PageWindow, sessions: int
) -> Breakdown:
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
        referrers=tallies["referrer"],
    )


def _load_reader_details(rt: Runtime, file_id: int, totals: ReadershipTotals) -> ReaderDetails:
    variants = sharing.list_variant_sessions(rt.db, file_id)
    others = totals.sessions - sum(found[2] for found in variants)
    others_ms = totals.time_ms - sum(found[3] for found in variants)
    return ReaderDetails(
        sessions=readership_sessions.list_newest(rt, file_id),
        hotspots=hotspots.count_taps(rt.db, file_id, ALL_TIME),
        cta_taps=reader_tables.count_cta_taps(rt.db, file_id, ALL_TIME),
        variants=[_build_variant_readers(found) for found in variants],
        contacts=feed.list_contacts(rt.db, file_id, REPORT_CONTACTS),
        other_links=_build_variant_readers(("", None, others, others_ms, None, None)),
    )


def _load_range_reader_details(
    rt: Runtime, file_id: int, chosen: ChosenSessions, before: ChosenSessions | None
) -> ReaderDetails:
    between = chosen.start_at, chosen.end_at
    links = session_table.sum_range_by_link(rt.db, chosen)
    links_before = None if before is None else session_table.sum_range_by_link(rt.db, before)

    def build(uuid: str | None, label: str | None, revoked_at: int | None, redacted_at: int | None) -> VariantReaders:
        sessions, time_ms = links.get(uuid, (0, 0))
        mean_ms = rules.rounded_mean(time_ms, sessions)
        sessions_before = None if links_before is None else links_before.get(uuid, (0, 0))[0]
        return VariantReaders(uuid or "", label, sessions, mean_ms, revoked_at, redacted_at, sessions_before)

    return ReaderDetails(
        sessions=readership_sessions.list_newest(rt, file_id, between),
        hotspots=hotspots.count_taps(rt.db, file_id, between),
        cta_taps=reader_tables.count_cta_taps(rt.db, file_id, between),
        variants=[
            build(uuid, label, revoked_at, redacted_at)
            for uuid, label, _, _, revoked_at, redacted_at in sharing.list_variant_sessions(rt.db, file_id)
        ],
        contacts=feed.list_contacts(rt.db, file_id, REPORT_CONTACTS, between),
        other_links=build(None, None, None, None),
    )


def _build_variant_readers(found: tuple[Any, ...]) -> VariantReaders:
    uuid, label, sessions, time_ms, revoked_at, redacted_at = found
    return VariantReaders(uuid, label, sessions, rules.rounded_mean(time_ms, sessions), revoked_at, redacted_at)
