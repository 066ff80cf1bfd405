"""Save a damaged document again with pdfium. Runs only inside the worker.

pdfium renders the share page and tolerates more damage than qpdf, which cuts and stamps. The stored file does not
change.
"""

import io
from collections.abc import Iterator
from contextlib import closing, suppress

import pypdfium2
import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.documents import OpenPdfDocument


def resave(source: OpenPdfDocument) -> Iterator[bytes]:
    """Yield ``source`` saved again: first the whole document, then only its pages in a new document.

    The second has neither outline nor form. The caller must check that a result looks the same.
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
