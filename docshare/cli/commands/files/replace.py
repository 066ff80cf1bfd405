"""``docshare replace``: replace the document behind a link."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Spec

if TYPE_CHECKING:
    from docshare.client import Client


def _render_row(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    counts = [(row.get(f"cleared{noun.capitalize()}s"), noun) for noun in ("hotspot", "note", "mark", "annotation")]
    cleared = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count]
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


def replace(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The new document; '-' is stdin.")],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name shown to readers; required for '-'.")] = None,
    keep_anchors: Annotated[
        bool, typer.Option("--keep-anchors", help="Keep hotspots, notes, marks and annotations.")
    ] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Validate the file before uploading.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Replace the document behind a link.

    Requires the Pro plan. The link, QR code, settings and readership stay, and the version increases by one. Replacing
    reactivates a burned link and restarts its view limit; an expired link cannot be replaced. Hotspots, notes, marks
    and annotations on the pages are cleared unless --keep-anchors is given, so the command prompts on a terminal.
    Anchors kept on a page that the new version lacks stay hidden until a later version has that page.

    If the new version has none of the pages in the page range, readers see a notice instead of the document until you
    change the range; a warning names the affected links. On a pipe, prints the new version number.

    Examples:

      docshare replace @last deck-v2.pdf
      docshare replace slug:offer offer.pdf --keep-anchors
      make-pdf | docshare replace aB3dE5fG7hJ9 - --name report.pdf
    """
    from docshare.cli.commands.upload import new_version
    from docshare.cli.commands.upload.rows import describe_omitted_pictures
    from docshare.cli.framework import bulk
    from docshare.cli.framework.sources import check_plan_limits

    ctx = current_context()
    with ExitStack() as held:
        item = new_version.read_item(ctx, path, name, held, check=check)
        client = held.enter_context(ctx.client())
        uuid = FileResolver(ctx, client).resolve(file)
        if dry_run:
            query = "?clearAnchors=false" if keep_anchors else ""
            words = f"file={item.name} ({item.size} bytes)"
            return bulk.print_requests(ctx, [("POST", f"/api/v1/files/{uuid}/content{query}", words)])
        if check:
            (item,) = check_plan_limits(client, [item])
        if item.refusal is not None:
            raise item.refusal
        if not keep_anchors:
            _confirm(ctx, client, uuid, file)
        row = new_version.replace_with_progress(ctx, client, uuid, item, keep_anchors=keep_anchors)
        if row.get("warning"):
            ctx.warn(str(row["warning"]))
        if row.get("leftOut"):
            ctx.warn(describe_omitted_pictures(item.path, row["leftOut"]))
        ctx.emit(row, REPLACE_SPEC)
    return ExitCode.OK


def _confirm(ctx: Context, client: "Client", uuid: str, word: str) -> None:
    """Prompt on a terminal, whether or not there are anchors: the API does not report them."""
    from docshare.cli.framework import prompts

    if ctx.may_prompt and not ctx.options.yes:
        what = prompts.describe_file(client, uuid, word)
        anchors = "hotspots, notes, marks and annotations"
        prompts.confirm(ctx, f"Replace the document of {what}, clearing {anchors} on its pages?")
