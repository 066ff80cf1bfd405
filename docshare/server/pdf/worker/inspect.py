"""How many pages a document has, and how large each is. Runs inside the worker only."""

import ctypes
import math
from array import array

import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused

_FALLBACK_SIZE = (612.0, 792.0)


def measure_pages(document: OpenPdfDocument, max_pages: int) -> bytes:
    """Width and height of every page in points, rotation applied, as native doubles one after the other.

    A page that cannot be measured gets the size of a letter sheet, so that the others keep their place.
    Raises Refused ``pages``.
    """
    if document.count > max_pages:
        raise PdfRefused("pages")
    sizes = array("d")
    size = pdfium.FS_SIZEF()
    for index in range(document.count):
        known = pdfium.FPDF_GetPageSizeByIndexF(document.pdf, index, ctypes.byref(size))
        sizes.extend(_usable_size(size.width, size.height) if known else _FALLBACK_SIZE)
    return sizes.tobytes()


def _usable_size(width: float, height: float) -> tuple[float, float]:
    sound = math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0
    return (width, height) if sound else _FALLBACK_SIZE
