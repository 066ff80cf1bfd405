"""Lines of CSV: what looks like a formula is escaped, and on a terminal what could steer it."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from docshare.cli.terminal.cells import format_cell
from docshare.contract import spreadsheets


def format_csv_line(values: Sequence[Any], *, raw: bool, on_terminal: bool = False) -> str:
    """Return one line of CSV without its line end.

    Text may come from readers: unless ``raw``, escape what looks like a formula; ``on_terminal``, escape characters
    that could steer a terminal.
    """
    out = io.StringIO()
    read = format_cell if raw else escape_formula
    csv.writer(out).writerow(read(value, exact=not on_terminal) for value in values)
    return out.getvalue().removesuffix("\r\n")  # the writer quotes cells that hold a character of its line end


def escape_formula(value: Any, *, exact: bool = False) -> str:
    """Return a cell that a spreadsheet treats as text, even if it starts like a formula."""
    text = format_cell(value, exact=exact)
    return f"'{text}" if isinstance(value, str) and spreadsheets.is_formula_like(value) else text
