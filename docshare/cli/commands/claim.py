"""``docshare claim``: claim a file that was shared without an account."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import HIDDEN, DryRunSend, preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.tokens import read_token
from docshare.cli.local import accounts, cache
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.contract.scopes import LANES, Lane

app = App()


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield context.out_screen.paint_link(str(row["shareUrl"]))
    if not context.options.quiet:
        yield context.out_screen.paint("dim", clean(str(row.get("message") or "claimed")))


_CLAIM_SPEC = Spec(plain=("shareUrl",), fields=("uuid", "shortId", "message"), id="shortId", human=_render_row)


@app.command("claim", spec=_CLAIM_SPEC)
def claim(
    token_file: Annotated[
        str | None, typer.Option("--token-file", metavar="F", help="File with the claim token; '-' is stdin.")
    ] = None,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Claim a file that was shared without an account.

    The anonymous upload returned the claim token, which is valid for 30 days. Link, content, and expiry do not change.
    The file counts toward the file limit of the account. Claiming a file that you already own changes nothing. The
    token is read from a file because command-line arguments appear in process lists and in the shell history.

    Examples:

      docshare claim --token-file claim-token.txt
      pass show docshare/claim | docshare claim --token-file -
    """
    ctx = current_context()
    if token_file is None:
        raise Stop(ExitCode.USAGE, "--token-file is required", hint="Use --token-file F, or - for stdin.")
    token = _read_claim_token(ctx, token_file)
    if dry_run:
        return preview_request(ctx, "POST", "/api/v1/files/claim", {"claimToken": HIDDEN})
    with ctx.client() as client:
        accounts.prefetch_account(ctx, client)
        result = client.files.claim(token)
    cache.remember_last_upload(ctx, result)
    ctx.emit(result, _CLAIM_SPEC)
    return ExitCode.OK


def _read_claim_token(ctx: Context, source: str) -> str:
    token = read_token(ctx, source, "--token-file")
    manage = LANES[Lane.MANAGE].prefix
    if manage is not None and token.startswith(manage):
        raise Stop(ExitCode.USAGE, "this is a manage token; claiming requires the claim token")
    return token
