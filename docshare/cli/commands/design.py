"""``docshare design``: share designs with tokens of the design tool instead of a credential of the server."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.clients import build_client
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import HIDDEN, DryRunSend, preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.tokens import TOKENS, move_tokens, read_token, render_tokens, require_one_stdin
from docshare.cli.local import cache
from docshare.cli.local.secret_file import create_secret_file
from docshare.cli.local.settings import resolve_setting
from docshare.cli.terminal import progress
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract import fields
from docshare.contract.media import DESIGN_IMPORT_NAME
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none

if TYPE_CHECKING:
    from docshare.client import Client

app = App("Share designs of a design tool without an account.")

_JWT_VARIABLE = "DOCSHARE_DESIGN_JWT"

JwtFile = Annotated[
    str | None,
    typer.Option(
        "--jwt-file", metavar="F", help=f"File with your design-tool token; '-' is stdin. [env: {_JWT_VARIABLE}]"
    ),
]
DesignTokenFile = Annotated[
    str | None,
    typer.Option("--design-token-file", metavar="F", help="File with the token of the design; '-' is stdin."),
]


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint_link(str(row["shareUrl"]))
    if not context.options.quiet:
        prefix = "same link, " if row.get("republished") else ""
        yield screen.paint("dim", clean(f"{prefix}version {row.get('contentVersion')}"))
    yield from render_tokens(row, context)


DESIGN_SPEC = Spec(
    plain=("shareUrl", *TOKENS),
    fields=("uuid", "shortId", "qrUrl", "palette", "republished", "contentVersion"),
    id="shortId",
    human=_render_row,
    once=("shareUrl", *TOKENS),
)
DESIGN_STATUS_SPEC = Spec(
    table=(
        Column("shareUrl", "link", role="bold", link="shareUrl"),
        Column("claimed", "claimed", kind="flag"),
        Column("connectedAccountIsOwner", "owned by this account", kind="flag"),
        Column("publishedByOther", "also published by others", kind="flag"),
        Column("contentVersion", "version"),
        Column("viewCount", "views"),
        Column("claimToken", "claim token"),
    ),
    plain=("shareUrl", "claimed", "connectedAccountIsOwner", "publishedByOther", "contentVersion", "viewCount"),
    fields=("uuid", "shortId", "qrUrl", "claimToken"),
    id="shortId",
)


@app.command("import", spec=DESIGN_SPEC)
def import_(
    url: Annotated[str, typer.Argument(metavar="URL", help="The https URL of the exported PDF.")],
    jwt_file: JwtFile = None,
    design_token_file: DesignTokenFile = None,
    filename: Annotated[str | None, typer.Option("--filename", metavar="TEXT", help="Name that readers see.")] = None,
    tokens_out: Annotated[
        Path | None, typer.Option("--tokens-out", metavar="F", help="Write both tokens to a new JSON file.")
    ] = None,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Share a design without an account, and print its link.

    The server must be configured for the design tool (DOCSHARE_DESIGN_USER_JWKS_URL) and allow the host of the address.
    The link works for 365 days. With the token of the design, the next import of the design replaces the document
    behind the link until someone claims the file. Use the claim token to claim the file for an account (docshare claim)
    and the manage token to change its settings (docshare settings set --manage-token-file). Both are shown only once;
    --tokens-out writes them to a file (mode 0600) instead.

    Examples:

      docshare design import https://designs.example.com/x.pdf --jwt-file user.jwt --design-token-file x.jwt
      docshare design import https://designs.example.com/x.pdf --jwt-file - --tokens-out tokens.json < user.jwt
    """
    ctx = current_context()
    printer = ctx.emitter(DESIGN_SPEC)
    try:
        fields.parse_https_url("URL", url)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None
    require_one_stdin(jwt_file, design_token_file)
    design = None if design_token_file is None else read_token(ctx, design_token_file, "--design-token-file")
    with ExitStack() as held:
        client = held.enter_context(_make_client(ctx, jwt_file))
        if dry_run:
            hidden = None if design is None else HIDDEN
            body = drop_none({"url": url, "filename": filename, "designToken": hidden})
            return preview_request(ctx, "POST", "/api/v1/design-tool/import", body)
        kept = held.enter_context(create_secret_file(tokens_out)) if tokens_out else None
        bar = held.enter_context(progress.show_progress(ctx, filename or DESIGN_IMPORT_NAME, None))
        bar.set_stage("the server downloads the PDF")
        result: Mapping[str, Any] = client.design.publish(url, filename, design_token=design)
        result = move_tokens(result, kept)
    cache.remember_last_upload(ctx, result)
    printer.emit(result)
    return ExitCode.OK


@app.command("status", spec=DESIGN_STATUS_SPEC)
def status(
    jwt_file: JwtFile = None,
    design_token_file: DesignTokenFile = None,
    access_token_file: Annotated[
        str | None,
        typer.Option(
            "--access-token-file", metavar="F", help="File with a credential of the account to compare with the owner."
        ),
    ] = None,
) -> None:
    """Show the link, claim status, and views of a design.

    If the file belongs to an account, only its addresses are shown, unless the access token belongs to that account. If
    nobody has claimed the file, the output includes a new claim token.

    Examples:

      docshare design status --jwt-file user.jwt --design-token-file x.jwt
      docshare design status --jwt-file user.jwt --design-token-file x.jwt --access-token-file key.txt --json
    """
    ctx = current_context()
    printer = ctx.emitter(DESIGN_STATUS_SPEC)
    if design_token_file is None:
        raise Stop(ExitCode.USAGE, "--design-token-file is required", hint="Use --design-token-file F, or - for stdin.")
    require_one_stdin(jwt_file, design_token_file, access_token_file)
    design = read_token(ctx, design_token_file, "--design-token-file")
    account = None if access_token_file is None else read_token(ctx, access_token_file, "--access-token-file")
    with _make_client(ctx, jwt_file) as client:
        printer.emit(client.design.status(design, access_token=account))


def _make_client(ctx: Context, jwt_file: str | None) -> "Client":
    """Return a client with the design-tool token from ``jwt_file`` or the environment. Raise Stop (2) without one."""
    given = ctx.env.get(_JWT_VARIABLE, "").strip()
    if jwt_file is not None:
        token = read_token(ctx, jwt_file, "--jwt-file")
    elif given:
        token = keep_secret(ctx, given)
    else:
        raise Stop(ExitCode.USAGE, "no design-tool token given", hint=f"Use --jwt-file F, or set {_JWT_VARIABLE}.")
    return build_client(ctx, str(resolve_setting(ctx, "url").value), token)
