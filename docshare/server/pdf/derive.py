"""A document made from another: some of its pages, stamped or not. Runs inside the worker only."""

import io
from typing import Any

import pikepdf

from docshare.server.pdf import leaks, stamp
from docshare.server.pdf.cut import cut
from docshare.server.pdf.documents import Refused

# What comes of entries that are not of the kind they should be.
_MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def document(path: str, job: dict[str, Any]) -> bytes:
    """The PDF that ``job`` describes, made from the one at ``path``.

    ``job``: ``total`` pages of the source, ``first`` and ``last`` (1-based) of the wanted ones, ``mark`` None or what
    ``stamp.draw`` takes. Raises Refused: ``pages`` when the source has another number of pages than ``total``,
    ``contents`` and ``leak`` when its pages cannot be parted from it, ``password``, ``broken``, ``missing``.
    """
    first, last = job["first"], job["last"]
    try:
        with pikepdf.open(path) as source:
            if len(source.pages) != job["total"] or not 1 <= first <= last <= job["total"]:
                raise Refused("pages")  # engines disagree on this file, so nobody knows which pages are which
            version = source.pdf_version
            whole = (first, last) == (1, job["total"])
            made = source if whole else cut(source, first, last)
            drawn = stamp.draw(made, **job["mark"]) if job["mark"] else leaks.Material()
            out = _saved(made, version)
        if not whole:
            leaks.require_clean(path, first, last, out, drawn)
    except pikepdf.PasswordError as error:
        raise Refused("password") from error
    except pikepdf.PdfError as error:
        raise Refused("broken") from error
    except OSError as error:
        raise Refused("missing") from error
    except _MALFORMED as error:
        raise Refused("contents") from error
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
