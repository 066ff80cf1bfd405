"""The sections about the whole document: key figures, views over time, funnel, peak times, breakdowns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import Markup

from docshare.contract.amounts import format_plural, round_half_up
from docshare.report import charts, countries, periods, words
from docshare.report.charts import ChartColumn, Figure
from docshare.report.values import Row, clean_text, list_objects, read_number, read_object, read_percentage

_VISIBLE_LABELS = 8
# Key of the report, heading.
_BREAKDOWNS = (
    ("countries", "Countries"),
    ("sources", "Sources"),
    ("devices", "Devices"),
    ("browsers", "Browsers"),
    ("referrers", "Referrers"),
    ("viewerModes", "Viewer modes"),
)
_LABEL_FORMATTERS: dict[str, Callable[[str], str]] = {
    "countries": countries.country_name,
    "sources": words.name_source,
    "viewerModes": str.capitalize,
}
# Monday first: the week as most calendars show it.
_WEEKDAY_ORDER = (1, 2, 3, 4, 5, 6, 0)


@dataclass(frozen=True)
class Tile:
    """One key figure: its name, its value, a ``note`` below, and its ``change`` since the range before."""

    name: str
    figure: str
    note: str = ""
    change: str = ""


@dataclass(frozen=True)
class BreakdownRow:
    """One line of a breakdown."""

    name: str
    count: str
    share: str
    bar: Markup


@dataclass(frozen=True)
class BreakdownSection:
    """One breakdown: the longest bars are visible, the ``rest`` is collapsed."""

    key: str
    title: str
    first: tuple[BreakdownRow, ...]
    rest: tuple[BreakdownRow, ...]


# Name of a tile -> the key of its figure in the summary.
_COMPARED_COUNTS = {
    "Views": "totalViews",
    "Visitors": "uniqueVisitors",
    "Countries": "uniqueCountries",
    "Downloads": "downloads",
    "Page turns": "totalTurns",
}


def list_tiles(report: Row, previous: Row | None = None) -> list[Tile]:
    """Return the key figures that the plan includes. ``previous``: the summary to compare them with."""
    summary = read_object(report.get("summary"))
    found = _list_tiles(summary)
    return found if previous is None else [_compare_tile(tile, summary, previous) for tile in found]


def _compare_tile(tile: Tile, summary: Row, previous: Row) -> Tile:
    if tile.name == "Average reading time":
        key = "avgTimeMs"
        change = periods.describe_time_change(read_number(summary.get(key)), read_number(previous.get(key)))
    elif tile.name == "Pages seen":
        key = "completionRate"
        change = periods.describe_share_change(read_percentage(summary.get(key)), read_percentage(previous.get(key)))
    elif tile.name in _COMPARED_COUNTS:
        key = _COMPARED_COUNTS[tile.name]
        change = periods.describe_change(read_number(summary.get(key)), read_number(previous.get(key)))
    else:
        return tile
    return replace(tile, change=change)


def _list_tiles(summary: Row) -> list[Tile]:
    found = [
        Tile("Views", words.format_count(read_number(summary.get("totalViews"))), _describe_sessions(summary)),
        Tile("Visitors", words.format_count(read_number(summary.get("uniqueVisitors"))), _describe_returning(summary)),
        Tile(
            "Average reading time",
            words.format_millis(read_number(summary.get("avgTimeMs"))),
            _describe_median(summary),
        ),
    ]
    if "completionRate" in summary:
        seen = words.format_percent(read_percentage(summary["completionRate"]))
        found.append(Tile("Pages seen", seen, "of the pages they were shown, on average"))
    found.append(Tile("Countries", words.format_count(read_number(summary.get("uniqueCountries")))))
    found.append(Tile("Downloads", words.format_count(read_number(summary.get("downloads")))))
    if "totalTurns" in summary:
        back = words.format_percent(read_percentage(summary.get("backTurnShare")))
        found.append(Tile("Page turns", words.format_count(read_number(summary["totalTurns"])), f"{back} went back"))
    if "invitedNotViewed" in summary:
        found.append(Tile("Invited, not opened", words.format_count(read_number(summary["invitedNotViewed"]))))
    return found


def _describe_sessions(summary: Row) -> str:
    return f"in {format_plural(read_number(summary.get('totalSessions')), 'finished session')}"


# Class of the session -> text after the number.
_UNCOUNTED_REASONS = {
    "unconfirmed": "opened it without touching anything",
    "burst": "were part of a burst of short sessions",
    "scanner": "left immediately",
    "preview": "were link previews",
    "tool": "were programs that identify themselves",
    "prefetch": "were prefetched and never viewed",
    "declined": "chose not to be measured",
}


def describe_uncounted(report: Row) -> str:
    """Return a sentence about the sessions that were not counted; empty if there are none."""
    found = [
        (clean_text(row.get("label")), read_number(row.get("count"))) for row in list_objects(report.get("uncounted"))
    ]
    if "uncounted" not in report:  # the plan shows the sum only
        found = [("unconfirmed", read_number(read_object(report.get("summary")).get("unconfirmedSessions")))]
    text = [f"{words.format_count(count)} {_UNCOUNTED_REASONS.get(label, label)}" for label, count in found if count]
    return f"Not counted: {', '.join(text)}." if text else ""


def _describe_returning(summary: Row) -> str:
    if "newSessions" not in summary:
        return ""
    new, returning = read_number(summary["newSessions"]), read_number(summary.get("returningSessions"))
    return f"{words.format_count(new)} new, {words.format_count(returning)} returning sessions"


def _describe_median(summary: Row) -> str:
    return f"median {words.format_millis(read_number(summary['medianTimeMs']))}" if "medianTimeMs" in summary else ""


def count_active_readers(report: Row) -> int | None:
    """Return the number of people who are reading now; None if the plan does not include it."""
    summary = read_object(report.get("summary"))
    return read_number(summary["activeReaders"]) if "activeReaders" in summary else None


def build_views_figure(report: Row, title: str = "") -> Figure | None:
    """Return the chart of views per day; None if the plan does not include it. ``title``: instead of its number of
    days."""
    if "viewsOverTime" not in report:
        return None
    days = [
        (clean_text(row.get("day")), read_number(row.get("count"))) for row in list_objects(report["viewsOverTime"])
    ]
    top = charts.round_count_scale(max((found for _, found in days), default=0))
    last = len(days) - 1
    found = [_build_day_column(day, found, top, place, last - place) for place, (day, found) in enumerate(days)]
    insight = _describe_busiest_day(days) or _describe_empty(report, "No views in this time.")
    scale = tuple(words.format_count(top * quarter // 4) for quarter in (4, 3, 2, 1, 0))
    chart = charts.draw_columns("views", "Views per day", insight, found, scale)
    lines = tuple((words.format_long_day(day), words.format_count(found)) for day, found in reversed(days))
    return Figure("views", title or f"The last {len(days)} days", insight, chart, ("Day", "Views"), lines)


def _build_day_column(day: str, found: int, top: int, before: int, after: int) -> ChartColumn:
    """Return the column of one day with ``before`` days on its left and ``after`` on its right."""
    outer = not before or not after
    labelled = outer or (after % 7 == 0 and before > 3)
    return ChartColumn(
        found * 100 / top,
        f"{words.format_long_day(day)}: {format_plural(found, 'view')}",
        words.format_short_day(day) if labelled else "",
        minor=not outer and after % 14 != 0,
    )


def _describe_busiest_day(days: Sequence[tuple[str, int]]) -> str:
    whole = sum(found for _, found in days)
    if not whole:
        return ""
    day, most = max(days, key=lambda each: each[1])
    total = format_plural(whole, "view")
    return f"{total} in this time; the most on {words.format_long_day(day)}: {words.format_count(most)}."


def _describe_empty(report: Row, words_of_none: str) -> str:
    """Return why a chart of finished sessions is empty: somebody is reading, or else ``words_of_none``."""
    summary = read_object(report.get("summary"))
    begun = read_number(summary.get("totalViews")) and not read_number(summary.get("totalSessions"))
    if begun or count_active_readers(report):
        return "Somebody is reading; this fills in when they finish."
    return words_of_none


def build_funnel_figure(report: Row) -> Figure | None:
    """Return the funnel; None if the plan does not include it."""
    if "funnel" not in report:
        return None
    steps = [
        (read_number(row.get("page")), read_number(row.get("reached")), read_percentage(row.get("pct")))
        for row in list_objects(report["funnel"])
    ]
    thinned = charts.thin_out(steps)
    found = [
        charts.page_column(
            place,
            len(thinned),
            words.format_count(page),
            pct,
            f"Page {words.format_count(page)}: {format_plural(reached, 'session')}, {words.format_percent(pct)}",
        )
        for place, (page, reached, pct) in enumerate(thinned)
    ]
    insight = _describe_furthest(steps, report) or _describe_empty(report, "Nobody has finished reading yet.")
    chart = charts.draw_columns("funnel", "Share of sessions that reached each page", insight, found, _PERCENT_SCALE)
    lines = tuple(
        (words.format_count(page), words.format_count(reached), words.format_percent(pct))
        for page, reached, pct in steps[:1000]
    )
    return Figure("funnel", "How far they read", insight, chart, ("Page", "Sessions that reached it", "Share"), lines)


_PERCENT_SCALE = ("100%", "75%", "50%", "25%", "0")
_Step = tuple[int, int, float]  # page, sessions that reached it, their share


def _has_uniform_page_range(report: Row) -> bool:
    """Return whether all sessions in ``report`` could see all pages of the funnel. Otherwise a drop can be the end of a
    page range rather than readers who stop."""
    pages = len(list_objects(report["funnel"]))
    return all(read_number(row.get("shownPages")) in (0, pages) for row in list_objects(report.get("sessions")))


def _describe_furthest(steps: Sequence[_Step], report: Row) -> str:
    if not steps or not steps[0][1]:
        return ""
    page, _, pct = steps[-1]
    text = f"{words.format_percent(pct)} of the sessions reached page {words.format_count(page)}, the last one."
    drops = [(before[2] - after[2], before[0]) for before, after in pairwise(steps)]
    most, where = max(drops, default=(0.0, 0), key=lambda drop: drop[0])
    if most <= 0 or not _has_uniform_page_range(report):
        return text
    return (
        f"{text} The largest drop is after page {words.format_count(where)}, where {words.format_percent(most)} stop."
    )


def build_peak_times_figure(report: Row) -> Figure | None:
    """Return the heat map of views by day of the week and hour; None if the plan does not include it."""
    if "peakTimes" not in report:
        return None
    cells = [[0] * 24 for _ in range(7)]
    for row in list_objects(report["peakTimes"]):
        day, hour = row.get("dow"), row.get("hour")
        if isinstance(day, int) and isinstance(hour, int) and 0 <= day < 7 and 0 <= hour < 24:
            cells[day][hour] = read_number(row.get("count"))
    week = [cells[day] for day in _WEEKDAY_ORDER]
    names = [words.DAYS[day] for day in _WEEKDAY_ORDER]
    insight = _describe_peak(week, names) or _describe_empty(report, "No views yet.")
    chart = charts.draw_heat_map("peaks", "Views by day of the week and hour", insight, week, names)
    busy = sorted(
        ((found, line, hour) for line, row in enumerate(week) for hour, found in enumerate(row) if found),
        key=lambda each: (-each[0], each[1], each[2]),
    )
    lines = tuple((names[line], f"{hour:02d}:00", words.format_count(found)) for found, line, hour in busy)
    return Figure("peaks", "When they read", insight, chart, ("Day", "Hour (UTC)", "Views"), lines)


def _describe_peak(week: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    most, line, hour = max((found, -line, -hour) for line, row in enumerate(week) for hour, found in enumerate(row))
    if not most:
        return ""
    return f"The busiest hour is {names[-line]}, {words.format_hour(-hour)} UTC: {format_plural(most, 'view')}."


def list_breakdowns(report: Row) -> list[BreakdownSection]:
    """Return the breakdowns that the plan includes and that are not empty."""
    found = []
    for key, title in _BREAKDOWNS:
        counted = [
            (clean_text(row.get("label")) or "Unknown", read_number(row.get("count")))
            for row in list_objects(report.get(key))
        ]
        if not counted:
            continue
        labels = _build_breakdown_rows(counted, _LABEL_FORMATTERS.get(key, str))
        found.append(BreakdownSection(key, title, labels[:_VISIBLE_LABELS], labels[_VISIBLE_LABELS:]))
    return found


def _build_breakdown_rows(counted: Sequence[tuple[str, int]], named: Callable[[str], str]) -> tuple[BreakdownRow, ...]:
    whole = sum(found for _, found in counted) or 1
    highest = max((found for _, found in counted), default=0) or 1
    return tuple(
        BreakdownRow(
            named(label),
            words.format_count(found),
            words.format_percent(round_half_up(found * 100 / whole)),
            charts.draw_bar(found * 100 / highest),
        )
        for label, found in counted
    )
