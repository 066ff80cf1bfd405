"""The recipients of ``docshare variants create``: validated rows of a CSV file, or labels."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from docshare.cli.commands.settings.overrides import Overrides, build_overrides
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN, read_bytes
from docshare.contract.fields import text_parser
from docshare.contract.limits import VARIANT_LABEL_CHARS, VARIANTS_PER_FILE
from docshare.contract.problems import Problem

RESULT_COLUMNS = ("uuid", "shortId", "url", "status", "error")
PICTURE_COLUMN = "qr"

_MAX_REPORTED_ROWS = 20  # number of bad rows to print
_MAX_ROWS = 50 * VARIANTS_PER_FILE  # a longer file is probably the wrong one
_BOM = "\ufeff"
_parse_label = text_parser(1, VARIANT_LABEL_CHARS)
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")
_NUMBER_PLACEHOLDER = re.compile(r"\{n(?::0?([0-9]{1,2}))?\}", re.ASCII)


@dataclass(frozen=True)
class RecipientRow:
    """One link to create.

    ``row``: number as in a spreadsheet; ``label``: trimmed; ``overrides``; ``cells``: its input row; ``error``: why the
    row is unusable.
    """

    row: int
    label: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    cells: tuple[str, ...] = ()
    error: str = ""

    @property
    def display_name(self) -> str:
        """Return the name of the row in messages."""
        return f"row {self.row} ({self.label})" if self.label else f"row {self.row}"


@dataclass(frozen=True)
class RecipientSheet:
    """The ``recipients`` and the format to write them back in.

    ``columns`` of the input without those of a result, ``delimiter``, and whether the file began with a byte order mark
    (``bom``).
    """

    columns: tuple[str, ...]
    recipients: tuple[RecipientRow, ...]
    delimiter: str = ","
    bom: bool = False


def expand_template(count: int, template: str) -> list[str]:
    """Return ``count`` labels from ``template``, in which ``{n}`` is the number and ``{n:03}`` is padded.

    Raise Stop (2) for a template that repeats a name.
    """
    rest = _NUMBER_PLACEHOLDER.sub("", template)
    if "{" in rest or "}" in rest:
        raise Stop(ExitCode.USAGE, f"--label-template: {template!r} has a brace that is not {{n}} or {{n:03}}")
    if count > 1 and not _NUMBER_PLACEHOLDER.search(template):
        raise Stop(ExitCode.USAGE, "--label-template requires {n}; without it, all labels would be the same")
    return [_format_label(template, n) for n in range(1, count + 1)]


def build_sheet(context: Context, labels: Sequence[str], overrides: Overrides, option: str) -> RecipientSheet:
    """Return one recipient for each of ``labels``; ``option`` is the option they come from, for messages.

    Raise Stop (2) for invalid labels.
    """
    found = [_build_recipient(row, label.strip(), lambda: overrides, (label,)) for row, label in enumerate(labels, 1)]
    reject_bad_rows(context, [(each, each.error) for each in found if each.error], option)
    return RecipientSheet(("label",), tuple(found))


def _format_label(template: str, n: int) -> str:
    return _NUMBER_PLACEHOLDER.sub(lambda match: str(n).zfill(int(match[1] or 0)), template)


def read_sheet(
    context: Context,
    source: str,
    *,
    label_column: str,
    delimiter: str,
    defaults: Mapping[str, Any],
    option: str = "--from-csv",
) -> RecipientSheet:
    """Read the rows of the CSV file ``source`` (``-``: stdin).

    Parameters:
        label_column: the column with the recipient; column names are case-insensitive.
        delimiter: one character between cells.
        defaults: overrides for rows without a value.
        option: the option that named the file, for messages.

    Known columns are ``allowDownload`` (true or false) and ``pages`` (``3-9``, ``5``, ``all``) or ``from`` and ``to``.
    Raise Stop (2) if the file cannot be read or lacks the column, or, after printing each, if rows are unusable.
    """
    raw = _read_text(context, source, option)
    source = describe_source(source)
    rows = _parse_rows(raw.removeprefix(_BOM), source, delimiter)
    header = next(rows, (1, []))[1]
    columns = _ColumnMap([name.strip() for name in header], source, label_column, option)
    found = [columns.build_recipient(row, cells, defaults) for row, cells in rows]
    if not found:
        raise Stop(ExitCode.USAGE, f"{source} has a header but no rows")
    reject_bad_rows(context, [(each, each.error) for each in found if each.error], source)
    return RecipientSheet(tuple(columns.input_names), tuple(found), delimiter, raw.startswith(_BOM))


def describe_source(source: str) -> str:
    """Return the name of the file ``source`` in messages."""
    return "stdin" if source == STDIN else source


def _read_text(context: Context, source: str, option: str) -> str:
    raw = read_bytes(context, source, option)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Stop(
            ExitCode.USAGE,
            f"{describe_source(source)} is not UTF-8 (line {line})",
            hint="Save it as CSV in UTF-8.",
            code="local_file",
        ) from None


def _parse_rows(raw: str, source: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with its number; empty rows are counted but skipped."""
    reader = csv.reader(io.StringIO(raw, newline=""), delimiter=delimiter, strict=True)
    try:
        for number, cells in enumerate(reader, 1):
            if number > _MAX_ROWS:
                raise Stop(ExitCode.USAGE, f"{source} has more than {_MAX_ROWS} rows")
            if number == 1 or any(cell.strip() for cell in cells):
                yield number, cells
    except csv.Error as error:
        raise Stop(ExitCode.USAGE, f"{source}, line {reader.line_num}: {error}", code="local_file") from None


