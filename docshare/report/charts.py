"""The charts: columns, a heat map of hours, and bars. Callers check the numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from docshare.contract.amounts import format_plural
from docshare.report import words
from docshare.report.svg import decorative_svg, described_svg, element, format_length, tooltip

HEAT_LEVELS = 5
_SCALE_TOPS = (4, 8, 20, 40, 60, 120, 240, 600, 1_200, 2_400, 3_600, 7_200, 14_400, 86_400)  # seconds
_Item = TypeVar("_Item")
_MAX_COLUMNS = 120
_MAX_COLUMN_WIDTH = 14.0  # percent of the chart; the only column of a chart would look like a wall
_MAX_CENTERED_COLUMNS = 20  # with more columns, centered labels of the outer ones would extend beyond the chart
_GRID_LINES = (0.0, 25.0, 50.0, 75.0)  # percent from the top


@dataclass(frozen=True)
class ChartColumn:
    """``share``: height in percent of the chart; ``tip``: tooltip; ``label``: label on the axis, if any, shown on wide
    screens only if ``minor``; ``strong``: highlighted."""

    share: float
    tip: str
    label: str = ""
    minor: bool = False
    strong: bool = False


@dataclass(frozen=True)
class Chart:
    """``plot`` and the ``axis`` below it; ``scale``: labels beside the plot, from top to bottom."""

    plot: Markup
    axis: Markup
    scale: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart with its heading, a sentence that summarizes it, and the same data as a table (``head``, ``lines``)."""

    key: str
    title: str
    insight: str
    chart: Chart
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def thin_out(found: Sequence[_Item]) -> Sequence[_Item]:
    """Return evenly spaced items of ``found``, at most as many as a chart has columns."""
    return found[:: max(1, -(-len(found) // _MAX_COLUMNS))]


def page_column(place: int, count: int, page: str, share: float, tip: str) -> ChartColumn:
    """Return the column of a page at ``place`` of ``count`` columns; about every twelfth has its number as label."""
    each = max(1, -(-count // 12))
    return ChartColumn(share, tip, page if place % each == 0 else "", minor=place % (each * 2) != 0)


def draw_columns(key: str, title: str, description: str, found: Sequence[ChartColumn], scale: tuple[str, ...]) -> Chart:
    """Return a column chart over a grid; ``scale``: labels beside it, from top to bottom."""
    step = 100 / max(len(found), 1)
    gap = max(min(step * 0.22, 0.7), (step - _MAX_COLUMN_WIDTH) / 2)
    columns = [_draw_column(number * step, step, gap, column) for number, column in enumerate(found)]
    plot = described_svg(key, title, description, *_draw_grid(), *columns, class_="plot")
    return Chart(plot, _draw_axis(found, step), scale)


def _draw_grid() -> list[Markup]:
    return [
        element("line", x1="0", x2="100%", y1=format_length(y), y2=format_length(y), class_="grid") for y in _GRID_LINES
    ]


def _draw_column(x: float, step: float, gap: float, column: ChartColumn) -> Markup:
    # A value above zero must be visible.
    height = max(column.share, 0.8) if column.share > 0 else 0
    bar = element(
        "rect", x=format_length(x + gap), y=format_length(100 - height), width=format_length(step - 2 * gap),
        height=format_length(height),
        rx="2", class_="bar strong" if column.strong else "bar",
    )  # fmt: skip
    reach = element("rect", x=format_length(x), y="0", width=format_length(step), height="100%", class_="reach")
    return element("g", tooltip(column.tip), reach, bar, class_="tipped")


def _draw_axis(found: Sequence[ChartColumn], step: float) -> Markup:
    labels = []
    for number, column in enumerate(found):
        if not column.label:
            continue
        x, anchor = (number + 0.5) * step, "middle"
        if len(found) > _MAX_CENTERED_COLUMNS and number == 0:
            x, anchor = 0.0, "start"
        elif len(found) > _MAX_CENTERED_COLUMNS and number == len(found) - 1:
            x, anchor = 100.0, "end"
        class_ = "minor" if column.minor else None
        labels.append(element("text", column.label, x=format_length(x), y="14", text_anchor=anchor, class_=class_))
    return decorative_svg(*labels, class_="axis")


def round_count_scale(highest: int) -> int:
    """Return the top of a scale for counts: 4, 8, 20, 40, 80, 200, ..., so that its quarters are integers."""
    unit = 1
    while unit * 20 < highest:
        unit *= 10
    return next(factor * unit for factor in (4, 8, 20) if factor * unit >= highest)


def round_time_scale(longest: int) -> int:
    """Return the top of a scale for durations of up to ``longest`` (both in ms), so that its quarters are round."""
    return next((top * 1_000 for top in _SCALE_TOPS if top * 1_000 >= longest), longest)


def draw_heat_map(
    key: str, title: str, description: str, cells: Sequence[Sequence[int]], names: Sequence[str]
) -> Chart:
    """Return a heat map with rows of 24 hours, labeled ``names``; darker cells have higher counts."""
    highest = max((count for row in cells for count in row), default=0)
    height = 100 / len(cells)
    elements = []
    for line, row in enumerate(cells):
        for hour, found in enumerate(row):
            tip = f"{names[line]}, {words.format_hour(hour)} UTC: {format_plural(found, 'view')}"
            elements.append(_draw_cell(hour * 100 / 24, line * height, height, found, highest, tip))
    labels = [
        element("text", f"{hour:02d}", x=format_length((hour + 0.5) * 100 / 24), y="14", text_anchor="middle",
                class_="minor" if hour % 6 else None)
        for hour in range(0, 24, 3)
    ]  # fmt: skip
    return Chart(
        described_svg(key, title, description, *elements, class_="plot heat-map"),
        decorative_svg(*labels, class_="axis"),
        tuple(name[:3] for name in names),
    )


def _draw_cell(x: float, y: float, height: float, found: int, highest: int, tip: str) -> Markup:
    level = heat_level(found, highest)
    box = element(
        "rect", x=format_length(x + 0.25), y=format_length(y + 0.8), width=format_length(100 / 24 - 0.5),
        height=format_length(height - 1.6),
        rx="4", class_=f"heat heat-{level}",
    )  # fmt: skip
    if not found:
        return box
    middle = {
        "x": format_length(x + 50 / 24),
        "y": format_length(y + height / 2),
        "dy": "0.35em",
        "text_anchor": "middle",
    }
    short = str(found) if found < 1_000 else "∞" if found >= 10**6 else f"{found // 1_000}k"
    word = element("text", short, class_=f"heat-word on-{level}", **middle)
    return element("g", tooltip(tip), box, word, class_="tipped")


def heat_level(found: int, highest: int) -> int:
    """Return the heat level of ``found`` relative to ``highest``: 0 for no views, up to ``HEAT_LEVELS``."""
    return math.ceil(found / highest * HEAT_LEVELS) if highest and found else 0


def draw_bar(share: float, class_: str = "") -> Markup:
    """Return one bar of ``share`` percent on its track."""
    fill = element("rect", width=format_length(share), height="100%", rx="3", class_="bar")
    return decorative_svg(fill, class_=f"track {class_}".strip())


def draw_stack(parts: Sequence[tuple[str, int]]) -> Markup:
    """Return a stacked bar of parts ``(class, number)``."""
    whole = sum(found for _, found in parts) or 1
    elements, x = [], 0.0
    for class_, found in parts:
        width = found * 100 / whole
        if found:
            elements.append(
                element("rect", x=format_length(x), width=format_length(width), height="100%", class_=class_)
            )
        x += width
    return decorative_svg(*elements, class_="track stack")
