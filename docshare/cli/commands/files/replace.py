"""``docshare files replace``: replace the document behind a link."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Spec
from docshare.contract.amounts import format_plural

app = App()


def _render_row(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    counts = [(row.get(f"cleared{noun.capitalize()}s"), noun) for noun in ("hotspot", "note", "mark", "annotation")]
    cleared = [format_plural(count, noun) for count, noun in counts if count]
    yield f"version {row.get('contentVersion')}" + (f", cleared {', '.join(cleared)}" if cleared else "")


_CLEARED = ("anchorsCleared", "clearedHotspots", "clearedNotes", "clearedMarks", "clearedAnnotations")
REPLACE_SPEC = Spec(
    plain=("contentVersion",),
    fields=(
        "uuid",
        "originalName",
        "size",
        *_CLEARED,
        "pageRangeEmpty",
        "emptyVariants",
        "message",
        "warning",
        "leftOut",
        "recovered",
    ),
    id="uuid",
    human=_render_row,
)


@app.command("replace", spec=REPLACE_SPEC)
def replace(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The new document; '-' is stdin.")],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name shown to readers; required for '-'.")] = None,
    keep_anchors: Annotated[
        bool, typer.Option("--keep-anchors", help="Keep hotspots, notes, marks, and annotations.")
    ] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Validate the file before uploading.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Replace the document behind a link.

    Requires the Pro plan. The link, QR code, settings, and readership stay, and the version increases by one. Replacing
    reactivates a burned link and restarts its view limit; an expired link cannot be replaced. Hotspots, notes, marks,
    and annotations on the pages are cleared unless --keep-anchors is given, so the command prompts on a terminal.
    Anchors kept on a page that the new version lacks stay hidden until a later version has that page.

    If the new version has none of the pages in the page range, readers see a notice instead of the document until you
    change the range; a warning names the affected links. On a pipe, prints the new version number.

    Examples:

      docshare replace @last deck-v2.pdf
      docshare replace slug:offer offer.pdf --keep-anchors
      make-pdf | docshare replace aB3dE5fG7hJ9 - --name report.pdf
    """
    from docshare.cli.commands.files.replacement import replace_document

    ctx = current_context()
    row = replace_document(ctx, file, path, name, keep_anchors=keep_anchors, check=check, dry_run=dry_run)
    if row is not None:
        ctx.emit(row, REPLACE_SPEC)
    return ExitCode.OK
