"""Count and measure the pages of a document. Runs only inside the worker."""

import ctypes
import math
from array import array

import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused

_FALLBACK_SIZE = (612.0, 792.0)


def measure_pages(document: OpenPdfDocument, max_pages: int) -> bytes:
    """Return the width and height of every page in points, after rotation, as consecutive native doubles.

    A page that cannot be measured counts as US Letter. Raises PdfRefused ``pages`` for more than ``max_pages``.
    """
    if document.count > max_pages:
        raise PdfRefused("pages")
    sizes = array("d")
    size = pdfium.FS_SIZEF()
    for index in range(document.count):
        measured = pdfium.FPDF_GetPageSizeByIndexF(document.pdf, index, ctypes.byref(size))
        sizes.extend(_usable_size(size.width, size.height) if measured else _FALLBACK_SIZE)
    return sizes.tobytes()


def _usable_size(width: float, height: float) -> tuple[float, float]:
    usable = math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0
    return (width, height) if usable else _FALLBACK_SIZE
