"""Repair files that pdfium cannot open, or find out why, with qpdf. Runs only inside the worker."""

import io
import sys
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

_MAX_BYTES = 64 << 20  # the copy is held in memory
_EMPTY_FILE = b""


def is_possible() -> bool:
    """Return whether this process has loaded qpdf. Most workers have not, and a confined process cannot load it."""
    return "pikepdf" in sys.modules


def reset_last_error() -> None:
    """Reset pdfium's last error, which is global, to that of an empty file."""
    pdfium.FPDF_LoadMemDocument(_EMPTY_FILE, 0, None)


def open_repaired(file: BinaryIO, error: int) -> pypdfium2.PdfDocument | str:
    """Open a copy, rewritten by qpdf, of the PDF in ``file``, which pdfium rejected with ``error``.

    Return the reason if it cannot be opened: ``password``, ``protection`` or ``broken``. Does not change or close
    ``file``.
    """
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
