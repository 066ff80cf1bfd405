"""The strip in the row of a session: one column per page of the document, as high as the time on it is long."""

from markupsafe import Markup

from docshare.contract.amounts import format_plural
from docshare.report import words
from docshare.report.svg import element, tooltip
from docshare.report.values import Row, list_objects, read_number

_MAX_COLUMNS = 60  # a column of a longer document stands for several pages
_NAMED_PAGES = 3  # pages in the text alternative, those with most time
_MIN_HEIGHT = 12  # percent; a page that was seen must be visible


def draw_page_strip(row: Row, total: int) -> Markup | None:
    """Return the strip of a session of a document of ``total`` pages; None if it has no pages or no time on them."""
    times = _read_times(row)
    longest = max(times.values(), default=0)
    if not longest:
        return None
    total = max(total, *times)
    width = -(-total // _MAX_COLUMNS)  # pages per column
    columns: dict[int, int] = {}
    for page, millis in times.items():
        place = (page - 1) // width
        columns[place] = columns.get(place, 0) + millis
    highest = max(columns.values())
    text = _describe_times(times)
    # One path, because fifty rows of sixty elements each would make the page heavy.
    path = "".join(_draw_column(place, millis * 100 // highest) for place, millis in sorted(columns.items()) if millis)
    return element(
        "svg", tooltip(text), element("path", d=path), class_="page-strip", role="img", aria_label=text,
        viewBox=f"0 0 {-(-total // width) * 10} 100", preserveAspectRatio="none",
    )  # fmt: skip


def describe_page_times(row: Row) -> str:
    """Return ``Page 3 42s, page 1 12s, page 2 8s and 4 more pages``: the time on the pages of a session."""
    return _describe_times(_read_times(row))


def find_longest_page(row: Row) -> int | None:
    """Return the page with most time in a session; None if it has no pages or no time on them."""
    times = _read_times(row)
    return max(times, key=lambda page: times[page]) if any(times.values()) else None


def _read_times(row: Row) -> dict[int, int]:
    """Return milliseconds by page."""
    found = (
        (read_number(page.get("page")), read_number(page.get("timeMs"))) for page in list_objects(row.get("pages"))
    )
    return {page: millis for page, millis in found if page}


def _draw_column(place: int, share: int) -> str:
    return f"M{place * 10 + 1} 100v-{max(share, _MIN_HEIGHT)}h8V100z"


def _describe_times(times: dict[int, int]) -> str:
    seen = sorted((page for page, millis in times.items() if millis), key=lambda page: -times[page])
    named = [f"page {words.format_count(page)} {words.format_millis(times[page])}" for page in seen[:_NAMED_PAGES]]
    text = ", ".join(named)
    rest = len(seen) - len(named)
    return (text + (f" and {format_plural(rest, 'more page', 'more pages')}" if rest else "")).capitalize()
