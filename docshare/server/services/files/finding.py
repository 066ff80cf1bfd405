"""Find words in the pages that a reader sees."""

import time
from dataclasses import dataclass, field

from docshare.contract.problems import Problem
from docshare.server.pdf.engine import UnrenderableError
from docshare.server.rules import finding
from docshare.server.rules.finding import MAX_WORDS_CHARS, UNREAD_PAGE, Passage, TextBlock
from docshare.server.rules.page_window import PageWindow
from docshare.server.runtime import Runtime
from docshare.server.services.files import sealed_blobs, tenants
from docshare.server.services.links.links import Link
from docshare.server.services.operations import slots

BLOCK_PAGES = 64
MAX_PASSAGES = 200
_BUDGET_S = 2.0  # after it, the reader gets the matches so far and requests the rest; one block is always read
_SLOT_WAIT_S = 5.0


@dataclass(frozen=True)
class PagePassage:
    """The match number ``place`` (from 0) on the reader's ``page``, in its context."""

    page: int
    place: int
    passage: Passage


@dataclass(frozen=True)
class PageBlock:
    """The text of the document's pages ``first`` to ``last``."""

    first: int
    last: int
    content: TextBlock


@dataclass
class FoundWords:
    """Where words occur, in the reader's page numbers.

    ``counts`` has the number of matches of each page with any, and ``passages`` the first ``MAX_PASSAGES`` of them;
    ``unread`` is the number of pages that could not be read, and ``next_page`` the first page that was not reached in
    time, None at the end of the document.
    """

    counts: dict[int, int] = field(default_factory=dict)
    passages: list[PagePassage] = field(default_factory=list)
    unread: int = 0
    next_page: int | None = None


def find_words(rt: Runtime, link: Link, shown: PageWindow, typed: str, start: int, address: str) -> FoundWords:
    """Search the pages of ``shown`` for ``typed``, from the reader's page ``start`` on; the reader is at ``address``.

    The text of each block of pages is cached with the page images, so that only the first search reads the document;
    a search for nothing prepares it. Raises ``bad_request`` for more than 200 characters, ``unavailable`` if the engine
    is busy before anything was read or too many searches are running, FileNotFoundError and DamagedBytesError as
    ``PageStore.texts``.
    """
    if len(typed) > MAX_WORDS_CHARS:
        raise Problem("bad_request", f"At most {MAX_WORDS_CHARS} characters can be searched for.")
    words = finding.normalize_words(typed)
    refusal = "Too many searches are running."
    reader = tenants.text_slot_key(rt, link.file, address)
    with slots.hold_slot(rt.text_slots, reader, refusal, wait_s=_SLOT_WAIT_S):
        return _find_in_time(rt, link, shown, words, start, address)


def _find_in_time(rt: Runtime, link: Link, shown: PageWindow, words: str, start: int, address: str) -> FoundWords:
    deadline = time.monotonic() + _BUDGET_S
    found = FoundWords()
    page = first_page = shown.to_document_page(start)
    while page <= shown.last:
        if page > first_page and time.monotonic() > deadline:
            break
        try:
            block = _load_block(rt, link, page, address)
        except Problem:
            if page == first_page:
                raise
            break
        numbers = range(page, min(block.last, shown.last) + 1)
        _search_pages(found, block, words, numbers, shown.pages_before)
        page = block.last + 1
    found.next_page = shown.to_reader_page(page)
    return found


def _load_block(rt: Runtime, link: Link, page: int, address: str) -> PageBlock:
    """Load the block that contains the document's ``page``, or only that page if one of the block crashes or stalls the
    engine."""
    file = link.file
    tenant = tenants.reader_tenant(file, address)
    blob = sealed_blobs.open_blob(rt, file.blob)
    first = (page - 1) // BLOCK_PAGES * BLOCK_PAGES + 1
    for span in ((first, min(first + BLOCK_PAGES - 1, file.total_pages)), (page, page)):
        try:
            stored = rt.pages.texts(file.uuid, file.content_version, blob, *span, tenant)
        except UnrenderableError:
            continue
        return PageBlock(*span, finding.parse_block(stored.read_bytes()))
    return PageBlock(page, page, finding.make_block([UNREAD_PAGE]))


def _search_pages(found: FoundWords, block: PageBlock, words: str, numbers: range, pages_before: int) -> None:
    """Add the matches on the document's pages ``numbers`` of ``block``."""
    for number in numbers:
        text, folded = block.content.texts[number - block.first], block.content.folded[number - block.first]
        found.unread += text == UNREAD_PAGE
        count = finding.count_matches(folded, words) if words else 0
        if count:
            page = number - pages_before
            found.counts[page] = count
            listed = finding.list_passages(text, folded, words, MAX_PASSAGES - len(found.passages))
            found.passages += [PagePassage(page, place, passage) for place, passage in enumerate(listed)]
