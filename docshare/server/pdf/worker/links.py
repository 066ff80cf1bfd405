"""List the links of a page: link annotations, and URLs in the text. Runs only inside the worker."""

import ctypes
import re
from collections.abc import Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument
from docshare.server.pdf.worker.geometry import PageView

_MAX_LINKS = 2_000
_MAX_URL = 2_048
_MAX_QUADS = 64
_SAFE_URL = re.compile(r"(?:https?://|mailto:)[^\x00-\x20\x7f<>\"\\^`{|}]+", re.IGNORECASE)

Corners = tuple[float, float, float, float]


def list_page_links(
    document: OpenPdfDocument, page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, view: PageView
) -> list[list[Any]]:
    """Return rows of [x, y, w, h, target]: fractions of the displayed page, and {"url": str} or {"page": 1-based}.

    Targets are http, https and mailto URLs and pages of this document. A URL in the text under a link annotation is
    skipped.
    """
    rows: list[list[Any]] = []
    for corners, target in _list_annotation_links(document, page):
        if len(rows) < _MAX_LINKS and (area := view.to_fractions(view.to_shown(*corners))):
            rows.append([*area, target])
    authored = list(rows)
    for corners, target in _list_text_links(text):
        area = view.to_fractions(view.to_shown(*corners))
        if area and len(rows) < _MAX_LINKS and not any(_is_covered_by(row, area) for row in authored):
            rows.append([*area, target])
    return rows


def _list_annotation_links(
    document: OpenPdfDocument, page: pypdfium2.PdfPage
) -> Iterator[tuple[Corners, dict[str, str | int]]]:
    position = ctypes.c_int(0)
    link = pdfium.FPDF_LINK()
    for _ in range(_MAX_LINKS):
        if not pdfium.FPDFLink_Enumerate(page, ctypes.byref(position), ctypes.byref(link)):
            return
        target = _resolve_target(document, link)
        if target is not None:
            for corners in _list_link_areas(link):
                yield corners, target


def _resolve_target(document: OpenPdfDocument, link: Any) -> dict[str, str | int] | None:
    destination = pdfium.FPDFLink_GetDest(document.pdf, link)
    if not destination:
        action = pdfium.FPDFLink_GetAction(link)
        kind = pdfium.FPDFAction_GetType(action) if action else pdfium.PDFACTION_UNSUPPORTED
        if kind == pdfium.PDFACTION_URI:
            url = _sanitize_url(_read_uri(document, action))
            return {"url": url} if url else None
        if kind != pdfium.PDFACTION_GOTO:
            return None
        destination = pdfium.FPDFAction_GetDest(document.pdf, action)
    index = pdfium.FPDFDest_GetDestPageIndex(document.pdf, destination) if destination else -1
    return {"page": index + 1} if 0 <= index < document.count else None


def _read_uri(document: OpenPdfDocument, action: Any) -> str:
    size = pdfium.FPDFAction_GetURIPath(document.pdf, action, None, 0)
    if not 1 < size <= _MAX_URL * 4:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAction_GetURIPath(document.pdf, action, buffer, size)
    return buffer.value.decode("utf-8", "replace")


def _list_link_areas(link: Any) -> Iterator[Corners]:
    """Yield the bounding boxes of the quadrilaterals of a link, one for each line, or else its rectangle."""
    quad = pdfium.FS_QUADPOINTSF()
    count = min(pdfium.FPDFLink_CountQuadPoints(link), _MAX_QUADS)
    for index in range(count):
        if pdfium.FPDFLink_GetQuadPoints(link, index, ctypes.byref(quad)):
            across, up = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            yield min(across), min(up), max(across), max(up)
    rect = pdfium.FS_RECTF()
    if count < 1 and pdfium.FPDFLink_GetAnnotRect(link, ctypes.byref(rect)):
        yield rect.left, rect.bottom, rect.right, rect.top


def _list_text_links(text: pypdfium2.PdfTextPage) -> Iterator[tuple[Corners, dict[str, str | int]]]:
    """Yield the URLs that pdfium recognizes in the text."""
    found = pdfium.FPDFLink_LoadWebLinks(text)
    try:
        for index in range(min(pdfium.FPDFLink_CountWebLinks(found), _MAX_LINKS)):
            url = _sanitize_url(_read_web_url(found, index))
            for corners in _list_web_areas(found, index) if url else ():
                yield corners, {"url": url}
    finally:
        pdfium.FPDFLink_CloseWebLinks(found)


def _read_web_url(found: Any, index: int) -> str:
    units = pdfium.FPDFLink_GetURL(found, index, None, 0)
    if not 1 < units <= _MAX_URL + 1:
        return ""
    buffer = (ctypes.c_ushort * units)()
    pdfium.FPDFLink_GetURL(found, index, buffer, units)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")


def _list_web_areas(found: Any, index: int) -> Iterator[Corners]:
    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    for part in range(min(pdfium.FPDFLink_CountRects(found, index), _MAX_QUADS)):
        corners = (ctypes.byref(side) for side in (left, top, right, bottom))
        if pdfium.FPDFLink_GetRect(found, index, part, *corners):
            yield left.value, bottom.value, right.value, top.value


def _sanitize_url(url: str) -> str:
    """Return ``url`` if it is safe for readers, else ""."""
    url = url.strip()
    if url[:4].lower() == "www.":
        url = "http://" + url
    return url if len(url) <= _MAX_URL and _SAFE_URL.fullmatch(url) else ""


def _is_covered_by(row: list[Any], area: tuple[float, float, float, float]) -> bool:
    """Return whether the center of ``area`` is inside the link ``row``."""
    x, y = area[0] + area[2] / 2, area[1] + area[3] / 2
    left, top, width, height = row[:4]
    return bool(left <= x <= left + width and top <= y <= top + height)
