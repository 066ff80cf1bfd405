"""The file of ``variants create --out``: the input with its links, and the state to resume an interrupted run."""

import csv
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from docshare.cli.commands.variants.recipients import PICTURE_COLUMN, RESULT_COLUMNS, RecipientRow, RecipientSheet
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import hold_lock, replace_file
from docshare.cli.terminal.csv_line import escape_formula

Result = Mapping[str, str]

_BOM = "\ufeff"


class ResultFile:
    """The result at ``path`` for the rows of ``sheet``.

    Each ``write`` replaces the whole file atomically, so that a crash never leaves a partial row. ``pictures``: add a
    column for the QR images.
    """

    def __init__(self, path: Path, sheet: RecipientSheet, label_column: str, *, pictures: bool) -> None:
        self._path = path
        self._sheet = sheet
        self._label = [name.lower() for name in sheet.columns].index(label_column.lower())
        self._plain = (*sheet.columns, *RESULT_COLUMNS)
        self._columns = (*self._plain, PICTURE_COLUMN) if pictures else self._plain
        self._unmatched_rows: list[list[str]] = []

    def lock(self, context: Context) -> AbstractContextManager[bool]:
        """Lock the file against other runs; yield False if another run holds the lock."""
        name = hashlib.sha256(os.path.realpath(self._path).encode("utf-8", "surrogateescape")).hexdigest()
        return hold_lock(context.state_dir / "results" / f"{name}.lock", wait=False)

    def load(self) -> dict[str, Result]:
        """Return the results of an earlier run by label; links of rows that are no longer in the input are kept.

        Raise Stop (2) for a file that is not a result with the same columns, because it may be other data.
        """
        rows = self._read_rows()
        if not rows:
            return {}
        header = tuple(rows[0])
        if header not in (self._plain, (*self._plain, PICTURE_COLUMN)):
            raise Stop(
                ExitCode.USAGE,
                f"{self._path} exists and is not a result with these columns: {', '.join(self._plain)}",
                hint="Name another file with --out.",
            )
        self._columns = max(header, self._columns, key=len)
        return self._match_rows(rows[1:])

    def _match_rows(self, rows: Sequence[Sequence[str]]) -> dict[str, Result]:
        wanted = {recipient.label for recipient in self._sheet.recipients}
        found: dict[str, Result] = {}
        for cells in rows:
            filled = [*cells, *[""] * len(self._columns)][: len(self._columns)]
            values = dict(zip(self._columns, filled, strict=True))
            label = filled[self._label].strip()
            if label in wanted:
                found.setdefault(label, {key: values.get(key, "") for key in (*RESULT_COLUMNS, PICTURE_COLUMN)})
            elif values["uuid"]:
                self._unmatched_rows.append(filled)
        return found

    def write(self, results: Sequence[tuple[RecipientRow, Result]]) -> None:
        """Write every row with its result to disk. Raise Stop (2) if that fails."""
        out = io.StringIO()
        if self._sheet.bom:
            out.write(_BOM)
        writer = csv.writer(out, delimiter=self._sheet.delimiter, lineterminator="\n")
        writer.writerow(self._columns)
        own = self._columns[len(self._sheet.columns) :]
        for recipient, result in results:
            # Input cells are the user's own and stay unchanged; only server data is escaped against formulas.
            writer.writerow((*recipient.cells, *(escape_formula(result.get(key, ""), exact=True) for key in own)))
        writer.writerows(self._unmatched_rows)
        replace_file(self._path, out.getvalue())

    def _read_rows(self) -> list[list[str]]:
        try:
            raw = self._path.read_bytes()
            text = raw.decode().removeprefix(_BOM)
            return list(csv.reader(io.StringIO(text, newline=""), delimiter=self._sheet.delimiter, strict=True))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Stop(ExitCode.USAGE, f"cannot read {self._path}: {error.strerror or error}") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise Stop(ExitCode.USAGE, f"{self._path} exists and is not a CSV file: {error}") from None
