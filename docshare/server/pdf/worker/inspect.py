"""Count and measure the pages of a document, and read its outline. Runs only inside the worker."""

import ctypes
import json
import math
import re
import time
from array import array
from typing import Any

import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused
from docshare.server.rules.outline import MAX_DEPTH, MAX_ENTRIES, MAX_TITLE_CHARS

_FALLBACK_SIZE = (612.0, 792.0)
_OUTLINE_BUDGET_S = 1.0
_MAX_TITLE_BYTES = 1 << 16  # as stored
_SPACE = re.compile("[\x00-\x20\x7f-\xa0\u2028\u2029]+")


def measure_pages(document: OpenPdfDocument, max_pages: int) -> bytes:
    """Return the width and height of every page in points, after rotation, as consecutive native doubles.

    A page that cannot be measured, even after a repair, counts as US Letter. Raises PdfRefused ``pages`` for more than
    ``max_pages``, and ``repair``.
    """
    if document.count > max_pages:
        raise PdfRefused("pages")
    sizes = array("d")
    may_repair = True
    for index in range(document.count):
        size = _measure_page(document, index)
        if size is None and may_repair:
            may_repair = False
            _load_page(document, index)  # repairs the document if that fails
            size = _measure_page(document, index)
        sizes.extend(size or _FALLBACK_SIZE)
    return sizes.tobytes()


def _measure_page(document: OpenPdfDocument, index: int) -> tuple[float, float] | None:
    size = pdfium.FS_SIZEF()
    measured = pdfium.FPDF_GetPageSizeByIndexF(document.pdf, index, ctypes.byref(size))
    return _usable_size(size.width, size.height) if measured else None


def _load_page(document: OpenPdfDocument, index: int) -> None:
    try:
        with document.page(index + 1):
            pass
    except PdfRefused as refused:
        if refused.reason == "repair":
            raise


def _usable_size(width: float, height: float) -> tuple[float, float]:
    usable = math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0
    return (width, height) if usable else _FALLBACK_SIZE


def list_outline(document: OpenPdfDocument, max_bytes: int) -> bytes:
    """Return the outline of ``document`` as JSON rows of [level from 0, page from 1 or None, title], in reading order.

    Entries without a title are omitted with the entries below them. The outline is cut after ``MAX_ENTRIES``,
    ``max_bytes`` or ``_OUTLINE_BUDGET_S`` seconds.
    """
    deadline = time.monotonic() + _OUTLINE_BUDGET_S
    rows: list[bytes] = []
    size = 2
    seen: set[int] = set()
    # Bookmarks at each level that are still to be read; siblings come one after another, so this is never deep.
    waiting = [pdfium.FPDFBookmark_GetFirstChild(document.pdf, None)]
    while waiting and len(rows) < MAX_ENTRIES and time.monotonic() < deadline:
        bookmark = waiting.pop()
        if not bookmark or (address := ctypes.addressof(bookmark.contents)) in seen:
            continue
        seen.add(address)
        waiting.append(pdfium.FPDFBookmark_GetNextSibling(document.pdf, bookmark))
        title = _read_title(bookmark)
        if not title:
            continue
        row = json.dumps([len(waiting) - 1, _find_page(document, bookmark), title], ensure_ascii=False).encode()
        size += len(row) + 1
        if size > max_bytes:
            break
        rows.append(row)
        if len(waiting) < MAX_DEPTH:
            waiting.append(pdfium.FPDFBookmark_GetFirstChild(document.pdf, bookmark))
    return b"[" + b",".join(rows) + b"]"


def _read_title(bookmark: Any) -> str:
    size = pdfium.FPDFBookmark_GetTitle(bookmark, None, 0)
    if not 2 < size <= _MAX_TITLE_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFBookmark_GetTitle(bookmark, buffer, size)
    title = buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")
    return _SPACE.sub(" ", title).strip()[:MAX_TITLE_CHARS].rstrip()


def _find_page(document: OpenPdfDocument, bookmark: Any) -> int | None:
    """Return the page that the bookmark leads to, 1-based; None for a web address, another file or a missing page."""
    action = pdfium.FPDFBookmark_GetAction(bookmark)
    if action and pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_GOTO:
        return None
    destination = pdfium.FPDFBookmark_GetDest(document.pdf, bookmark)
    index = pdfium.FPDFDest_GetDestPageIndex(document.pdf, destination) if destination else -1
    return index + 1 if 0 <= index < document.count else None
