"""A damaged document written anew by the engine that draws the share page. Runs inside the worker only.

Readers see what that engine makes of a file; the library that cuts and stamps is stricter. The stored bytes stay.
"""

import io
from collections.abc import Iterator
from contextlib import closing, suppress

import pypdfium2
import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument


def resave(source: OpenPdfDocument) -> Iterator[bytes]:
    """Return ``source`` written anew: first as a whole; then its pages alone, in a new document.

    The second knows neither outline nor form. Whether it shows the same is for the caller to find out.
    """
    with suppress(pypdfium2.PdfiumError):
        yield _serialize(source.pdf)
    with suppress(pypdfium2.PdfiumError), closing(pypdfium2.PdfDocument.new()) as pages:
        pages.import_pages(source.pdf)
        yield _serialize(pages)


def _serialize(pdf: pypdfium2.PdfDocument) -> bytes:
    out = io.BytesIO()
    pdf.save(out, flags=pdfium.FPDF_REMOVE_SECURITY)
    return out.getvalue()
