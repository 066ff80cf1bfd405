"""``docshare public upload``: share a document without an account."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.commands.upload.new_version import make_progress_callback, read_item
from docshare.cli.commands.upload.rows import print_warnings
from docshare.cli.framework.clients import make_anonymous_client
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRunSend, print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.tokens import TOKENS, move_tokens, render_tokens
from docshare.cli.local import cache
from docshare.cli.local.secret_file import create_secret_file
from docshare.cli.terminal import progress
from docshare.cli.terminal.output import Spec
from docshare.client.errors import Refused


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield context.out_screen.paint_link(str(row["shareUrl"]))
    yield from render_tokens(row, context)


PUBLIC_UPLOAD_SPEC = Spec(
    plain=("shareUrl", *TOKENS),
    fields=("uuid", "shortId", "message", "warning", "leftOut"),
    id="shortId",
    human=_render_row,
    once=("shareUrl", *TOKENS),
)


def upload(
    path: Annotated[str, typer.Argument(metavar="PATH", help="Document to upload; '-' is stdin.")],
    name: Annotated[str | None, typer.Option("--name", metavar="TEXT", help="Name that readers see.")] = None,
    tokens_out: Annotated[
        Path | None, typer.Option("--tokens-out", metavar="F", help="Write both tokens to a new JSON file.")
    ] = None,
    no_check: Annotated[bool, typer.Option("--no-check", help="Skip the check of the document.")] = False,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Share a document without an account.

    The link works for seven days. Use the claim token to claim the file for an account (docshare claim), and the manage
    token to change its settings (docshare settings set --manage-token-file). Both are shown only once; --tokens-out
    writes them to a file (mode 0600) instead. Piped output has tab-separated names and values: shareUrl, claimToken,
    manageToken and more.

    Examples:

      docshare public upload leaflet.pdf --url https://docs.example.com
      docshare public upload leaflet.pdf --tokens-out tokens.json
    """
    ctx = current_context()
    printer = ctx.emitter(PUBLIC_UPLOAD_SPEC)
    with ExitStack() as held:
        item = read_item(ctx, path, name, held, check=not no_check)
        if dry_run:
            return print_requests(ctx, [("POST", "/api/files", f"file={item.name} ({item.size} bytes)")])
        kept = held.enter_context(create_secret_file(tokens_out)) if tokens_out else None
        result = _send(ctx, item)
        print_warnings(ctx, item.path, result)
        result = move_tokens(result, kept)
    cache.remember_last_upload(ctx, result)
    printer.emit(result)
    return ExitCode.OK


def _send(ctx: Context, item: Any) -> Mapping[str, Any]:
    with make_anonymous_client(ctx) as client, progress.show_progress(ctx, item.name, item.size) as bar:
        try:
            with item.open() as source:
                return client.public.upload(
                    source, item.name, progress=make_progress_callback(bar, item.size, item.name)
                )
        except Refused as refusal:
            if refusal.status == 404:
                refusal.hint = "This server does not allow anonymous uploads. Log in with: docshare auth login"
            raise
        except OSError as error:
            why = f"cannot read {item.path}: {error.strerror or error}"
            raise Stop(ExitCode.USAGE, why, code="local_file") from error
