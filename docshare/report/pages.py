"""The pages of the document: the reading time of each, with thumbnails."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from docshare.report import charts, words
from docshare.report.charts import Figure
from docshare.report.values import Row, block, number, rows

SHOWN = 60  # pages with a thumbnail; a table lists the others
_LISTED = 2_000
_LAST = 10**6  # no document has so many pages
HEAD = ("Page", "Time on average", "Views", "By turning back")


@dataclass(frozen=True)
class Picture:
    """A thumbnail of a page: its address (``data:`` is allowed) and its size, of which only the ratio matters."""

    src: str
    width: int
    height: int


@dataclass(frozen=True)
class Leaf:
    """One page: its number, its average time as text and as a bar, its views, and the views by turning back;
    ``longest``: it has the longest average time of all pages."""

    number: int
    time: str
    bar: Markup
    views: str
    back: str
    longest: bool
    picture: Picture | None


@dataclass(frozen=True)
class Pages:
    """``leaves``: the first pages, with thumbnails; ``more``: the rest, as lines of a table; ``unlisted``: the number
    of pages beyond that; ``insight``: a sentence about all pages; ``chart``: replaces the leaves if there are no
    thumbnails."""

    leaves: tuple[Leaf, ...]
    more: tuple[tuple[str, ...], ...]
    unlisted: int
    insight: str
    chart: Figure | None


def pages(answer: Row | None, pictures: Mapping[int, Picture], seen: tuple[int, int] | None) -> Pages | None:
    """Return the pages of ``GET .../readership/pages``; None without it. ``seen``: the first and the last page of the
    page range, if there is one."""
    told = _told(answer, seen)
    if not told:
        return None
    longest = max(number(row.get("avgDurationMs")) for row in told)
    insight = _insight(told, longest)
    if not pictures:
        lines = tuple(_line(row) for row in told[:_LISTED])
        return Pages((), (), max(0, len(told) - _LISTED), insight, _chart(told, longest, insight, lines))
    leaves = tuple(_leaf(row, longest, pictures) for row in told[:SHOWN])
    more = tuple(_line(row) for row in told[SHOWN : SHOWN + _LISTED])
    return Pages(leaves, more, max(0, len(told) - SHOWN - _LISTED), insight, None)


def first_pages(answer: Row | None, seen: tuple[int, int] | None) -> list[int]:
    """Return the numbers of the pages with a thumbnail."""
    return [number(row.get("pageNumber")) for row in _told(answer, seen)[:SHOWN]]


def _told(answer: Row | None, seen: tuple[int, int] | None) -> list[Row]:
    first, last = seen or (1, _LAST)
    told = rows(block(answer).get("pages"))
    # A page outside the range may have been read before the range was set, or through a link that shows more.
    return [row for row in told if first <= number(row.get("pageNumber")) <= last or number(row.get("views"))]


def _leaf(row: Row, longest: int, pictures: Mapping[int, Picture]) -> Leaf:
    page, millis = number(row.get("pageNumber")), number(row.get("avgDurationMs"))
    time, views, back = _facts(row)
    share = millis * 100 / longest if longest else 0.0
    return Leaf(page, time, charts.bar(share), views, back, bool(longest) and millis == longest, pictures.get(page))


def _line(row: Row) -> tuple[str, ...]:
    return (words.count(number(row.get("pageNumber"))), *_facts(row))


def _chart(told: list[Row], longest: int, insight: str, lines: tuple[tuple[str, ...], ...]) -> Figure:
    top = charts.rounded_time(longest)
    shown = charts.thinned(told)
    columns = []
    for place, row in enumerate(shown):
        page, millis = words.count(number(row.get("pageNumber"))), number(row.get("avgDurationMs"))
        said = f"Page {page}: {words.duration(millis)} on average"
        columns.append(charts.numbered(place, len(shown), page, millis * 100 / top, said))
    scale = tuple(words.duration(top * quarter // 4) for quarter in (4, 3, 2, 1, 0))
    chart = charts.columns("times", "Average time on each page", insight, columns, scale)
    return Figure("times", "Average time on each page", insight, chart, HEAD, lines)


def _facts(row: Row) -> tuple[str, str, str]:
    """Return the average time, the views, and the views by turning back."""
    return (
        words.duration(number(row.get("avgDurationMs"))),
        words.count(number(row.get("views"))),
        words.count(number(row.get("backTurns"))),
    )


def _insight(told: list[Row], longest: int) -> str:
    if not longest:
        return "No page has been viewed yet."
    first = next(row for row in told if number(row.get("avgDurationMs")) == longest)
    page = words.count(number(first.get("pageNumber")))
    said = f"Readers stay longest on page {page}: {words.duration(longest)} on average."
    unseen = sum(1 for row in told if not number(row.get("views")))
    if not unseen:
        return said
    return f"{said} {words.plural(unseen, 'page has', 'pages have')} not been viewed."
