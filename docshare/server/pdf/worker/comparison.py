"""Whether the pages of a made document look as they did before. Runs inside the worker only.

PDF libraries disagree about damaged and unusual files, so a copy can be a valid document and show something else. Both
are drawn by the engine that draws the share page, small, and the pictures compared. That takes at most ``_BUDGET_S``
seconds: of a document for which that is not enough, pages from all over it are compared, and the rest are trusted to be
like them. What may not be in the copy is checked in full, elsewhere (``leaks``).
"""

import ctypes
import time
from collections.abc import Iterator
from contextlib import closing

import PIL.Image
import PIL.ImageChops
import PIL.ImageFilter
import pypdfium2
import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused
from docshare.server.pdf.worker.render import pixel_size

_BUDGET_S = 2.0
_IMAGE_WIDTH = 100  # pixels; a word that is gone is a few of them
_DIFFERENCE_THRESHOLD = 32  # of 255
_MAX_DIFFERENT_PIXELS = 3  # pixels
_WHITE = 0xFFFFFFFF
_PauseCallback = dict(pdfium.IFSDK_PAUSE._fields_)["NeedToPauseNow"]


def require_same_looks(source: OpenPdfDocument, made: bytes, first: int, *, stamped: bool) -> None:
    """Compare the pages of ``made`` with those of ``source`` from page ``first`` (1-based) on.

    Parameters: ``stamped`` whether each page of ``made`` ends with a mark, which is left out of its picture. Raises
    Refused ``looks``. A page of ``source`` that cannot be drawn looks like anything.
    """
    ends = time.monotonic() + _BUDGET_S
    try:
        copy = pypdfium2.PdfDocument(made)
    except pypdfium2.PdfiumError as error:
        raise PdfRefused("looks") from error
    with closing(copy):
        copy.init_forms()
        for index in _spread_indexes(len(copy)):
            # Twice: the engine does not always draw a font that it substitutes as it did the first time.
            alike = (_is_page_alike(source, first + index, copy, index, ends, stamped) for _ in range(2))
            if not any(alike):
                raise PdfRefused("looks")
            if time.monotonic() > ends:
                return


def _spread_indexes(count: int) -> Iterator[int]:
    """The numbers below ``count``, each once, and as far apart as possible wherever one stops."""
    step = 1 << max(0, count - 1).bit_length()
    yield 0
    while step > 1:
        yield from range(step // 2, count, step)
        step //= 2


def _is_page_alike(
    source: OpenPdfDocument, number: int, copy: pypdfium2.PdfDocument, index: int, ends: float, stamped: bool
) -> bool:
    """Whether page ``number`` of ``source`` and that at ``index`` of ``copy`` look alike, as far as there is time."""
    try:
        with source.page(number) as page:
            before = _render_small(page, ends)
    except PdfRefused:
        return True
    if before is None:
        return True
    try:
        with closing(copy[index]) as page:
            if stamped and not _hide_mark(page):
                return False
            after = _render_small(page, ends)
    except (pypdfium2.PdfiumError, PdfRefused):
        return False
    if after is None:
        return True
    if before.size != after.size:
        return False
    red, green, blue = PIL.ImageChops.difference(before, after).split()
    strongest = PIL.ImageChops.lighter(PIL.ImageChops.lighter(red, green), blue)
    return sum(strongest.histogram()[_DIFFERENCE_THRESHOLD:]) <= _MAX_DIFFERENT_PIXELS


def _hide_mark(page: pypdfium2.PdfPage) -> bool:
    """Leave the last thing that the page draws out of its picture; False if that is no mark."""
    last = pdfium.FPDFPage_GetObject(page, pdfium.FPDFPage_CountObjects(page) - 1)
    if not last or pdfium.FPDFPageObj_GetType(last) != pdfium.FPDF_PAGEOBJ_FORM:
        return False
    return bool(pdfium.FPDFPageObj_SetIsActive(last, False))


def _render_small(page: pypdfium2.PdfPage, ends: float) -> PIL.Image.Image | None:
    """The page as the share page shows it, small; None if it is not finished when the time ``ends``."""
    width, height = page.get_size()
    wide, tall = pixel_size(width, height, _IMAGE_WIDTH)
    pause = pdfium.IFSDK_PAUSE(version=1, NeedToPauseNow=_PauseCallback(lambda _: time.monotonic() > ends), user=None)
    with closing(pypdfium2.PdfBitmap.new_native(wide, tall, pdfium.FPDFBitmap_BGRx)) as bitmap:
        pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, wide, tall, _WHITE)
        state = pdfium.FPDF_RenderPageBitmap_Start(
            bitmap, page, 0, 0, wide, tall, 0, pdfium.FPDF_ANNOT, ctypes.byref(pause)
        )
        pdfium.FPDF_RenderPage_Close(page)
        if state != pdfium.FPDF_RENDER_DONE:
            return None
        if page.formenv:
            pdfium.FPDF_FFLDraw(page.formenv, bitmap, page, 0, 0, wide, tall, 0, pdfium.FPDF_ANNOT)
        # The edges of letters in form fields are smoothed in another way than those of other text.
        picture: PIL.Image.Image = bitmap.to_pil().convert("RGB").filter(PIL.ImageFilter.BoxBlur(1))
        return picture
