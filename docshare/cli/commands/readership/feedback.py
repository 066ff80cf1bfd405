"""Show the feedback of readers: page marks, annotations, notes and receipts. All of it is personal data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.commands.readership.sessions import FileArgument, explain_forbidden, format_number
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDOUT, require_absent
from docshare.cli.local.storage import replace_file
from docshare.cli.terminal.output import Column, Emitter, Spec
from docshare.cli.terminal.text import clean
from docshare.client.recipients import read_number, read_objects
from docshare.contract.amounts import round_half_up

app = App()

Row = Mapping[str, Any]

_KINDS = ("pick", "maybe", "reject")
_PRIVACY_NOTE = "this is personal data of your readers"

OutputOption = Annotated[
    str | None, typer.Option("--output", "-o", metavar="F", help="Save the CSV of the server; '-' is stdout.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]

MARKS = Spec(
    plain=("page", "identity", "mark"),
    fields=("pages", "viewers", "totals"),
    empty="no page marks; allow them with: docshare settings set FILE --marks",
)
_MARKED_PAGES = Spec(
    table=(
        Column("page", "PAGE", role="bold"),
        *(Column(kind, kind.upper(), role=role) for kind, role in zip(_KINDS, ("ok", "warn", "error"), strict=True)),
        Column("who", "READERS", flexible=True),
    ),
    empty=MARKS.empty,
)
ANNOTATIONS = Spec(
    table=(
        Column("page", "PAGE", role="bold"),
        Column("identity", "READER", flexible=True),
        Column("note", "NOTE", flexible=True),
        Column("rect", "POSITION", rank=2, show=lambda row: _format_rect(row.get("rect"))),
        Column("createdAt", "WHEN", kind="when", rank=1),
    ),
    plain=("page", "uuid", "identity", "rect", "note", "createdAt"),
    fields=("pages",),
    empty="no annotations; allow them with: docshare settings set FILE --annotations",
)
NOTES = Spec(
    table=(
        Column("at", "WHEN", kind="when"),
        Column("kind", "KIND", rank=2),
        Column("author", "NAME", role="bold", flexible=True),
        Column("viewer", "READER", flexible=True),
        Column("pageNumber", "PAGE", rank=3),
        Column("visible", "VISIBLE TO", rank=1),
        Column("body", "NOTE", flexible=True),
    ),
    plain=("kind", "at", "author", "pageNumber", "public", "body", "viewer", "uuid", "contentVersion"),
    fields=("notes", "receipts"),
    empty="no notes or receipts",
)


@app.command("marks", spec=MARKS)
def marks(file: FileArgument, output: OutputOption = None, force: ForceOption = False) -> None:
    """Show which pages readers marked as pick, maybe, or reject.

    [Pro] Piped output has one tab-separated line per mark: page, identity, mark. --format csv and -o write the
    unchanged CSV of the server. An identity is an invited address or a generated name, such as Reader 7F3A.

    Examples:

      docshare readership marks @last
      docshare readership marks slug:offer -o marks.csv
    """
    ctx = current_context()
    printer = ctx.emitter(MARKS)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    if _write_csv(ctx, printer, output, force, lambda: client.readership.marks_csv(name)):
        return
    with explain_forbidden():
        answer = client.readership.marks(name)
    rows = list(_list_marks(answer))
    if printer.is_for_people:
        ctx.emit(list(_group_by_page(answer, rows)), _MARKED_PAGES)
    else:
        printer.emit(answer if _is_raw_json(ctx, printer) else rows)
    _print_privacy_note(ctx, rows)


def _list_marks(answer: Row) -> Iterator[Row]:
    found = [
        {"page": each.get("page"), "identity": viewer.get("identity"), "mark": each.get("mark")}
        for viewer in read_objects(answer, "viewers")
        for each in read_objects(viewer, "marks")
    ]
    return iter(sorted(found, key=lambda row: read_number(row, "page")))


def _group_by_page(answer: Row, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the pages with counts and the marks of each reader, then the totals."""
    for page in read_objects(answer, "pages"):
        said = [f"{row['identity']} {row['mark']}" for row in rows if row["page"] == page.get("page")]
        yield {**page, "who": ", ".join(said)}
    totals = answer.get("totals")
    if rows and isinstance(totals, Mapping):
        yield {"page": "all", **{kind: totals.get(kind) for kind in _KINDS}}


