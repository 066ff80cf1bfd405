"""The sections about the whole document: key figures, views over time, funnel, peak times, breakdowns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from docshare.contract.rounding import half_up
from docshare.report import charts, countries, words
from docshare.report.charts import Column, Figure
from docshare.report.values import Row, block, number, rows, share, text

_SHOWN_LABELS = 8
# Key of the report, heading.
_BREAKDOWNS = (
    ("countries", "Countries"),
    ("sources", "Sources"),
    ("devices", "Devices"),
    ("browsers", "Browsers"),
    ("referrers", "Referrers"),
    ("viewerModes", "Viewer modes"),
)
_NAMED: dict[str, Callable[[str], str]] = {"countries": countries.name_of, "viewerModes": str.capitalize}
# Monday first: the week as most calendars show it.
_WEEK = (1, 2, 3, 4, 5, 6, 0)


@dataclass(frozen=True)
class Tile:
    """One key figure: its name, its value, and a ``note`` below. ``live``: scripts keep it up to date."""

    name: str
    figure: str
    note: str = ""
    live: bool = False


@dataclass(frozen=True)
class Label:
    """One line of a breakdown."""

    name: str
    count: str
    share: str
    bar: Markup


@dataclass(frozen=True)
class Breakdown:
    """One breakdown: the longest bars are visible, the ``rest`` is collapsed."""

    key: str
    title: str
    first: tuple[Label, ...]
    rest: tuple[Label, ...]


def tiles(report: Row) -> list[Tile]:
    """Return the key figures that the plan includes."""
    summary = block(report.get("summary"))
    found = [
        Tile("Views", words.count(number(summary.get("totalViews"))), _sessions_note(summary)),
        Tile("Visitors", words.count(number(summary.get("uniqueVisitors"))), _returning_note(summary)),
        Tile("Average reading time", words.duration(number(summary.get("avgTimeMs"))), _median_note(summary)),
    ]
    if "completionRate" in summary:
        seen = words.percent(share(summary["completionRate"]))
        found.append(Tile("Pages seen", seen, "of the pages they were shown, on average"))
    found.append(Tile("Countries", words.count(number(summary.get("uniqueCountries")))))
    found.append(Tile("Downloads", words.count(number(summary.get("downloads")))))
    if "totalTurns" in summary:
        back = words.percent(share(summary.get("backTurnShare")))
        found.append(Tile("Page turns", words.count(number(summary["totalTurns"])), f"{back} went back"))
    if "invitedNotViewed" in summary:
        found.append(Tile("Invited, not opened", words.count(number(summary["invitedNotViewed"]))))
    return found


def _sessions_note(summary: Row) -> str:
    return f"in {words.plural(number(summary.get('totalSessions')), 'finished session')}"


# Class of the session -> text after the number.
_CLASSES = {
    "unconfirmed": "opened it without touching anything",
    "burst": "were part of a burst of short sessions",
    "scanner": "left at once",
    "preview": "were link previews",
    "tool": "were programs that identify themselves",
    "prefetch": "were prefetched and never viewed",
}


def uncounted_note(report: Row) -> str:
    """Return a sentence about the sessions that were not counted; empty if there are none."""
    found = [(text(row.get("label")), number(row.get("count"))) for row in rows(report.get("uncounted"))]
    if "uncounted" not in report:  # the plan shows the sum only
        found = [("unconfirmed", number(block(report.get("summary")).get("unconfirmedSessions")))]
    said = [f"{words.count(count)} {_CLASSES.get(label, label)}" for label, count in found if count]
    return f"Not counted: {', '.join(said)}." if said else ""


def _returning_note(summary: Row) -> str:
    if "newSessions" not in summary:
        return ""
    new, returning = number(summary["newSessions"]), number(summary.get("returningSessions"))
    return f"{words.count(new)} new, {words.count(returning)} returning sessions"


def _median_note(summary: Row) -> str:
    return f"median {words.duration(number(summary['medianTimeMs']))}" if "medianTimeMs" in summary else ""


def reading_now(report: Row) -> int | None:
    """Return the number of people who are reading now; None if the plan does not include it."""
    summary = block(report.get("summary"))
    return number(summary["activeReaders"]) if "activeReaders" in summary else None


def views(report: Row) -> Figure | None:
    """Return the chart of views per day; None if the plan does not include it."""
    if "viewsOverTime" not in report:
        return None
    days = [(text(row.get("day")), number(row.get("count"))) for row in rows(report["viewsOverTime"])]
    top = charts.rounded_top(max((found for _, found in days), default=0))
    last = len(days) - 1
    found = [_day(day, found, top, place, last - place) for place, (day, found) in enumerate(days)]
    insight = _busiest(days) or _none_yet(report, "No views in this time.")
    scale = tuple(words.count(top * quarter // 4) for quarter in (4, 3, 2, 1, 0))
    chart = charts.columns("views", "Views per day", insight, found, scale)
    lines = tuple((words.long_day(day), words.count(found)) for day, found in reversed(days))
    return Figure("views", f"The last {len(days)} days", insight, chart, ("Day", "Views"), lines)


def _day(day: str, found: int, top: int, before: int, after: int) -> Column:
    """Return the column of one day with ``before`` days on its left and ``after`` on its right."""
    outer = not before or not after
    labelled = outer or (after % 7 == 0 and before > 3)
    return Column(
        found * 100 / top,
        f"{words.long_day(day)}: {words.plural(found, 'view')}",
        words.short_day(day) if labelled else "",
        minor=not outer and after % 14 != 0,
    )


def _busiest(days: Sequence[tuple[str, int]]) -> str:
    whole = sum(found for _, found in days)
    if not whole:
        return ""
    day, most = max(days, key=lambda each: each[1])
    return f"{words.plural(whole, 'view')} in this time; the most on {words.long_day(day)}: {words.count(most)}."


def _none_yet(report: Row, words_of_none: str) -> str:
    """Return why a chart of finished sessions is empty: somebody is reading, or else ``words_of_none``."""
    summary = block(report.get("summary"))
    begun = number(summary.get("totalViews")) and not number(summary.get("totalSessions"))
    if begun or reading_now(report):
        return "Somebody is reading; this fills in when they finish."
    return words_of_none


def funnel(report: Row) -> Figure | None:
    """Return the funnel; None if the plan does not include it."""
    if "funnel" not in report:
        return None
    steps = [
        (number(row.get("page")), number(row.get("reached")), share(row.get("pct"))) for row in rows(report["funnel"])
    ]
    shown = charts.thinned(steps)
    found = [
        charts.numbered(
            place,
            len(shown),
            words.count(page),
            pct,
            f"Page {words.count(page)}: {words.plural(reached, 'session')}, {words.percent(pct)}",
        )
        for place, (page, reached, pct) in enumerate(shown)
    ]
    insight = _furthest(steps, report) or _none_yet(report, "Nobody has finished reading yet.")
    chart = charts.columns("funnel", "Share of sessions that reached each page", insight, found, _PERCENTS)
    lines = tuple((words.count(page), words.count(reached), words.percent(pct)) for page, reached, pct in steps[:1000])
    return Figure("funnel", "How far they read", insight, chart, ("Page", "Sessions that reached it", "Share"), lines)


_PERCENTS = ("100%", "75%", "50%", "25%", "0")
_Step = tuple[int, int, float]  # page, sessions that reached it, their share


def _saw_the_same(report: Row) -> bool:
    """Return whether all sessions in ``report`` could see all pages of the funnel. Otherwise a drop can be the end of a
    page range rather than readers who stop."""
    pages = len(rows(report["funnel"]))
    return all(number(row.get("shownPages")) in (0, pages) for row in rows(report.get("sessions")))


def _furthest(steps: Sequence[_Step], report: Row) -> str:
    if not steps or not steps[0][1]:
        return ""
    page, _, pct = steps[-1]
    said = f"{words.percent(pct)} of the sessions reached page {words.count(page)}, the last one."
    drops = [(before[2] - after[2], before[0]) for before, after in pairwise(steps)]
    most, where = max(drops, default=(0.0, 0), key=lambda drop: drop[0])
    if most <= 0 or not _saw_the_same(report):
        return said
    return f"{said} The largest drop is after page {words.count(where)}, where {words.percent(most)} stop."


def peak_times(report: Row) -> Figure | None:
    """Return the heat map of views by day of the week and hour; None if the plan does not include it."""
    if "peakTimes" not in report:
        return None
    cells = [[0] * 24 for _ in range(7)]
    for row in rows(report["peakTimes"]):
        day, hour = row.get("dow"), row.get("hour")
        if isinstance(day, int) and isinstance(hour, int) and 0 <= day < 7 and 0 <= hour < 24:
            cells[day][hour] = number(row.get("count"))
    week = [cells[day] for day in _WEEK]
    names = [words.DAYS[day] for day in _WEEK]
    insight = _peak(week, names) or _none_yet(report, "No views yet.")
    chart = charts.heat_map("peaks", "Views by day of the week and hour", insight, week, names)
    busy = sorted(
        ((found, line, hour) for line, row in enumerate(week) for hour, found in enumerate(row) if found),
        key=lambda each: (-each[0], each[1], each[2]),
    )
    lines = tuple((names[line], f"{hour:02d}:00", words.count(found)) for found, line, hour in busy)
    return Figure("peaks", "When they read", insight, chart, ("Day", "Hour (UTC)", "Views"), lines)


def _peak(week: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    most, line, hour = max((found, -line, -hour) for line, row in enumerate(week) for hour, found in enumerate(row))
    if not most:
        return ""
    return f"The busiest hour is {names[-line]}, {words.hour(-hour)} UTC: {words.plural(most, 'view')}."


def breakdowns(report: Row) -> list[Breakdown]:
    """Return the breakdowns that the plan includes and that are not empty."""
    found = []
    for key, title in _BREAKDOWNS:
        counted = [(text(row.get("label")) or "Unknown", number(row.get("count"))) for row in rows(report.get(key))]
        if not counted:
            continue
        labels = _labels(counted, _NAMED.get(key, str))
        found.append(Breakdown(key, title, labels[:_SHOWN_LABELS], labels[_SHOWN_LABELS:]))
    return found


def _labels(counted: Sequence[tuple[str, int]], named: Callable[[str], str]) -> tuple[Label, ...]:
    whole = sum(found for _, found in counted) or 1
    highest = max((found for _, found in counted), default=0) or 1
    return tuple(
        Label(
            named(label),
            words.count(found),
            words.percent(half_up(found * 100 / whole)),
            charts.bar(found * 100 / highest),
        )
        for label, found in counted
    )
