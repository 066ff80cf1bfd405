"""``docshare readership export``: write all readership data of a file to a directory."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.readership.sessions import SESSION_COLUMNS, explain_forbidden
from docshare.cli.commands.variants.export import format_variants_csv
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.inputs import require_absent
from docshare.cli.local.storage import replace_file
from docshare.cli.terminal.csv_line import format_csv_line
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.client.recipients import read_objects

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_PAGE_COLUMNS = ("pageNumber", "views", "avgDurationMs", "backTurns")
_NOTE_COLUMNS = ("uuid", "createdAt", "author", "pageNumber", "public", "body", "viewer", "contentVersion")
_RECEIPT_COLUMNS = ("confirmedAt", "name", "viewer", "contentVersion")
_SKIPPABLE_STATUSES = (403, 404)  # not in the plan, or no such endpoint

EXPORT_SPEC = Spec(
    table=(
        Column("path", "FILE", role="bold"),
        Column("bytes", "SIZE", kind="size"),
        Column("skipped", "REASON SKIPPED", role="warn", flexible=True),
    ),
    plain=("path", "bytes", "skipped"),
    id="path",
)


@app.command("export", spec=EXPORT_SPEC)
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="Directory to write to.")],
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 12 if anything was skipped.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> ExitCode:
    """Write the readership data of a file to a directory.

    readership.json is the report as the server sent it; pages.csv, sessions.csv, notes.csv, receipts.csv, marks.csv,
    annotations.csv and variants.csv are tables. Tables that the plan does not include are skipped and reported. The
    files contain personal data of your readers and are readable only by you.

    Examples:

      docshare readership export @last -o readers
      docshare readership export slug:offer -o readers --force --strict
    """
    ctx = current_context()
    printer = ctx.emitter(EXPORT_SPEC)
    folder = Path(output)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    makers = _build_exporters(ctx, client, name)
    for each in makers:
        require_absent(folder / each, force=force)
    rows = [{"path": str(folder / each), **_export_file(folder / each, make)} for each, make in makers.items()]
    printer.emit(rows)
    if ctx.stderr_tty:
        ctx.note("these files contain personal data of your readers")
    return ExitCode.PARTIAL if strict and any("skipped" in row for row in rows) else ExitCode.OK


def _build_exporters(ctx: Context, client: "Client", name: str) -> dict[str, Callable[[], str | bytes]]:
    """Return the function that creates the content of each file. The server may reject all except the report."""
    report: dict[str, Any] = {}
    raw = ctx.options.raw_csv

    def whole() -> str:
        with explain_forbidden():
            report.update(client.readership.report(name))
        return json.dumps(report, ensure_ascii=False, indent=2) + "\n"

    def variants() -> str:
        reading = {str(row.get("uuid")): row for row in read_objects(report, "variants")}
        return format_variants_csv(client.variants.list(name), reading, raw=raw)

    @cache
    def feedback() -> Mapping[str, Any]:
        return client.readership.feedback(name)

    return {
        "readership.json": whole,
        "pages.csv": lambda: _format_csv(_PAGE_COLUMNS, read_objects(client.readership.pages(name), "pages"), raw=raw),
        "sessions.csv": lambda: _format_csv(SESSION_COLUMNS, client.readership.sessions_after(name), raw=raw),
        "notes.csv": lambda: _format_csv(_NOTE_COLUMNS, read_objects(feedback(), "notes"), raw=raw),
        "receipts.csv": lambda: _format_csv(_RECEIPT_COLUMNS, read_objects(feedback(), "receipts"), raw=raw),
        "marks.csv": lambda: client.readership.marks_csv(name),
        "annotations.csv": lambda: client.readership.annotations_csv(name),
        "variants.csv": variants,
    }


def _format_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, raw: bool) -> str:
    """Return ``rows`` as CSV with a header line. ``raw`` leaves cells that look like formulas unchanged."""
    cells = (columns, *([row.get(column) for column in columns] for row in rows))
    return "".join(f"{format_csv_line(line, raw=raw)}\n" for line in cells)


def _export_file(path: Path, make: Callable[[], str | bytes]) -> Mapping[str, Any]:
    """Write the content from ``make`` to ``path`` and return ``{bytes}``, or ``{skipped: reason}`` if it is rejected.

    A rejected report raises ``Refused``, because there is nothing to export without it.
    """
    try:
        content = make()
    except Refused as refusal:
        if refusal.status not in _SKIPPABLE_STATUSES or path.suffix == ".json":
            raise
        return {"skipped": clean(refusal.detail)}
    data = content.encode() if isinstance(content, str) else content
    replace_file(path, data, private=True)
    return {"bytes": len(data)}
