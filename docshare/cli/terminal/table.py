"""Tables for people on a terminal: aligned, as wide as the terminal, ids never cut. Rich renders only these."""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from docshare.cli.terminal.cells import format_cell, get_value
from docshare.cli.terminal.pager import print_paged
from docshare.cli.terminal.text import cell_width, format_local_time, format_relative_time
from docshare.contract.amounts import format_size
from docshare.contract.wire import format_duration, parse_instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.cli.terminal.capabilities import Screen
    from docshare.cli.terminal.output import Column

_GAP = 2
_MIN_WIDTH = 8  # minimum cells of a flexible column
_MIN_READABLE_WIDTH = 12  # below this, drop another column instead
_STYLES = {"ok": "green", "warn": "yellow", "error": "bold red", "dim": "dim", "id": "cyan", "bold": "bold"}


def print_table(
    columns: "Sequence[Column]", rows: Sequence[Mapping[str, Any]], context: "Context", *, may_page: bool
) -> None:
    """Print a table; with ``may_page`` through the pager of the user, if it is longer than the terminal."""
    lines = render_table(columns, rows, context)
    if may_page:
        print_paged(context, lines)
    else:
        for line in lines:
            context.print(line)


def render_table(columns: "Sequence[Column]", rows: Sequence[Mapping[str, Any]], context: "Context") -> Iterator[str]:
    """Yield a header and one line per row; omit columns that are empty in every row."""
    cells = {column: [render_cell(column, row, context) for row in rows] for column in columns}
    cells = {column: texts for column, texts in cells.items() if any(texts) or not rows}
    return (line.rstrip() for line in _draw(cells, rows, context.out_screen).splitlines())


def _draw(cells: "dict[Column, list[str]]", rows: Sequence[Mapping[str, Any]], screen: "Screen") -> str:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

    widths = {column: max(map(cell_len, (column.title, *texts))) for column, texts in cells.items()}
    kept, width = _fit_columns(widths, screen.width)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    for column, least in kept.items():
        # Rich shrinks only columns that may wrap; their texts are already clipped with a mark.
        title = Text(column.title, no_wrap=True, overflow="ellipsis")
        table.add_column(title, no_wrap=not column.flexible, min_width=least)
    for index, row in enumerate(rows):
        texts = []
        for column in kept:
            text = Text(cells[column][index], _STYLES.get(column.role, ""), no_wrap=True, overflow="ellipsis")
            if target := screen.choose_target(_find_url(column, row)):
                text.stylize(Style(link=target))  # not in the base style, which would underline the padding as well
            texts.append(text)
        table.add_row(*texts)
    paper = StringIO()
    # Set everything explicitly, so that Rich reads nothing from the environment: with TERM=dumb, for example, it would
    # set the width to 80.
    Console(
        file=paper, width=width, color_system="standard" if screen.color else None, no_color=not screen.color,
        force_terminal=False, legacy_windows=False, markup=False, emoji=False, highlight=False,
    ).print(table)  # fmt: skip
    return paper.getvalue() if screen.unicode else paper.getvalue().replace("…", "~")


def render_pairs(columns: "Sequence[Column]", row: Mapping[str, Any], context: "Context") -> Iterator[str]:
    """Yield the titles and values of one object, aligned; omit empty values."""
    cells = [(column, render_cell(column, row, context)) for column in columns]
    kept = [(column, text) for column, text in cells if text]
    width = max((cell_width(column.title) for column, _ in kept), default=0)
    screen = context.out_screen
    for column, text in kept:
        label = screen.paint("dim", column.title + " " * (width - cell_width(column.title)))
        yield f"{label}  {screen.link(screen.paint(column.role, text), _find_url(column, row))}"


def _find_url(column: "Column", row: Mapping[str, Any]) -> Any:
    """Return the URL that the text of a cell links to, as the server sent it, or None."""
    if callable(column.link):
        return column.link(row)
    return get_value(row, column.link) if column.link else None


def render_cell(column: "Column", row: Mapping[str, Any], context: "Context") -> str:
    """Return the text of one cell."""
    if column.show is not None:
        return format_cell(column.show(row))
    value = get_value(row, column.key)
    if column.kind == "flag":
        return {True: "yes", False: "no"}.get(value, "")
    if isinstance(value, bool) or value is None:
        return format_cell(value)
    if isinstance(value, int) and column.kind in _NUMBER_FORMATS:
        return _NUMBER_FORMATS[column.kind](value)
    if isinstance(value, str) and column.kind in ("when", "moment"):
        return _format_time(column.kind, value, context) or format_cell(value)
    return format_cell(value)


_NUMBER_FORMATS = {"size": format_size, "duration": format_duration}


def _format_time(kind: str, value: str, context: "Context") -> str:
    moment = parse_instant(value)
    if moment is None:
        return ""
    away = format_relative_time(moment, context.now())
    return away if kind == "when" else f"{format_local_time(moment)} ({away})"


def _fit_columns(widths: "dict[Column, int]", room: int) -> "tuple[dict[Column, int], int]":
    """Return the columns that fit, each with its minimum width, and the width to render them in.

    The least important columns are dropped first. The width exceeds ``room`` if nothing is left to drop.
    """
    kept = dict(widths)
    while (
        len(kept) > 1
        and _total_width(_limit_widths(kept, _MIN_READABLE_WIDTH)) > room
        and any(column.rank for column in kept)
    ):
        del kept[max(kept, key=lambda column: column.rank)]
    least = _limit_widths(kept, _MIN_WIDTH)
    return least, max(room, _total_width(least))


def _limit_widths(widths: "dict[Column, int]", flexible: int) -> "dict[Column, int]":
    return {column: min(width, flexible) if column.flexible else width for column, width in widths.items()}


def _total_width(widths: "dict[Column, int]") -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)
