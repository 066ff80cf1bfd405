"""Render a readership report for a terminal: numbers, a sparkline, bars and tables.

A report lacks the sections that the plan does not include, and it may have sections that this version does not know.
Missing sections are skipped, and unknown ones are printed as names and values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.readership.days import format_day
from docshare.cli.commands.readership.sections import BREAKDOWNS, HEADER_KEYS, SUMMARY, describe_upgrade, flatten
from docshare.cli.commands.readership.sessions import build_session_columns, format_number
from docshare.cli.terminal import table
from docshare.cli.terminal.cells import format_cell
from docshare.cli.terminal.charts import draw_bar, draw_shades, draw_sparkline
from docshare.cli.terminal.output import Column
from docshare.cli.terminal.text import cell_width, clean, clip
from docshare.client.recipients import read_number
from docshare.contract.amounts import format_plural
from docshare.contract.limits import REPORT_SESSIONS

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

Row = Mapping[str, Any]

_MAX_ROWS = 10
_MAX_BAR_WIDTH = 40  # cells
_MAX_LABEL_WIDTH = 32
_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_HOURS = 24
_PERCENT_WIDTH = len("100.0 %")
_DURATIONS = frozenset({"avgTimeMs", "medianTimeMs"})
_PERCENTAGES = frozenset({"completionRate", "backTurnShare"})

_VARIANTS = (
    Column("label", "LABEL", role="bold", flexible=True),
    Column("sessions", "SESSIONS"),
    Column("avgTimeMs", "AVERAGE", kind="duration"),
    Column("revoked", "REVOKED", kind="flag", rank=1),
    Column("redacted", "REDACTED", kind="flag", rank=2),
    Column("uuid", "UUID", role="id", rank=3),
)
_TAPS = (
    Column("label", "HOTSPOT", role="bold", flexible=True),
    Column("page", "PAGE"),
    Column("count", "TAPS"),
    Column("hotspotUuid", "UUID", role="id", rank=1),
)


def render_report(report: Row, keys: Sequence[str], file: str, context: "Context") -> Iterator[str]:
    """Yield the header, the sections ``keys`` of ``report``, and a line about sections that need a higher plan.
    ``file`` is the argument of the user."""
    yield from _render_header(report, context)
    for key in keys:
        if key not in HEADER_KEYS:
            yield from _Section(report, key, file, context).render()
    above = describe_upgrade(report)
    if above:
        yield ""
        yield context.out_screen.paint("dim", above)


def _render_header(report: Row, context: "Context") -> Iterator[str]:
    screen = context.out_screen
    file = report.get("file")
    facts: Row = file if isinstance(file, Mapping) else {}
    name = screen.paint("bold", clean(str(facts.get("originalName", "")))) if facts.get("originalName") else ""
    plan = f"plan {clean(str(report['tier']))}" if "tier" in report else ""
    words = (name, plan, _describe_page_range(report, facts))
    yield f" {screen.glyph('·')} ".join(word for word in words if word)


def _describe_page_range(report: Row, file: Row) -> str:
    """Return ``pages 3-9 shown (7)`` if the file has a page range."""
    size = int(read_number(report, "effectivePages"))
    if file.get("pageRangeEmpty"):
        return "no pages shown: the page range is outside this version"
    if not size:
        return ""
    pages = file.get("pageRange")
    first = int(read_number(pages, "from")) if isinstance(pages, Mapping) else 0
    return f"pages {first}-{first + size - 1} shown ({size})" if first else f"{size} pages shown"


class _Section:
    """Renders one section of a report."""

    def __init__(self, report: Row, key: str, file: str, context: "Context") -> None:
        self._report = report
        self._key = key
        self._file = file
        self._ctx = context
        self._screen = context.out_screen

    def render(self) -> Iterator[str]:
        """Yield a blank line and the section, or nothing if the section is empty."""
        value = self._report[self._key]
        shape, draw = self._choose_renderer()
        lines = draw(value) if isinstance(value, shape) and _is_regular(value) else self._render_tree()
        first = next(lines, None)
        if first is not None:
            yield ""
            yield first
            yield from lines

    def _choose_renderer(self) -> tuple[type, Callable[[Any], Iterator[str]]]:
        if self._key in BREAKDOWNS:
            return list, self._render_breakdown
        drawers: dict[str, tuple[type, Callable[[Any], Iterator[str]]]] = {
            "summary": (dict, self._render_summary),
            "viewsOverTime": (list, self._render_views),
            "funnel": (list, self._render_funnel),
            "peakTimes": (list, self._render_times),
            "sessions": (list, self._render_sessions),
            "contacts": (list, self._render_contacts),
            "hotspotTaps": (list, lambda rows: self._render_table("hotspots", _TAPS, rows)),
            "ctaTaps": (int, self._render_button),
            "variants": (list, lambda rows: self._render_table("variants", _VARIANTS, rows)),
        }
        return drawers.get(self._key, (object, lambda value: self._render_tree()))

    def _render_summary(self, summary: Row) -> Iterator[str]:
        known = [Column(key, title, **_column_options(key)) for key, title in SUMMARY.items() if key in summary]
        unknown = [Column(key, clean(key)) for key in summary if key not in SUMMARY]
        yield from table.render_pairs([*known, *unknown], summary, self._ctx)

    def _render_views(self, days: list[Row]) -> Iterator[str]:
        if not days:
            return
        counts = [read_number(day, "count") for day in days]
        total = f"{format_number(sum(counts))}"
        if any(counts):
            best = days[counts.index(max(counts))]
            total += f", most on {clean(str(best.get('day')))}: {format_number(max(counts))}"
        yield self._render_title("views", self._describe_days([clean(str(day.get("day"))) for day in days]))
        yield f"{draw_sparkline(counts, self._screen)}  {total}"

    def _describe_days(self, days: Sequence[str]) -> str:
        """Return ``the last 7 days`` if the last one is today (UTC), else the first and the last one."""
        if len(days) == 1:
            return days[0]
        if days[-1] == format_day(self._ctx.now()):
            return f"the last {len(days)} days"
        return f"{days[0]} to {days[-1]}"

    def _render_funnel(self, pages: list[Row]) -> Iterator[str]:
        rows = [
            (
                f"page {format_cell(row.get('page'))}",
                read_number(row, "reached"),
                f"{format_number(read_number(row, 'pct'))} %",
            )
            for row in pages
        ]
        yield from self._render_bars("funnel", rows, "sessions that reached a page", ends=True)

    def _render_breakdown(self, rows: list[Row]) -> Iterator[str]:
        bars = [(clean(str(row.get("label", ""))), read_number(row, "count"), "") for row in rows]
        yield from self._render_bars(BREAKDOWNS[self._key], bars)

    def _render_bars(
        self, title: str, rows: Sequence[tuple[str, float, str]], remark: str = "", *, ends: bool = False
    ) -> Iterator[str]:
        """Yield bars for the first rows of (label, value, suffix); with ``ends``, also for the last one."""
        if not rows:
            return
        yield self._render_title(title, remark)
        cut = ends and len(rows) > _MAX_ROWS
        drawn_rows = [*rows[: _MAX_ROWS - 1], rows[-1]] if cut else rows[:_MAX_ROWS]
        mark = self._screen.glyph("…")
        labels = [clip(label, _MAX_LABEL_WIDTH, mark) for label, _, _ in drawn_rows]
        wide = max(map(cell_width, labels))
        digits = max(len(format_number(value)) for _, value, _ in drawn_rows)
        room = self._screen.width - wide - digits - max(len(words) for _, _, words in drawn_rows) - 6
        largest = max(value for _, value, _ in rows)
        for at, (label, (_, value, words)) in enumerate(zip(labels, drawn_rows, strict=True), 1):
            if cut and at == _MAX_ROWS:
                yield from self._render_more(len(rows), "")
            bar = draw_bar(value, largest, max(min(room, _MAX_BAR_WIDTH), 1), self._screen)
            padded = f"{label}{' ' * (wide - cell_width(label))}  {format_number(value):>{digits}}"
            share = f"  {words:>{_PERCENT_WIDTH}}" if words else ""
            yield f"{padded}{share}  {self._screen.paint('id', bar)}".rstrip()
        if not cut:
            yield from self._render_more(len(rows), "")

    def _render_times(self, rows: list[Row]) -> Iterator[str]:
        counts = {(read_number(row, "dow"), read_number(row, "hour")): read_number(row, "count") for row in rows}
        largest = max(counts.values(), default=0)
        if not largest:
            return
        yield self._render_title("times", "day and hour in UTC")
        yield self._screen.paint("dim", "     " + "".join(f"{hour:<6}" for hour in range(0, _HOURS, 6)).rstrip())
        for day in (*range(1, 7), 0):
            line = draw_shades([counts.get((day, hour), 0) for hour in range(_HOURS)], largest, self._screen)
            yield f"{_DAYS[day]}  {line}"

    def _render_sessions(self, rows: list[Row]) -> Iterator[str]:
        variants = self._report.get("variants")
        known = variants if isinstance(variants, list) else []
        labels = {str(row.get("uuid")): str(row["label"]) for row in known if isinstance(row, dict) and "label" in row}
        see = f"docshare readership sessions {self._file}"
        yield from self._render_table(
            "sessions", build_session_columns(labels), rows, see, self._count_sessions(len(rows))
        )

    def _count_sessions(self, listed: int) -> int:
        """Return the total number of sessions, because the report has only the newest ones."""
        summary = self._report.get("summary")
        if listed < REPORT_SESSIONS or not isinstance(summary, Mapping):
            return listed
        return max(listed, int(read_number(summary, "totalSessions")))

    def _render_contacts(self, rows: list[Row]) -> Iterator[str]:
        fields = [row["fields"] for row in rows if isinstance(row.get("fields"), Mapping)]
        names = dict.fromkeys(str(name) for each in fields for name in each)
        columns = [Column("createdAt", "WHEN", kind="when")]
        columns += [
            Column(f"fields.{name}", clean(name).upper(), flexible=True, show=_make_field_getter(name))
            for name in names
        ]
        yield from self._render_table(
            "contacts", tuple(columns), rows, f"docshare events list --type gate --file {self._file}"
        )

    def _render_button(self, taps: int) -> Iterator[str]:
        file = self._report.get("file")
        looks = file.get("viewerSettings") if isinstance(file, Mapping) else None
        if not taps and isinstance(looks, Mapping) and "cta" not in looks:
            return  # the share page has no button
        yield f"{self._render_title('button')}  {format_plural(taps, 'tap')}"

    def _render_table(
        self, title: str, shown: tuple[Column, ...], rows: list[Row], see: str = "", total: int = 0
    ) -> Iterator[str]:
        """Yield a table of the first ``rows`` and how many more there are of ``total`` (default: all rows)."""
        if not rows:
            return
        yield self._render_title(title)
        yield from table.render_table(shown, rows[:_MAX_ROWS], self._ctx)
        yield from self._render_more(total or len(rows), see)

    def _render_more(self, count: int, see: str) -> Iterator[str]:
        if count > _MAX_ROWS:
            words = f"{self._screen.glyph('…')}and {count - _MAX_ROWS} more"
            yield self._screen.paint("dim", words + (f": {clean(see)}" if see else ""))

    def _render_tree(self) -> Iterator[str]:
        """Yield any value as names and values."""
        leaves = [(clean(row.key), format_cell(row.value)) for row in flatten(self._report, (self._key,))]
        if not leaves:
            return
        yield self._render_title(clean(self._key))
        width = max(cell_width(name) for name, _ in leaves)
        for name, value in leaves:
            label = self._screen.paint("dim", name + " " * (width - cell_width(name)))
            yield f"{label}  {value}" if name else value

    def _render_title(self, text: str, remark: str = "") -> str:
        title = self._screen.paint("bold", text)
        return f"{title}  {self._screen.paint('dim', remark)}" if remark else title


def _is_regular(value: Any) -> bool:
    """Return whether a list contains only objects, as every known list of a report does."""
    return not isinstance(value, list) or all(isinstance(row, Mapping) for row in value)


def _column_options(key: str) -> dict[str, Any]:
    if key in _DURATIONS:
        return {"kind": "duration"}
    return {"show": lambda row: f"{format_number(read_number(row, key))} %"} if key in _PERCENTAGES else {}


def _make_field_getter(name: str) -> Callable[[Row], str]:
    return lambda row: format_cell(row["fields"].get(name)) if isinstance(row.get("fields"), Mapping) else ""
