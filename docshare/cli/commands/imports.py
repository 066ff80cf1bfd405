"""``docshare import``: let the server fetch a PDF from a host that its operator allows."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.upload import follow_up
from docshare.cli.commands.upload.rows import PRINT_FIELDS, validate_print_field
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import HIDDEN, DryRunSend, preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.token_file import read_token, require_one_stdin
from docshare.cli.local import cache
from docshare.cli.terminal import progress
from docshare.cli.terminal.capabilities import Screen
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.contract import fields
from docshare.contract.problems import Problem
from docshare.contract.wire import present

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_DEFAULT_NAME = "design.pdf"
_COLOR = re.compile("#[0-9a-f]{6}", re.IGNORECASE | re.ASCII)
_SLOT_LIMIT = re.compile(r"\b(slots?|limit)\b", re.IGNORECASE)  # how a refusal says that the plan holds no more files
_FETCH_STAGE = "the server fetches it"


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint("bold", clean(str(row["shareUrl"])))
    if context.options.quiet:
        return
    facts = [row["name"], str(row.get("shortId") or row["uuid"])]
    if row.get("republished"):
        facts.append(f"version {row.get('contentVersion')} of the same link")
    else:
        facts += ["never expires", "no password"]  # Spec: States and transitions, of what is new
    yield screen.paint("dim", f" {screen.glyph('·')} ".join(map(clean, facts)))
    if row.get("palette"):
        yield "  ".join(_draw_swatch(screen, str(colour)) for colour in row["palette"])


def _draw_swatch(screen: Screen, colour: str) -> str:
    """The colour as a patch and in hex; only in hex where the terminal shows no colours."""
    if not screen.color or not _COLOR.fullmatch(colour):
        return clean(colour)
    red, green, blue = bytes.fromhex(colour[1:])
    return f"\x1b[48;2;{red};{green};{blue}m    \x1b[0m {colour}"


IMPORT_SPEC = Spec(
    plain=(PRINT_FIELDS["url"],),
    fields=("shareUrl", "shortId", "uuid", "palette", "republished", "contentVersion"),
    id="shortId",
    human=_render_row,
    once=("shareUrl",),
)


@app.command("import", spec=IMPORT_SPEC)
def import_(
    url: Annotated[str, typer.Argument(metavar="URL", help="The https address of a PDF.")],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name that readers see.")] = None,
    printed: Annotated[
        str, typer.Option("--print", metavar="url|id|uuid", callback=validate_print_field, help="What a pipe gets.")
    ] = "url",
    qr: Annotated[bool, typer.Option("--qr", help="Draw the QR code of the link.")] = False,
    copy: Annotated[bool, typer.Option("--copy", help="Copy the link to the clipboard.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False,
    user_token_file: Annotated[
        str | None,
        typer.Option("--design-user-token-file", metavar="F", help="Your token of the design tool; '-' is stdin."),
    ] = None,
    token_file: Annotated[
        str | None, typer.Option("--design-token-file", metavar="F", help="The token of the design; '-' is stdin.")
    ] = None,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Share a PDF that the server fetches, and print its link.

    The address must lie on a host that the server's operator allows (DOCSHARE_IMPORT_HOSTS). Redirects are not followed
    and only PDF is taken. A pipe gets exactly one line, the link; --json also has the colours of the first page's
    images, most dominant first.

    With both tokens of the design tool the file is bound to the design: the next import with them replaces the document
    behind the same link, unless designToolUpdatesEnabled is off. Tokens that the server cannot verify count for nothing
    and make a new file each time, which is said.

    Examples:

      docshare import https://designs.example.com/export/q3.pdf
      docshare import https://designs.example.com/export/q3.pdf --name "Q3 report.pdf"
      docshare import https://designs.example.com/export/q3.pdf --query palette
      docshare import https://designs.example.com/x.pdf --design-user-token-file user.jwt --design-token-file x.jwt
    """
    ctx = current_context()
    tokens = _read_tokens(ctx, user_token_file, token_file)
    try:
        fields.https_url("URL", url)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None
    printer = ctx.emitter(IMPORT_SPEC._replace(plain=(PRINT_FIELDS[printed],)))
    if dry_run:
        hidden = {"designToolUserToken": HIDDEN, "designToken": HIDDEN} if tokens else {}
        return preview_request(ctx, "POST", "/api/v1/files/import", present({"url": url, "filename": name, **hidden}))
    with ctx.client() as client:
        result = _import_document(ctx, client, url, name, tokens)
    if tokens and "republished" not in result:
        ctx.warn("the server could not verify the tokens of the design tool; this is a file of its own")
    cache.remember_last_upload(ctx, result)
    printer.emit({**result, "name": name or _DEFAULT_NAME} if printer.for_people else result)
    follow_up.present_links(ctx, [str(result["shareUrl"])], qr=qr, copy=copy, open_link=open_)
    return ExitCode.OK


def _read_tokens(ctx: Context, user_file: str | None, design_file: str | None) -> dict[str, str]:
    """Both tokens of the design tool by the client's names, or nothing. Stop (2) for one alone."""
    if user_file is None and design_file is None:
        return {}
    if user_file is None or design_file is None:
        why = "--design-user-token-file and --design-token-file go together"
        raise Stop(ExitCode.USAGE, why, hint="One alone counts for nothing.")
    require_one_stdin(user_file, design_file)
    return {
        "design_user_token": read_token(ctx, user_file, "--design-user-token-file"),
        "design_token": read_token(ctx, design_file, "--design-token-file"),
    }


def _import_document(
    ctx: Context, client: "Client", url: str, name: str | None, tokens: Mapping[str, str]
) -> dict[str, Any]:
    with progress.show_progress(ctx, name or _DEFAULT_NAME, None) as bar:
        bar.stage(_FETCH_STAGE)
        try:
            return client.imports.create(url, name, **tokens)
        except Refused as refusal:
            # With tokens it may also mean that the design takes no updates, whatever the account holds.
            if refusal.code == "forbidden" and (not tokens or _SLOT_LIMIT.search(refusal.detail)):
                from docshare.cli.commands.upload.send import is_at_file_limit

                refusal.at_file_limit = is_at_file_limit(client)
            raise