@app.command("annotations", spec=ANNOTATIONS)
def annotations(file: FileArgument, output: OutputOption = None, force: ForceOption = False) -> None:
    """Show the annotations of readers on the pages.

    [Pro] Piped output has one tab-separated line per annotation: page, uuid, identity, rect, note, createdAt. POSITION
    is left, top, width x height in percent of the page, from the upper left corner. --format csv and -o write the
    unchanged CSV of the server.

    Examples:

      docshare readership annotations @last
      docshare readership annotations slug:offer --format csv > annotations.csv
    """
    ctx = current_context()
    printer = ctx.emitter(ANNOTATIONS)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    if _write_csv(ctx, printer, output, force, lambda: client.readership.annotations_csv(name)):
        return
    with explain_forbidden():
        answer = client.readership.annotations(name)
    rows = [
        {"page": page.get("page"), **each}
        for page in read_objects(answer, "pages")
        for each in read_objects(page, "annotations")
    ]
    printer.emit(answer if _is_raw_json(ctx, printer) else rows)
    _print_privacy_note(ctx, rows)


def _format_rect(rect: Any) -> str:
    if not isinstance(rect, Mapping):
        return ""
    left, top, width, height = (
        format_number(round_half_up(read_number(rect, side) * 100)) for side in ("x", "y", "width", "height")
    )
    return f"{left},{top} {width}x{height} %"


@app.command("notes", spec=NOTES)
def notes(file: FileArgument) -> None:
    """Show the notes and receipts of readers.

    [Pro] Oldest first. Private notes are visible only to you; public ones to every reader. NAME is the name that the
    reader entered; READER is an invited address or a generated name. Piped output is tab-separated: kind (note or
    receipt), at, author, pageNumber, public, body, viewer, uuid, contentVersion.

    Examples:

      docshare readership notes @last
      docshare readership notes slug:offer --json | jq '.receipts[].name'
    """
    ctx = current_context()
    printer = ctx.emitter(NOTES)
    client = ctx.client()
    with explain_forbidden():
        answer = client.readership.feedback(FileResolver(ctx, client).resolve(file))
    rows = sorted(_merge_feedback(answer), key=lambda row: str(row["at"]))
    printer.emit(answer if _is_raw_json(ctx, printer) else rows)
    _print_privacy_note(ctx, rows)


def _merge_feedback(answer: Row) -> Iterator[dict[str, Any]]:
    for row in read_objects(answer, "notes"):
        visible = "everyone" if row.get("public") else "you"
        yield {"kind": "note", "at": row.get("createdAt"), "visible": visible, **row}
    for row in read_objects(answer, "receipts"):
        yield {"kind": "receipt", "at": row.get("confirmedAt"), "author": row.get("name"), **row}


def _is_raw_json(ctx: Context, printer: Emitter) -> bool:
    return printer.format == "json" and not ctx.options.fields


def _write_csv(ctx: Context, printer: Emitter, output: str | None, force: bool, fetch: Callable[[], bytes]) -> bool:
    """Write the CSV of the server if the options ask for it, and return whether they do.

    Raise Stop (2) for an existing file.
    """
    given = ctx.options.format
    if output is not None and given not in (None, "csv"):
        raise Stop(ExitCode.USAGE, f"-o writes CSV, not {given}", hint="Omit --format, or redirect stdout.")
    if output is None and (printer.format != "csv" or ctx.options.fields or ctx.options.query):
        return False
    if output is not None:
        require_absent(output, force=force)
    with explain_forbidden():
        content = fetch()
    if output in (None, STDOUT):
        ctx.write(_for_terminal(content) if ctx.stdout_tty else content)
    else:
        replace_file(Path(str(output)), content, private=True)
        ctx.note(f"saved {output}")
    if ctx.stderr_tty:
        ctx.note(_PRIVACY_NOTE)
    return True


def _for_terminal(content: bytes) -> str:
    return clean(content.decode("utf-8-sig", "replace").replace("\r\n", "\n"), multiline=True)


def _print_privacy_note(ctx: Context, rows: Sequence[Row]) -> None:
    if rows and ctx.stderr_tty:
        ctx.note(_PRIVACY_NOTE)
