"""A document made from another: some of its pages, stamped or not. Runs inside the worker only."""

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

# What comes of entries that are not of the kind they should be.
_MALFORMED_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)
_REPAIRABLE_REASONS = frozenset({"broken", "contents", "looks", "pages", "password"})

OpenPdf = Callable[[], pikepdf.Pdf]


def derive_document(source: OpenPdfDocument, job: dict[str, Any]) -> bytes:
    """Return the PDF that ``job`` describes, made from ``source``.

    ``job``: ``total`` pages of the source, ``first`` and ``last`` (1-based) of the wanted ones, ``mark`` None
    or what ``stamp.draw`` takes. A source that cannot be taken as it is is repaired first. Raises Refused: ``pages``
    when the source has another number of pages than ``total``, ``contents`` and ``leak`` when its pages cannot be
    parted from it, ``looks`` when they would look different, ``password``, ``protection``, ``broken``, ``missing``.
    """
    if source.count != job["total"] or not 1 <= job["first"] <= job["last"] <= job["total"]:
        raise PdfRefused("pages")

    def stored() -> pikepdf.Pdf:
        return pikepdf.open(source.reader())

    try:
        return _build(stored, source, job)
    except PdfRefused as refused:
        if refused.reason not in _REPAIRABLE_REASONS:
            raise
        for opened, wrapped in _iterate_repairs(stored, source, refused.reason):
            with suppress(PdfRefused):
                return _build(opened, source, job, wrapped=wrapped)
        raise


def _iterate_repairs(stored: OpenPdf, source: OpenPdfDocument, reason: str) -> Iterator[tuple[OpenPdf, bool]]:
    """What else to try, and whether to wrap what pages draw (``stamp.draw``), after a refusal for ``reason``."""
    if reason == "looks":
        yield stored, True
    for data in resave(source):
        yield partial(_open_bytes, data), False


def _open_bytes(data: bytes) -> pikepdf.Pdf:
    return pikepdf.open(io.BytesIO(data))


def _build(opened: OpenPdf, source: OpenPdfDocument, job: dict[str, Any], *, wrapped: bool = False) -> bytes:
    first, last, mark = job["first"], job["last"], job["mark"]
    whole = (first, last) == (1, job["total"])
    try:
        with opened() as pdf:
            if len(pdf.pages) != job["total"]:
                raise PdfRefused("pages")  # engines disagree on this file, so nobody knows which pages are which
            version = pdf.pdf_version
            made = pdf if whole else extract_pages(pdf, first, last)
            drawn = stamp.draw_watermark(made, **mark, wrapped=wrapped) if mark else leaks.DocumentContents()
            out = _serialize(made, version)
        if not whole:
            leaks.require_no_leak(opened, first, last, out, drawn)
    except pikepdf.PasswordError as error:
        raise PdfRefused("password") from error
    except pikepdf.PdfError as error:
        raise PdfRefused("broken") from error
    except OSError as error:
        raise PdfRefused("missing") from error
    except _MALFORMED_ERRORS as error:
        raise PdfRefused("contents") from error
    comparison.require_same_looks(source, out, first, stamped=mark is not None)
    return out


def _serialize(made: pikepdf.Pdf, version: str) -> bytes:
    """``made`` as bytes. Streams stay as they were stored, so that they can be told again and cost no time."""
    out = io.BytesIO()
    made.save(
        out,
        min_version=version,
        compress_streams=False,
        stream_decode_level=pikepdf.StreamDecodeLevel.none,
        object_stream_mode=pikepdf.ObjectStreamMode.disable,  # so that the check meets documents and no packaging
        deterministic_id=True,
        fix_metadata_version=False,
    )
    return out.getvalue()
