"""Derive a PDF with some pages of a document, with or without a watermark. Runs only inside the worker."""

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pikepdf

from docshare.server.pdf.worker import comparison, leaks, stamp
from docshare.server.pdf.worker.cut import extract_pages
from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused
from docshare.server.pdf.worker.resave import resave

# The exceptions that entries of unexpected types cause.
_MALFORMED_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)
_REPAIRABLE_REASONS = frozenset({"broken", "contents", "looks", "pages", "password"})

OpenPdf = Callable[[], pikepdf.Pdf]


def derive_document(source: OpenPdfDocument, job: dict[str, Any]) -> bytes:
    """Return the PDF that ``job`` describes, derived from ``source``.

    ``job`` has ``total``, the number of pages of the source; ``first`` and ``last`` (1-based, inclusive); and ``mark``,
    None or the arguments of ``stamp.draw_watermark``. If the source cannot be processed, repaired versions are tried.
    Raises PdfRefused: ``pages`` if the source does not have ``total`` pages, ``contents`` or ``leak`` if the pages
    cannot be separated from the rest, ``looks`` if they would look different, ``password``, ``broken``, ``missing``.
    """
    if source.count != job["total"] or not 1 <= job["first"] <= job["last"] <= job["total"]:
        raise PdfRefused("pages")

    def open_stored() -> pikepdf.Pdf:
        return pikepdf.open(source.reader())

    try:
        return _build(open_stored, source, job)
    except PdfRefused as refused:
        if refused.reason not in _REPAIRABLE_REASONS:
            raise
        for opened, wrapped in _iterate_repairs(open_stored, source, refused.reason):
            with suppress(PdfRefused):
                return _build(opened, source, job, wrapped=wrapped)
        raise


def _iterate_repairs(stored: OpenPdf, source: OpenPdfDocument, reason: str) -> Iterator[tuple[OpenPdf, bool]]:
    """Yield sources to try after a refusal for ``reason``, and whether to wrap page contents
    (``stamp.draw_watermark``)."""
    if reason == "looks":
        yield stored, True
    for data in resave(source):
        yield partial(_open_bytes, data), False


def _open_bytes(data: bytes) -> pikepdf.Pdf:
    return pikepdf.open(io.BytesIO(data))


def _build(opened: OpenPdf, source: OpenPdfDocument, job: dict[str, Any], *, wrapped: bool = False) -> bytes:
    first, last, mark = job["first"], job["last"], job["mark"]
    is_whole = (first, last) == (1, job["total"])
    try:
        with opened() as pdf:
            if len(pdf.pages) != job["total"]:
                raise PdfRefused("pages")  # pdfium and qpdf disagree on this file, so page numbers are ambiguous
            version = pdf.pdf_version
            result = pdf if is_whole else extract_pages(pdf, first, last)
            mark_contents = stamp.draw_watermark(result, **mark, wrapped=wrapped) if mark else leaks.DocumentContents()
            out = _serialize(result, version)
        if not is_whole:
            leaks.require_no_leak(opened, first, last, out, mark_contents)
    except pikepdf.PasswordError as error:
        raise PdfRefused("password") from error
    except pikepdf.PdfError as error:
        raise PdfRefused("broken") from error
    except OSError as error:
        raise PdfRefused("missing") from error
    except _MALFORMED_ERRORS as error:
        raise PdfRefused("contents") from error
    comparison.require_same_looks(source, out, first, last, stamped=mark is not None)
    return out


def _serialize(result: pikepdf.Pdf, version: str) -> bytes:
    """Return ``result`` as bytes. Streams keep their stored form, which is fast and lets ``leaks`` recognize them."""
    out = io.BytesIO()
    result.save(
        out,
        min_version=version,
        compress_streams=False,
        stream_decode_level=pikepdf.StreamDecodeLevel.none,
        object_stream_mode=pikepdf.ObjectStreamMode.disable,  # lets ``leaks`` check the objects themselves
        deterministic_id=True,
        fix_metadata_version=False,
    )
    return out.getvalue()
