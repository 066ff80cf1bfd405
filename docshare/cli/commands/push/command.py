"""``docshare push``: one line that is safe to run after every build."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean, format_size

app = App()


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint("bold", clean(str(row["url"])))
    if not context.options.quiet:
        facts = [str(row["status"]), str(row["path"]), format_size(row["size"])]
        facts += [f"version {row['contentVersion']}"] if "contentVersion" in row else []
        yield screen.paint("dim", f" {screen.glyph('·')} ".join(map(clean, facts)))


_PUSH_SPEC = Spec(
    plain=("url",),
    fields=("status", "uuid", "shortId", "shareUrl", "contentVersion", "slug", "path", "size", "sha256"),
    id="shortId",
    human=_render_row,
    once=("url",),
)


@app.command("push", spec=_PUSH_SPEC)
def push(
    path: Annotated[str, typer.Argument(metavar="FILE", help="The document; '-' is stdin.")],
    slug: Annotated[
        str | None, typer.Option(metavar="NAME", help="The link's own name, by which its file is known. [Pro]")
    ] = None,
    manifest: Annotated[
        Path | None, typer.Option(metavar="F.jsonl", help="Keep the file's link here, under the path of FILE.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name that readers see; needed with '-'.")] = None,
    keep_anchors: Annotated[
        bool, typer.Option("--keep-anchors", help="Leave hotspots, notes, marks and annotations on their pages.")
    ] = False,
    lint: Annotated[
        bool, typer.Option("--lint", help="Look into a PDF first; send nothing if docshare lint warns of it.")
    ] = False,
    fail_on: Annotated[
        str | None, typer.Option(metavar="error|warning|never", help="With --lint: send nothing from this level on.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="With --lint: do not look for this; may be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")] = False,
) -> ExitCode:
    """Share a document under a fixed name: the same line for every build.

    The first push uploads the document. Later ones replace its content behind the same link if its bytes have changed
    (which needs the Pro plan), and do nothing if they have not. Only the link is printed; --json also tells what was
    done: "created", "replaced" or "unchanged".

    The file is known by its slug, by a manifest (the ledger that upload --manifest keeps too), or by both. Two pushes
    of one name at the same time end in one file. Word and PowerPoint files are converted by the server; that their
    bytes are the same can only be told with a manifest: without one every push of them replaces the content.

    Examples:

      docshare push report.pdf --slug q3
      url=$(docshare push build/manual.pdf --manifest shared.jsonl)
      make-report | docshare push - --name report.pdf --slug nightly
    """
    from docshare.cli.commands.push.inputs import open_manifest, parse_slug, read_item
    from docshare.cli.commands.push.run import Pusher
    from docshare.cli.framework import bulk
    from docshare.cli.framework.sources import compute_digest
    from docshare.cli.local import cache

    ctx = current_context()
    if slug is None and manifest is None:
        raise Stop(
            ExitCode.USAGE, "by what shall the document be known?", hint="Give --slug NAME or --manifest F.jsonl."
        )
    if path == STDIN and manifest is not None:
        raise Stop(ExitCode.USAGE, "a manifest knows documents by their path, and '-' (stdin) has none")
    if (fail_on or ignore) and not lint:
        raise Stop(ExitCode.USAGE, "--fail-on and --ignore are about --lint, which is not given")
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
            return bulk.print_requests(ctx, pusher.planned())
        row = pusher.run()
    cache.remember_last_upload(ctx, row)
    printer.emit(row)
    return ExitCode.OK
