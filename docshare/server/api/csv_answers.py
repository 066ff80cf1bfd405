"""Responses as CSV (RFC 4180), for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Sequence

from flask import Response, request

from docshare.contract.problems import Problem
from docshare.contract.spreadsheets import neutralize_formula
from docshare.server.http.headers import content_disposition

_CSV_TYPE = "text/csv; charset=utf-8"


def is_csv_requested() -> bool:
    """Return whether the current request has ``format=csv``. Raises ``bad_request`` for any other format."""
    given = request.args.getlist("format")
    if given in ([], ["csv"]):
        return bool(given)
    raise Problem("bad_request", "format must be csv.", hint="Omit it for JSON.")


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[str | int | float]]) -> Response:
    """Return a CSV file to save as ``name``, with a ``header`` and ``rows`` of the same width.

    Cells with text of readers never become formulas: a cell that would begin one is prefixed with a quote.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([_neutralize(cell) for cell in row] for row in rows)
    return Response(
        out.getvalue(), content_type=_CSV_TYPE, headers={"Content-Disposition": content_disposition("attachment", name)}
    )


def _neutralize(cell: str | int | float) -> str | int | float:
    return neutralize_formula(cell) if isinstance(cell, str) else cell
