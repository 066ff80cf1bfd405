"""Tables for people on a terminal: aligned, as wide as the terminal, ids never cut.

Rich would wrap ids, read markup in file names and cost more than all other imports; this needs none of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docshare.cli.text import cell_width, clip, human_duration, human_size, local_time, relative
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.context import Context
    from docshare.cli.output import Column

_GAP = 2
_NARROWEST = 8  # cells that a flexible column keeps


def lines(columns: "Sequence[Column]", rows: Sequence[Mapping[str, Any]], context: "Context") -> Iterator[str]:
    """A header and one line per row; a column that is empty in every row is left out."""
    screen = context.out_screen
    table = {column: [shown(column, row, context) for row in rows] for column in columns}
    table = {column: cells for column, cells in table.items() if any(cells) or not rows}
    fitted = _fitted(table, screen.width)
    mark = screen.glyph("…")
    yield _line([(column.title, width, "dim") for column, width in fitted.items()], context, mark)
    for index in range(len(rows)):
        yield _line([(table[column][index], width, column.role) for column, width in fitted.items()], context, mark)


def pairs(columns: "Sequence[Column]", row: Mapping[str, Any], context: "Context") -> Iterator[str]:
    """One object as aligned pairs of title and value; empty values are left out."""
    cells = [(column, shown(column, row, context)) for column in columns]
    kept = [(column, text) for column, text in cells if text]
    width = max((cell_width(column.title) for column, _ in kept), default=0)
    screen = context.out_screen
    for column, text in kept:
        label = screen.paint("dim", column.title + " " * (width - cell_width(column.title)))
        yield f"{label}  {screen.paint(column.role, text)}"


def shown(column: "Column", row: Mapping[str, Any], context: "Context") -> str:
    """The text of one cell."""
    from docshare.cli.output import cell, dig

    if column.show is not None:
        return cell(column.show(row))
    value = row[column.key] if column.key in row else dig(row, column.key)
    if column.kind == "flag":
        return {True: "yes", False: "no"}.get(value, "")
    if isinstance(value, bool) or value is None:
        return cell(value)
    if isinstance(value, int) and column.kind in _NUMBERS:
        return _NUMBERS[column.kind](value)
    if isinstance(value, str) and column.kind in ("when", "moment"):
        return _time(column.kind, value, context) or cell(value)
    return cell(value)


_NUMBERS = {"size": human_size, "duration": human_duration}


def _time(kind: str, value: str, context: "Context") -> str:
    moment = parse_instant(value)
    if moment is None:
        return ""
    away = relative(moment, context.now())
    return away if kind == "when" else f"{local_time(moment)} ({away})"


def _fitted(table: "Mapping[Column, Sequence[str]]", room: int) -> "dict[Column, int]":
    """The columns that fit, with their widths: the least important go first, then flexible ones are clipped."""
    widths = {
        column: max([cell_width(column.title), *map(cell_width, cells)], default=0) for column, cells in table.items()
    }
    while len(widths) > 1 and _least(widths) > room and any(column.rank for column in widths):
        del widths[max(widths, key=lambda column: column.rank)]
    over = sum(widths.values()) + _GAP * (len(widths) - 1) - room
    for column in sorted((column for column in widths if column.flexible), key=lambda one: -widths[one]):
        cut = min(max(over, 0), max(widths[column] - _NARROWEST, 0))
        widths[column] -= cut
        over -= cut
    return widths


def _least(widths: "Mapping[Column, int]") -> int:
    cells = [min(width, _NARROWEST * 2) if column.flexible else width for column, width in widths.items()]
    return sum(cells) + _GAP * (len(cells) - 1)


def _line(cells: Sequence[tuple[str, int, str]], context: "Context", mark: str) -> str:
    parts = []
    for text, width, role in cells:
        text = clip(text, width, mark)
        parts.append(context.out_screen.paint(role, text) + " " * (width - cell_width(text)))
    return (" " * _GAP).join(parts).rstrip()
