"""The report of all files of an account over a range of days."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from docshare.contract.amounts import divide_half_up
from docshare.report import charts, overview, people, periods, words
from docshare.report.overview import Tile
from docshare.report.people import FileFacts, SessionEntry
from docshare.report.periods import ReportPeriod
from docshare.report.values import Row, clean_text, list_objects, read_number, read_object

_MAX_FILES = 100
ORDERS = {"views": "sessions", "time": "timeMs"}
"""Order of the files -> the key that it compares, most first."""


@dataclass(frozen=True)
class AccountReportInput:
    """The input of the page at ``address``: ``files`` and ``before``, rows of sums by file (``uuid``, ``name``,
    ``sessions``, ``timeMs``, ``visitors``) on the days of ``period`` and of the range before; ``days``: rows of views
    by day; ``newest``: sessions with their ``file``; both None if the plan does not include them. ``order``: a key of
    ``ORDERS``."""

    address: str
    period: ReportPeriod
    files: Sequence[Row]
    before: Sequence[Row]
    days: Sequence[Row] | None
    newest: Sequence[Row] | None
    order: str = "views"


@dataclass(frozen=True)
class FileLine:
    """One file: its views with a bar and their ``change`` since the range before, and its reading time."""

    name: str
    href: str
    views: str
    change: str
    total: str
    average: str
    bar: Markup


@dataclass(frozen=True)
class AccountSessionLine:
    """One session and the ``file`` that was read."""

    session: SessionEntry
    file: str
    href: str


def build_account_context(material: AccountReportInput) -> dict[str, Any]:
    """Return the variables of ``account.html``."""
    period = material.period
    now, before = _sum_up(material.files), _sum_up(material.before)
    summary = {"summary": {"uniqueVisitors": now["visitors"]}}
    compared = ReportPeriod(period.first, period.last, {"uniqueVisitors": before["visitors"]}, period.preset)
    chart = None if material.days is None else {"viewsOverTime": list(material.days)}
    return {
        "ranges": periods.list_choices(material.address, period)[:-1],  # not all time
        "period": period,
        "period_words": periods.describe_period(summary, compared),
        "report_address": material.address,
        "tiles": _list_tiles(material, now, before),
        "views": None if chart is None else overview.build_views_figure(chart, "Views per day"),
        "files": _list_files(material),
        "unlisted": max(0, len(material.files) - _MAX_FILES),
        "orders": [(key, f"{material.address}?{period.query}&sort={key}", key == material.order) for key in ORDERS],
        "sessions": None
        if material.newest is None
        else [_build_line(row) for row in list_objects(list(material.newest))],
    }


def _sum_up(rows: Sequence[Row]) -> dict[str, int]:
    return {key: sum(read_number(row.get(key)) for row in rows) for key in ("sessions", "timeMs", "visitors")}


def _list_tiles(material: AccountReportInput, now: dict[str, int], before: dict[str, int]) -> list[Tile]:
    def compare(key: str) -> str:
        return periods.describe_change(now[key], before[key])

    average, average_before = (divide_half_up(each["timeMs"], max(each["sessions"], 1)) for each in (now, before))
    files, files_before = len(material.files), len(material.before)
    return [
        Tile("Views", words.format_count(now["sessions"]), "finished sessions", compare("sessions")),
        Tile("Visitors", words.format_count(now["visitors"]), "counted for each file", compare("visitors")),
        Tile(
            "Average reading time",
            words.format_millis(average),
            f"{words.format_millis(now['timeMs'])} in total",
            periods.describe_time_change(average, average_before),
        ),
        Tile("Files read", words.format_count(files), "", periods.describe_change(files, files_before)),
    ]


def _list_files(material: AccountReportInput) -> list[FileLine]:
    key = ORDERS[material.order]
    rows = sorted(material.files, key=lambda row: -read_number(row.get(key)))
    highest = read_number(rows[0].get(key)) if rows else 0
    before = {clean_text(row.get("uuid")): read_number(row.get("sessions")) for row in material.before}
    return [_build_file_line(material, row, highest, before) for row in rows[:_MAX_FILES]]


def _build_file_line(material: AccountReportInput, row: Row, highest: int, before: dict[str, int]) -> FileLine:
    uuid, views, millis = clean_text(row.get("uuid")), read_number(row.get("sessions")), read_number(row.get("timeMs"))
    share = read_number(row.get(ORDERS[material.order])) * 100 / highest if highest else 0.0
    return FileLine(
        clean_text(row.get("name")) or "Document",
        f"/readership/{uuid}?{material.period.query}",
        words.format_count(views),
        periods.describe_change(views, before.get(uuid, 0)),
        words.format_millis(millis),
        words.format_millis(divide_half_up(millis, max(views, 1))),
        charts.draw_bar(share),
    )


def _build_line(row: Row) -> AccountSessionLine:
    file = read_object(row.get("file"))
    uuid, total = clean_text(file.get("uuid")), read_number(file.get("totalPages"))
    label, variant = clean_text(file.get("label")), clean_text(row.get("variantUuid"))
    facts = FileFacts({variant: label} if variant else {}, read_number(file.get("contentVersion")), total, total)
    address = f"/readership/{uuid}"
    return AccountSessionLine(
        people.build_session(row, facts, f"{address}/sessions"), clean_text(file.get("name")) or "Document", address
    )
