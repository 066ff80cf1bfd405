"""A second try for files that pdfium does not open: qpdf says why, or writes them anew. Runs inside the worker only."""

import io
import sys
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

_MAX_BYTES = 64 << 20  # the copy is held in memory
_EMPTY_FILE = b""


def is_possible() -> bool:
    """Return whether this process has loaded qpdf; most workers do without, and a confined one cannot load it."""
    return "pikepdf" in sys.modules


def reset_last_error() -> None:
    """Set the error that pdfium remembers to that of an empty file: it keeps the last one, also of other files."""
    pdfium.FPDF_LoadMemDocument(_EMPTY_FILE, 0, None)


def open_repaired(file: BinaryIO, error: int) -> pypdfium2.PdfDocument | str:
    """Open the PDF in ``file``, which pdfium refused with ``error``, as qpdf writes it; or return why it cannot be
    opened: ``password``, ``protection`` or ``broken``. ``file`` itself stays as it is and open."""
    import pikepdf

    reason = "protection" if error == pdfium.FPDF_ERR_SECURITY else "broken"
    if file.seek(0, io.SEEK_END) > _MAX_BYTES:
        return "password" if error == pdfium.FPDF_ERR_PASSWORD else reason
    file.seek(0)
    copy = io.BytesIO()
    try:
        with pikepdf.open(io.BytesIO(file.read())) as source:
            if not len(source.pages):
                return reason
            source.save(copy)
        return pypdfium2.PdfDocument(copy, autoclose=True)
    except pikepdf.PasswordError:
        return "password"
    except (pikepdf.PdfError, pypdfium2.PdfiumError, RuntimeError, TypeError, ValueError):
        return reason
