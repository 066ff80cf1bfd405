"""A document made from another: some of its pages, stamped or not. Runs inside the worker only."""

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pikepdf

from docshare.server.pdf.worker import comparison, leaks, stamp
from docshare.server.pdf.worker.cut import cut
from docshare.server.pdf.worker.documents import Document, Refused
from docshare.server.pdf.worker.resave import rewrite

# What comes of entries that are not of the kind they should be.
_MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)
_MENDABLE = frozenset({"broken", "contents", "looks", "pages", "password"})

Open = Callable[[], pikepdf.Pdf]


def document(source: Document, job: dict[str, Any]) -> bytes:
    """Return the PDF that ``job`` describes, made from ``source``.

    ``job``: ``total`` pages of the source, ``first`` and ``last`` (1-based) of the wanted ones, ``mark`` None
    or what ``stamp.draw`` takes. A source that cannot be taken as it is is repaired first. Raises Refused: ``pages``
    when the source has another number of pages than ``total``, ``contents`` and ``leak`` when its pages cannot be
    parted from it, ``looks`` when they would look different, ``password``, ``protection``, ``broken``, ``missing``.
    """
    if source.count != job["total"] or not 1 <= job["first"] <= job["last"] <= job["total"]:
        raise Refused("pages")

    def stored() -> pikepdf.Pdf:
        return pikepdf.open(source.reader())

    try:
        return _made(stored, source, job)
    except Refused as refused:
        if refused.reason not in _MENDABLE:
            raise
        for opened, wrapped in _mended(stored, source, refused.reason):
            with suppress(Refused):
                return _made(opened, source, job, wrapped=wrapped)
        raise


def _mended(stored: Open, source: Document, reason: str) -> Iterator[tuple[Open, bool]]:
    """What else to try, and whether to wrap what pages draw (``stamp.draw``), after a refusal for ``reason``."""
    if reason == "looks":
        yield stored, True
    for data in rewrite(source):
        yield partial(_opened, data), False


def _opened(data: bytes) -> pikepdf.Pdf:
    return pikepdf.open(io.BytesIO(data))


def _made(opened: Open, source: Document, job: dict[str, Any], *, wrapped: bool = False) -> bytes:
    first, last, mark = job["first"], job["last"], job["mark"]
    whole = (first, last) == (1, job["total"])
    try:
        with opened() as pdf:
            if len(pdf.pages) != job["total"]:
                raise Refused("pages")  # engines disagree on this file, so nobody knows which pages are which
            version = pdf.pdf_version
            made = pdf if whole else cut(pdf, first, last)
            drawn = stamp.draw(made, **mark, wrapped=wrapped) if mark else leaks.Material()
            out = _saved(made, version)
        if not whole:
            leaks.require_clean(opened, first, last, out, drawn)
    except pikepdf.PasswordError as error:
        raise Refused("password") from error
    except pikepdf.PdfError as error:
        raise Refused("broken") from error
    except OSError as error:
        raise Refused("missing") from error
    except _MALFORMED as error:
        raise Refused("contents") from error
    comparison.require_alike(source, out, first, stamped=mark is not None)
    return out


def _saved(made: pikepdf.Pdf, version: str) -> bytes:
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
