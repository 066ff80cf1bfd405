"""The pages of the document: the reading time of each as a strip of thumbnails, and how many readers reached it."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from docshare.contract.amounts import format_plural
from docshare.report import charts, words
from docshare.report.charts import Figure
from docshare.report.values import Row, list_objects, read_number, read_object, read_percentage

MAX_THUMBNAILS = 60  # pages with a thumbnail; a table lists the others
_MAX_TABLE_ROWS = 2_000
_MAX_PAGE = 10**6  # no document has so many pages
TABLE_HEAD = ("Page", "Time on average", "Views", "By turning back")


@dataclass(frozen=True)
class Thumbnail:
    """A thumbnail of a page: its address (``data:`` is allowed) and its size, of which only the ratio matters;
    ``small``: address of a smaller one for the strip of pages, "" if there is none."""

    src: str
    width: int
    height: int
    small: str = ""


@dataclass(frozen=True)
class PageTile:
    """One page: its number, its average time as text, as a bar and as a heat ``level`` (0 to ``HEAT_LEVELS``), its
    views, the views by turning back, and the share of sessions that ``reached`` it ("" if the plan does not include
    it); ``drop``: the number of sessions that went no further than the page before; ``longest``: it has the longest
    average time of all pages."""

    number: int
    time: str
    bar: Markup
    level: int
    views: str
    back: str
    reached: str
    drop: str
    longest: bool
    picture: Thumbnail | None


@dataclass(frozen=True)
class PagesSection:
    """``leaves``: the first pages, with thumbnails; ``more``: the rest, as lines of a table; ``unlisted``: the number
    of pages beyond that; ``insight``: a sentence about all pages; ``chart``: replaces the leaves if there are no
    thumbnails; ``legend``: the longest time of each heat level, from the lowest."""

    leaves: tuple[PageTile, ...]
    more: tuple[tuple[str, ...], ...]
    unlisted: int
    insight: str
    chart: Figure | None
    legend: tuple[str, ...] = ()


def build_pages_section(
    answer: Row | None, pictures: Mapping[int, Thumbnail], seen: tuple[int, int] | None, funnel: object = None
) -> PagesSection | None:
    """Return the pages of ``GET .../readership/pages``; None without it. ``seen``: the first and the last page of the
    page range, if there is one; ``funnel``: that of the report."""
    rows = _list_visible_pages(answer, seen)
    if not rows:
        return None
    longest = max(read_number(row.get("avgDurationMs")) for row in rows)
    insight = _describe_pages(rows, longest)
    if not pictures:
        lines = tuple(_build_table_row(row) for row in rows[:_MAX_TABLE_ROWS])
        return PagesSection(
            (), (), max(0, len(rows) - _MAX_TABLE_ROWS), insight, _build_figure(rows, longest, insight, lines)
        )
    steps = _read_funnel(funnel)
    leaves = tuple(_build_tile(row, longest, pictures, steps) for row in rows[:MAX_THUMBNAILS])
    more = tuple(_build_table_row(row) for row in rows[MAX_THUMBNAILS : MAX_THUMBNAILS + _MAX_TABLE_ROWS])
    unlisted = max(0, len(rows) - MAX_THUMBNAILS - _MAX_TABLE_ROWS)
    return PagesSection(leaves, more, unlisted, insight, None, _build_legend(longest))


def list_thumbnail_numbers(answer: Row | None, seen: tuple[int, int] | None) -> list[int]:
    """Return the numbers of the pages with a thumbnail."""
    return [read_number(row.get("pageNumber")) for row in _list_visible_pages(answer, seen)[:MAX_THUMBNAILS]]


def _list_visible_pages(answer: Row | None, seen: tuple[int, int] | None) -> list[Row]:
    first, last = seen or (1, _MAX_PAGE)
    rows = list_objects(read_object(answer).get("pages"))
    # A page outside the range may have been read before the range was set, or through a link that shows more.
    return [row for row in rows if first <= read_number(row.get("pageNumber")) <= last or read_number(row.get("views"))]


def _build_legend(longest: int) -> tuple[str, ...]:
    if not longest:
        return ()
    levels = range(1, charts.HEAT_LEVELS + 1)
    return tuple(words.format_millis(longest * level // charts.HEAT_LEVELS) for level in levels)


def _read_funnel(funnel: object) -> dict[int, tuple[int, float]]:
    """Return the number of sessions that reached each page, and their share in percent."""
    return {
        read_number(step.get("page")): (read_number(step.get("reached")), read_percentage(step.get("pct")))
        for step in list_objects(funnel)
    }


def _describe_drop(page: int, steps: Mapping[int, tuple[int, float]]) -> str:
    """Return how many sessions went no further than the page before ``page``; empty without any."""
    lost = steps.get(page - 1, (0, 0.0))[0] - steps.get(page, (0, 0.0))[0]
    return words.format_count(lost) if page in steps and lost > 0 else ""


def _build_tile(
    row: Row, longest: int, pictures: Mapping[int, Thumbnail], steps: Mapping[int, tuple[int, float]]
) -> PageTile:
    page, millis = read_number(row.get("pageNumber")), read_number(row.get("avgDurationMs"))
    time, views, back = _format_page_facts(row)
    share = millis * 100 / longest if longest else 0.0
    return PageTile(
        page,
        time,
        charts.draw_bar(share),
        charts.heat_level(millis, longest),
        views,
        back,
        words.format_percent(steps[page][1]) if page in steps else "",
        _describe_drop(page, steps),
        bool(longest) and millis == longest,
        pictures.get(page),
    )


def _build_table_row(row: Row) -> tuple[str, ...]:
    return (words.format_count(read_number(row.get("pageNumber"))), *_format_page_facts(row))


def _build_figure(rows: list[Row], longest: int, insight: str, lines: tuple[tuple[str, ...], ...]) -> Figure:
    top = charts.round_time_scale(longest)
    thinned = charts.thin_out(rows)
    columns = []
    for place, row in enumerate(thinned):
        page, millis = words.format_count(read_number(row.get("pageNumber"))), read_number(row.get("avgDurationMs"))
        text = f"Page {page}: {words.format_millis(millis)} on average"
        columns.append(charts.page_column(place, len(thinned), page, millis * 100 / top, text))
    scale = tuple(words.format_millis(top * quarter // 4) for quarter in (4, 3, 2, 1, 0))
    chart = charts.draw_columns("times", "Average time on each page", insight, columns, scale)
    return Figure("times", "Average time on each page", insight, chart, TABLE_HEAD, lines)


def _format_page_facts(row: Row) -> tuple[str, str, str]:
    """Return the average time, the views, and the views by turning back."""
    return (
        words.format_millis(read_number(row.get("avgDurationMs"))),
        words.format_count(read_number(row.get("views"))),
        words.format_count(read_number(row.get("backTurns"))),
    )


def _describe_pages(rows: list[Row], longest: int) -> str:
    if not longest:
        return "No page has been viewed yet."
    first = next(row for row in rows if read_number(row.get("avgDurationMs")) == longest)
    page = words.format_count(read_number(first.get("pageNumber")))
    text = f"Readers stay longest on page {page}: {words.format_millis(longest)} on average."
    unseen = sum(1 for row in rows if not read_number(row.get("views")))
    if not unseen:
        return text
    return f"{text} {format_plural(unseen, 'page has', 'pages have')} not been viewed."