class _ColumnMap:
    """The positions of the known columns in a row."""

    def __init__(self, names: Sequence[str], source: str, label_column: str, option: str) -> None:
        low = [name.lower() for name in names]
        twice = [name for name, times in Counter(low).items() if times > 1 and name]
        if twice:
            raise Stop(ExitCode.USAGE, f"{source} has a duplicate column {twice[0]!r}")
        own = {name.lower() for name in (*RESULT_COLUMNS, PICTURE_COLUMN)}
        if label_column.lower() in own:
            raise Stop(ExitCode.USAGE, f"--label-column: {label_column!r} is reserved for the result")
        if label_column.lower() not in low:
            columns = ", ".join(names) or "none"
            raise Stop(
                ExitCode.USAGE,
                f"{source} has no column {label_column!r}; the columns in its first row are: {columns}",
                hint="The first row must name the columns"
                + ("; choose another with --label-column or --delimiter." if option == "--from-csv" else "."),
            )
        self._width = len(names)
        self._index_by_name: dict[str, int] = {
            name: low.index(name) for name in ("allowdownload", "pages", "from", "to") if name in low
        }
        self._index_by_name["label"] = low.index(label_column.lower())
        if "pages" in self._index_by_name and {"from", "to"} & self._index_by_name.keys():
            raise Stop(ExitCode.USAGE, f"{source} has a pages column and from or to; use only one of them")
        self._input_indexes = [index for index, name in enumerate(low) if name not in own]
        self.input_names = [names[index] for index in self._input_indexes]

    def build_recipient(self, row: int, cells: Sequence[str], defaults: Mapping[str, Any]) -> RecipientRow:
        """Return one row as a recipient; missing cells at its end are empty."""
        if any(cell.strip() for cell in cells[self._width :]):
            return RecipientRow(row, "", error=f"the row has {len(cells)} cells, the header has {self._width}")
        filled = [*cells, *[""] * self._width][: self._width]
        values = {name: filled[index].strip() for name, index in self._index_by_name.items()}
        kept = tuple(filled[index] for index in self._input_indexes)
        return _build_recipient(row, values["label"], lambda: {**defaults, **_parse_overrides(values)}, kept)


def _parse_overrides(values: Mapping[str, str]) -> Overrides:
    value = values.get("allowdownload", "").lower()
    if value and value not in (*_YES, *_NO):
        raise Stop(ExitCode.USAGE, f"allowDownload must be true or false, not {value!r}")
    first, last = values.get("from", ""), values.get("to", "")
    if bool(first) != bool(last):
        raise Stop(ExitCode.USAGE, "from and to must be used together")
    pages = values.get("pages") or (f"{first}-{last}" if first else None)
    return build_overrides(value in _YES if value else None, "all" if pages == "0-0" else pages, "pages")


def _build_recipient(row: int, label: str, overrides: Callable[[], Overrides], cells: tuple[str, ...]) -> RecipientRow:
    try:
        if not label:
            raise Stop(ExitCode.USAGE, "the label is missing")  # a rerun finds created links by label
        return RecipientRow(row, _parse_label("label", label), overrides(), cells)
    except (Stop, Problem) as error:
        return RecipientRow(row, label[:VARIANT_LABEL_CHARS], cells=cells, error=error.detail)


def reject_bad_rows(context: Context, bad: Sequence[tuple[RecipientRow, str]], source: str, *, hint: str = "") -> None:
    """Raise Stop (2) before anything is sent if ``source`` (its name in messages) has ``bad`` rows; print each."""
    if not bad:
        return
    recipient, why = bad[0]
    message = f"{source}, {recipient.display_name}: {why}"
    if len(bad) > 1:
        for each, reason in bad[:_MAX_REPORTED_ROWS]:
            context.err(f"error: {each.display_name}: {reason}", "error")
        message = f"{len(bad)} rows of {source} are invalid"
    raise Stop(ExitCode.USAGE, f"{message}; nothing was created", hint=hint, code="local_file")
