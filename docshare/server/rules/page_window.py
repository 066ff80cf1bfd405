"""The pages of a document that a reader may see: the page range of the file, or that of the variant.

``pageRange`` applies to everybody except the signed-in owner. It still applies after a downgrade, so the plan does
not matter here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PageWindow:
    """The pages ``first`` to ``last`` of a document, both 1-based and inclusive. Readers count them from 1."""

    first: int
    last: int

    @property
    def size(self) -> int:
        """Return the number of pages that the reader sees (the report's ``effectivePages``)."""
        return self.last - self.first + 1

    @property
    def pages_before(self) -> int:
        """Return the number of pages of the document before the window."""
        return self.first - 1

    def covers_all(self, total_pages: int) -> bool:
        """Return whether no page of a document of ``total_pages`` is hidden."""
        return self.first == 1 and self.last >= total_pages

    def to_document_page(self, page: int) -> int:
        """Convert the reader's ``page`` number to the document's. Raises ValueError outside of the window."""
        if not 1 <= page <= self.size:
            raise ValueError("no page of the window")
        return page + self.pages_before

    def to_reader_page(self, page: int) -> int | None:
        """Convert the document's ``page`` number to the reader's; None for a hidden page."""
        return page - self.pages_before if self.first <= page <= self.last else None

    def trim_runs(self, runs: Sequence[Sequence[float]]) -> list[list[float]]:
        """Cut ``runs`` of [pages, width, height], which describe the whole document, to this window."""
        kept: list[list[float]] = []
        start = 1
        for count, width, height in runs:
            end = start + int(count)
            inside = min(end, self.last + 1) - max(start, self.first)
            if inside > 0:
                kept.append([inside, width, height])
            start = end
        return kept


EMPTY_WINDOW = PageWindow(1, 0)
"""The window of a document that has no page of its range."""


def resolve_window(total_pages: int, page_range: Mapping[str, int] | None) -> PageWindow:
    """Return the pages of a document of ``total_pages`` that a reader sees.

    Parameters: ``page_range`` the setting in effect, ``{"from", "to"}`` or None if unset; ``{0, 0}``, by which a
    variant overrides that of the file, means the full document. A document that is now shorter than its range shows the
    pages left in the range, possibly none: any other page is one that the owner did not share.
    """
    if page_range is None or page_range["to"] < 1:
        return PageWindow(1, total_pages)
    return (
        EMPTY_WINDOW
        if is_empty(total_pages, page_range)
        else PageWindow(max(1, page_range["from"]), min(page_range["to"], total_pages))
    )


def is_empty(total_pages: int, page_range: Mapping[str, int] | None) -> bool:
    """Return whether a document of ``total_pages`` has no page of ``page_range``; None and ``{0, 0}`` are not a
    range."""
    return page_range is not None and page_range["to"] > 0 and page_range["from"] > total_pages


def suggest_range(total_pages: int) -> str:
    """Return the hint for a page range beyond the last of ``total_pages``: how to write one that fits."""
    count = "1 page" if total_pages == 1 else f"{total_pages} pages"
    return (
        f'The document has {count}. Use a range within 1-{total_pages}, such as {{"from": 1, "to": {total_pages}}}; '
        '{"from": 0, "to": 0} shows all pages.'
    )
