"""``docshare push``: a command that is safe to run after every build."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.contract.amounts import format_size

app = App()


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint_link(str(row["url"]))
    if not context.options.quiet:
        facts = [str(row["status"]), str(row["path"]), format_size(row["size"])]
        facts += [f"version {row['contentVersion']}"] if "contentVersion" in row else []
        yield screen.paint("dim", f" {screen.glyph('·')} ".join(map(clean, facts)))


_PUSH_SPEC = Spec(
    plain=("url",),
    fields=(
        "status",
        "uuid",
        "shortId",
        "shareUrl",
        "contentVersion",
        "slug",
        "path",
        "size",
        "sha256",
        "warning",
        "leftOut",
        "pageRangeEmpty",
        "emptyVariants",
    ),
    id="shortId",
    human=_render_row,
    once=("url",),
)


@app.command("push", spec=_PUSH_SPEC)
def push(
    path: Annotated[str, typer.Argument(metavar="FILE", help="The document; '-' is stdin.")],
    slug: Annotated[
        str | None, typer.Option(metavar="NAME", help="[Pro] Custom link that identifies the file.")
    ] = None,
    manifest: Annotated[
        Path | None, typer.Option(metavar="F.jsonl", help="Manifest that records the link for this path.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name shown to readers; required for '-'.")] = None,
    keep_anchors: Annotated[
        bool, typer.Option("--keep-anchors", help="Keep hotspots, notes, marks, and annotations.")
    ] = False,
    lint: Annotated[bool, typer.Option("--lint", help="Check the PDF first; upload nothing on a warning.")] = False,
    fail_on: Annotated[
        str | None, typer.Option(metavar="error|warning|never", help="With --lint: lowest level that stops the upload.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="With --lint: skip this check. Repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Create or update a document under a stable link.

    The first push uploads the document. Later pushes replace its content behind the same link if its bytes have changed
    (requires the Pro plan), and do nothing otherwise. Only the link is printed; --json also prints the status:
    "created", "replaced", or "unchanged".

    The file is identified by its slug (custom link), by a manifest (the same as for upload --manifest), or by both. Two
    concurrent pushes under one name create one file. The server converts Word and PowerPoint files; only a manifest
    records their original bytes, so without one every push replaces their content.

    Examples:

      docshare push report.pdf --slug q3
      url=$(docshare push build/manual.pdf --manifest shared.jsonl)
      make-report | docshare push - --name report.pdf --slug nightly
    """
    from docshare.cli.commands.push.inputs import open_manifest, parse_slug, read_item
    from docshare.cli.commands.push.run import Pusher
    from docshare.cli.framework.sources import compute_digest
    from docshare.cli.local import accounts, cache

    ctx = current_context()
    if slug is None and manifest is None:
        raise Stop(ExitCode.USAGE, "--slug or --manifest is required", hint="Use --slug NAME or --manifest F.jsonl.")
    if path == STDIN and manifest is not None:
        raise Stop(
            ExitCode.USAGE,
            "--manifest and stdin cannot be used together",
            hint="A manifest identifies files by path.",
        )
    if (fail_on or ignore) and not lint:
        raise Stop(ExitCode.USAGE, "--fail-on and --ignore require --lint")
    printer = ctx.emitter(_PUSH_SPEC)
    with ExitStack() as held:
        item = read_item(ctx, path, name, held)
        if lint:
            from docshare.cli.commands.lint.command import require_clean

            require_clean(ctx, [item], fail_on, ignore or ())
        ledger = None if manifest is None else open_manifest(manifest, held)
        client = held.enter_context(ctx.client())
        pusher = Pusher(
            ctx, client, item, compute_digest(item), slug=parse_slug(slug), ledger=ledger, keep_anchors=keep_anchors
        )
        if dry_run:
            return print_requests(ctx, pusher.list_requests())
        accounts.prefetch_account(ctx, client)
        row = pusher.run()
    cache.remember_last_upload(ctx, row)
    printer.emit(row)
    return ExitCode.OK
