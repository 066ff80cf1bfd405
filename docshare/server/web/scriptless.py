"""The share page without scripts: a few page images at a time, with their text."""

import time
from dataclasses import dataclass

from docshare.contract.problems import Problem
from docshare.server.pdf.engine import UnrenderableError
from docshare.server.runtime import Runtime
from docshare.server.services.files import page_range, tenants
from docshare.server.services.files.page_range import ReaderView
from docshare.server.services.links.links import Link

CHUNK_PAGES = 10
_SLOT_WAIT_S = 5.0
_BUDGET_S = 3.0  # a slow document must not occupy a thread for longer


@dataclass(frozen=True)
class PageChunk:
    """The pages ``first`` to ``last`` of ``total`` that are shown together."""

    first: int
    last: int
    total: int

    @classmethod
    def containing(cls, page: int, total: int) -> "PageChunk":
        """Return the chunk that contains ``page`` (1-based) of a document of ``total`` pages."""
        first = (page - 1) // CHUNK_PAGES * CHUNK_PAGES + 1
        return cls(first, min(first + CHUNK_PAGES - 1, total), total)

    def __contains__(self, page: int) -> bool:
        return self.first <= page <= self.last

    @property
    def previous(self) -> int | None:
        """Return the first page of the previous chunk, None at the beginning."""
        return self.first - CHUNK_PAGES if self.first > 1 else None

    @property
    def next(self) -> int | None:
        """Return the first page of the next chunk, None at the end."""
        return self.last + 1 if self.last < self.total else None


def read_page_texts(rt: Runtime, link: Link, shown: ReaderView, chunk: PageChunk, address: str) -> dict[int, str]:
    """Return the text of each page of ``chunk``, in the reader's numbers.

    The reader is at ``address`` and sees the pages ``shown``. Reading stops at the first page that fails: a bad file
    causes one wait only, and after ``_BUDGET_S`` seconds. Nothing is read while too many requests read texts.
    """
    found = {}
    with rt.text_slots.hold(tenants.text_slot_key(rt, link.file, address), _SLOT_WAIT_S) as held:
        deadline = time.monotonic() + _BUDGET_S
        for page in range(chunk.first, chunk.last + 1) if held else ():
            if time.monotonic() > deadline:
                break
            try:
                boxes = page_range.load_page_text(rt, link, shown.window, page, address)["boxes"]
            except (UnrenderableError, Problem, FileNotFoundError):
                break
            found[page] = "\n".join(box[4] for box in boxes)
    return found
