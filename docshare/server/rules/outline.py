"""The outline (table of contents) of a document, reduced to what a reader sees of it."""

from collections.abc import Sequence
from typing import NamedTuple

from docshare.server.rules.page_window import PageWindow

MAX_ENTRIES = 10_000
MAX_DEPTH = 12
MAX_TITLE_CHARS = 200


class OutlineEntry(NamedTuple):
    """One entry in reading order: ``level`` 0 is the highest, ``page`` (1-based) is None for a mere heading."""

    level: int
    page: int | None
    title: str


def trim_outline(entries: Sequence[OutlineEntry], shown: PageWindow, total_pages: int) -> list[OutlineEntry]:
    """Return the entries whose pages are in ``shown``, with the reader's page numbers.

    Entries below an omitted one move up. A heading without a page is kept above its entries, but only if the reader
    sees the whole document, because it can describe hidden pages.
    """
    is_whole = shown.covers_all(total_pages)
    kept: list[OutlineEntry] = []
    ancestors: list[int] = []  # levels of the kept entries above the current one
    for entry, is_wanted in zip(entries, _flag_wanted(entries, shown, is_whole), strict=True):
        while ancestors and ancestors[-1] >= entry.level:
            ancestors.pop()
        if is_wanted:
            page = None if entry.page is None else shown.to_reader_page(entry.page)
            kept.append(OutlineEntry(len(ancestors), page, entry.title))
            ancestors.append(entry.level)
    return kept


def _flag_wanted(entries: Sequence[OutlineEntry], shown: PageWindow, is_whole: bool) -> list[bool]:
    flags = [False] * len(entries)
    wanted_levels: set[int] = set()  # of the entries after the current one, up to the end of its parent
    for index in range(len(entries) - 1, -1, -1):
        level, page, _ = entries[index]
        below = {each for each in wanted_levels if each > level}
        flags[index] = (is_whole and bool(below)) if page is None else shown.to_reader_page(page) is not None
        wanted_levels -= below
        if flags[index] or below:
            wanted_levels.add(level)
    return flags
