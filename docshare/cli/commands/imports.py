"""``docshare import``: have the server download a PDF from a host that its operator allows."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.upload.rows import PRINT_FIELDS, validate_print_field
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import HIDDEN, DryRunSend, preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.tokens import read_token, require_one_stdin
from docshare.cli.local import accounts, cache
from docshare.cli.terminal import progress
from docshare.cli.terminal.capabilities import Screen
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.contract import fields
from docshare.contract.media import IMPORT_NAME
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_COLOR = re.compile("#[0-9a-f]{6}", re.IGNORECASE | re.ASCII)
_SLOT_LIMIT = re.compile(
    r"\b(slots?|limit)\b", re.IGNORECASE
)  # matches a rejection because the plan allows no more files
_FETCH_STAGE = "the server downloads the PDF"


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint_link(str(row["shareUrl"]))
    if context.options.quiet:
        return
    facts = [row["name"], str(row.get("shortId") or row["uuid"])]
    if row.get("republished"):
        facts.append(f"version {row.get('contentVersion')} of the same link")
    else:
        facts += ["never expires", "no password"]  # defaults of a new file
    yield screen.paint("dim", f" {screen.glyph('·')} ".join(map(clean, facts)))
    if row.get("palette"):
        yield "  ".join(_draw_swatch(screen, str(color)) for color in row["palette"])


def _draw_swatch(screen: Screen, color: str) -> str:
    """Return the color as a swatch and in hex, or only in hex if the terminal shows no colors."""
    if not screen.color or not _COLOR.fullmatch(color):
        return clean(color)
    red, green, blue = bytes.fromhex(color[1:])
    return f"\x1b[48;2;{red};{green};{blue}m    \x1b[0m {color}"


IMPORT_SPEC = Spec(
    plain=(PRINT_FIELDS["url"],),
    fields=("shareUrl", "shortId", "uuid", "palette", "republished", "contentVersion"),
    id="shortId",
    human=_render_row,
    once=("shareUrl",),
)


@app.command("import", spec=IMPORT_SPEC)
def import_(
    url: Annotated[str, typer.Argument(metavar="URL", help="The https URL of a PDF.")],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name that readers see.")] = None,
    printed: Annotated[
        str,
        typer.Option("--print", metavar="url|id|uuid", callback=validate_print_field, help="Value to print in a pipe."),
    ] = "url",
    qr: Annotated[bool, typer.Option("--qr", help="Draw the QR code of the link.")] = False,
    copy: Annotated[bool, typer.Option("--copy", help="Copy the link to the clipboard.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False,
    user_token_file: Annotated[
        str | None,
        typer.Option("--design-user-token-file", metavar="F", help="File with your design-tool token; '-' is stdin."),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option("--design-token-file", metavar="F", help="File with the token of the design; '-' is stdin."),
    ] = None,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Share a PDF that the server downloads, and print its link.

    The operator of the server must allow the host of the address (DOCSHARE_IMPORT_HOSTS). The server does not follow
    redirects and accepts only PDF. Piped output is exactly one line, the link; --json adds the colors of the images on
    the first page, most dominant first.

    With both tokens of the design tool, the file is linked to the design: the next import with the same tokens replaces
    the document behind the link, unless designToolUpdatesEnabled is off. If the server cannot verify the tokens, each
    import creates a new file and prints a warning.

    Examples:

      docshare import https://designs.example.com/export/q3.pdf
      docshare import https://designs.example.com/export/q3.pdf --name "Q3 report.pdf"
      docshare import https://designs.example.com/export/q3.pdf --query palette
      docshare import https://designs.example.com/x.pdf --design-user-token-file user.jwt --design-token-file x.jwt
    """
    ctx = current_context()
    tokens = _read_tokens(ctx, user_token_file, token_file)
    try:
        fields.parse_https_url("URL", url)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None
    printer = ctx.emitter(IMPORT_SPEC._replace(plain=(PRINT_FIELDS[printed],)))
    if dry_run:
        hidden = {"designToolUserToken": HIDDEN, "designToken": HIDDEN} if tokens else {}
        return preview_request(ctx, "POST", "/api/v1/files/import", drop_none({"url": url, "filename": name, **hidden}))
    with ctx.client() as client:
        accounts.prefetch_account(ctx, client)
        try:
            result = _import_document(ctx, client, url, name, tokens)
        except Refused as refusal:
            # With tokens, the rejection may also mean that updates of the design are turned off.
            if refusal.code == "forbidden" and (not tokens or _SLOT_LIMIT.search(refusal.detail)):
                from docshare.cli.commands.upload.file_limit import is_at_file_limit

                refusal.is_at_file_limit = is_at_file_limit(client)
            raise
    if tokens and "republished" not in result:
        ctx.warn("the server could not verify the design-tool tokens; a new file was created")
    cache.remember_last_upload(ctx, result)
    printer.emit({**result, "name": name or IMPORT_NAME} if printer.is_for_people else result)
    if qr or copy or open_:
        from docshare.cli.commands.upload.follow_up import present_links

        present_links(ctx, [str(result["shareUrl"])], qr=qr, copy=copy, open_link=open_)
    return ExitCode.OK


def _read_tokens(ctx: Context, user_file: str | None, design_file: str | None) -> dict[str, str]:
    """Return both design-tool tokens as arguments of the client, or nothing. Raise Stop (2) if only one is given."""
    if user_file is None and design_file is None:
        return {}
    if user_file is None or design_file is None:
        why = "--design-user-token-file and --design-token-file must be used together"
        raise Stop(ExitCode.USAGE, why, hint="Use both or neither.")
    require_one_stdin(user_file, design_file)
    return {
        "design_user_token": read_token(ctx, user_file, "--design-user-token-file"),
        "design_token": read_token(ctx, design_file, "--design-token-file"),
    }


def _import_document(
    ctx: Context, client: "Client", url: str, name: str | None, tokens: Mapping[str, str]
) -> Mapping[str, Any]:
    with progress.show_progress(ctx, name or IMPORT_NAME, None) as bar:
        bar.set_stage(_FETCH_STAGE)
        return client.imports.create(url, name, **tokens)
