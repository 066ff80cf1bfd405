"""Check that the pages of a derived document look like those of its source. Runs only inside the worker.

PDF libraries disagree about damaged and unusual files, so a valid copy can look different. Both documents are rendered
as thumbnails with pdfium, which also renders the share page, and compared. The comparison takes at most ``_BUDGET_S``
seconds. If that is not enough for all pages, a sample spread over the whole document is compared. ``leaks`` checks all
pages for foreign content.
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
_IMAGE_WIDTH = 200  # pixels; at 100, a page of 10 pt text in another font looks the same
_DIFFERENCE_THRESHOLD = 32  # of 255
_MAX_DIFFERENT_PIXELS = 3
_WHITE = 0xFFFFFFFF
_PauseCallback = dict(pdfium.IFSDK_PAUSE._fields_)["NeedToPauseNow"]


def require_same_looks(source: OpenPdfDocument, made: bytes, first: int, last: int, *, stamped: bool) -> None:
    """Raise PdfRefused ``looks`` unless the pages of ``made`` are the pages ``first`` to ``last`` of ``source``
    (1-based, inclusive) and look like them.

    The pages are counted again, because a reader that is not based on qpdf can find a page that ``leaks`` did not see.
    ``stamped``: the last object on each page of ``made`` is a watermark, which is hidden for the comparison. Pages of
    ``source`` that cannot be rendered are skipped.
    """
    deadline = time.monotonic() + _BUDGET_S
    try:
        copy = pypdfium2.PdfDocument(made)
    except pypdfium2.PdfiumError as error:
        raise PdfRefused("looks") from error
    with closing(copy):
        if len(copy) != last - first + 1:
            raise PdfRefused("looks")
        copy.init_forms()
        for index in _spread_indexes(len(copy)):
            # A second attempt: pdfium can render a substituted font differently the first time.
            comparisons = (_is_page_alike(source, first + index, copy, index, deadline, stamped) for _ in range(2))
            if not any(comparisons):
                raise PdfRefused("looks")
            if time.monotonic() > deadline:
                return


def _spread_indexes(count: int) -> Iterator[int]:
    """Yield the numbers below ``count``, each once, so that any prefix of the sequence is spread evenly."""
    step = 1 << max(0, count - 1).bit_length()
    yield 0
    while step > 1:
        yield from range(step // 2, count, step)
        step //= 2


def _is_page_alike(
    source: OpenPdfDocument, number: int, copy: pypdfium2.PdfDocument, index: int, deadline: float, stamped: bool
) -> bool:
    """Return whether page ``number`` of ``source`` looks like the page at ``index`` of ``copy``, or time ran out."""
    try:
        with source.page(number) as page:
            before = _render_small(page, deadline)
    except PdfRefused:
        return True
    if before is None:
        return True
    try:
        with closing(copy[index]) as page:
            if stamped and not _hide_mark(page):
                return False
            after = _render_small(page, deadline)
    except (pypdfium2.PdfiumError, PdfRefused):
        return False
    if after is None:
        return True
    if before.size != after.size:
        return False
    if before.tobytes() == after.tobytes():  # nearly all pages; what follows takes twice as long as rendering
        return True
    # Blurred, because pdfium antialiases text in form fields differently from other text.
    blurred = (picture.convert("RGB").filter(PIL.ImageFilter.BoxBlur(1)) for picture in (before, after))
    red, green, blue = PIL.ImageChops.difference(*blurred).split()
    strongest = PIL.ImageChops.lighter(PIL.ImageChops.lighter(red, green), blue)
    return sum(strongest.histogram()[_DIFFERENCE_THRESHOLD:]) <= _MAX_DIFFERENT_PIXELS


def _hide_mark(page: pypdfium2.PdfPage) -> bool:
    """Hide the last object that the page draws; return False if it is not a watermark."""
    last = pdfium.FPDFPage_GetObject(page, pdfium.FPDFPage_CountObjects(page) - 1)
    if not last or pdfium.FPDFPageObj_GetType(last) != pdfium.FPDF_PAGEOBJ_FORM:
        return False
    return bool(pdfium.FPDFPageObj_SetIsActive(last, False))


def _render_small(page: pypdfium2.PdfPage, deadline: float) -> PIL.Image.Image | None:
    """Render a thumbnail of the page like the share page does; return None if it is not done before ``deadline``."""
    width, height = page.get_size()
    wide, tall = pixel_size(width, height, _IMAGE_WIDTH)
    pause = pdfium.IFSDK_PAUSE(
        version=1, NeedToPauseNow=_PauseCallback(lambda _: time.monotonic() > deadline), user=None
    )
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
        picture: PIL.Image.Image = bitmap.to_pil().copy()
        return picture
