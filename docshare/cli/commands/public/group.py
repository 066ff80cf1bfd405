"""``docshare public``: commands that need no account. They neither read nor send a credential."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer

from docshare.cli.commands import qr as codes
from docshare.cli.commands.public.upload import PUBLIC_UPLOAD_SPEC, upload
from docshare.cli.framework.app import App
from docshare.cli.framework.clients import make_anonymous_client
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.contract.fields import is_short_id, is_uuid

if TYPE_CHECKING:
    from docshare.client import Client

app = App("Commands that need no account.")
app.command("upload", spec=PUBLIC_UPLOAD_SPEC)(upload)

_LINK_HELP = "A share link of any server; or a UUID, short id, or slug of the current server."
_EMBED_ID = re.compile(r"/embed/([0-9A-Za-z-]+)")  # the id in the iframe of an oEmbed document
_UNKNOWN_LINK_HINT = "Check the link; it may be revoked or deleted."
_METADATA_FIELDS = (
    "shortId", "originalName", "size", "totalPages", "viewerMode", "allowDownload", "protected", "requireEmail",
    "deleteAt", "shareUrl", "reason", "why", "endedAt",
)  # fmt: skip  # the last three are the facts of an expired link

_METADATA = Spec(
    table=(
        Column("originalName", "name", role="bold", link="shareUrl"),
        Column("shareUrl", "link", role="id", link="shareUrl"),
        Column("size", "size", kind="size"),
        Column("totalPages", "pages"),
        Column("viewerMode", "mode"),
        Column("allowDownload", "download", kind="flag"),
        Column("protected", "password", kind="flag"),
        Column("requireEmail", "requires email", kind="flag"),
        Column("deleteAt", "expires", kind="moment"),
    ),
    plain=("shareUrl", "originalName", "size", "totalPages"),
    fields=_METADATA_FIELDS,
    id="shortId",
)


def _render_end(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield clean(" ".join(str(row[key]) for key in ("reason", "endedAt") if key in row))


_ENDED_SPEC = Spec(plain=("reason", "endedAt"), fields=_METADATA_FIELDS, id="reason", human=_render_end)
_OEMBED = Spec(
    table=(
        Column("title", "title", role="bold"),
        Column("provider_name", "provider"),
        Column("width", "width"),
        Column("height", "height"),
        Column("thumbnail_url", "thumbnail", role="id"),
        Column("html", "html"),
    ),
    plain=("html", "title", "width", "height"),
    fields=(
        "version", "type", "provider_name", "provider_url", "thumbnail_url", "thumbnail_width", "thumbnail_height",
    ),
    id="html",
)  # fmt: skip
_QR_SPEC = Spec(plain=("url",), fields=("path",), id="url")

LinkArgument = Annotated[str, typer.Argument(metavar="LINK", help=_LINK_HELP)]


class LinkAddress(NamedTuple):
    """A parsed link: the ``base`` URL of its server (None: the current server) and the ``name`` after it."""

    base: str | None
    name: str

    @property
    def is_id(self) -> bool:
        """Return whether the name is a UUID or has the form of a short id."""
        return is_uuid(self.name) or is_short_id(self.name)


@app.command("metadata", spec=_METADATA)
def metadata(link: LinkArgument) -> ExitCode:
    """Show the public metadata of a link.

    The output includes the name, the size, the pages, and the access requirements. The request does not count as a
    view. For an expired or burned link, the command prints the reason and the time, and the exit code is 8; --json
    prints the response of the server.

    Examples:

      docshare public metadata https://docs.example.com/aB3dE5fG7hJ9
      docshare public metadata aB3dE5fG7hJ9 --json
    """
    ctx = current_context()
    printer = ctx.emitter(_METADATA)
    client, name = _resolve_link(ctx, link)
    try:
        printer.emit(_fetch_metadata(client, name))
    except Refused as refusal:
        if refusal.code != "gone" or "reason" not in refusal.extra:
            raise
        ctx.emit(refusal.extra, _ENDED_SPEC)
        return ExitCode.GONE
    return ExitCode.OK


@app.command("oembed", spec=_OEMBED)
def oembed(
    link: Annotated[str, typer.Argument(metavar="LINK", help="A share link, with an id or a slug.")],
    max_width: Annotated[
        int | None, typer.Option("--max-width", min=1, metavar="PX", help="Maximum size of the embed in pixels.")
    ] = None,
    max_height: Annotated[
        int | None, typer.Option("--max-height", min=1, metavar="PX", help="Maximum size of the embed in pixels.")
    ] = None,
) -> None:
    """Show the oEmbed data for embedding a link in another site.

    Examples:

      docshare public oembed https://docs.example.com/q3-report
      docshare public oembed https://docs.example.com/q3-report --json | jq -r .html
    """
    ctx = current_context()
    printer = ctx.emitter(_OEMBED)
    target = _parse_link(link)
    client = make_anonymous_client(ctx, target.base)
    url = link if target.base else f"{client.base_url}/{target.name}"
    printer.emit(client.public.oembed(url, max_width=max_width, max_height=max_height))


@app.command("qr", spec=_QR_SPEC)
def qr(
    link: LinkArgument,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="F.png", help="Save the code as a PNG; '-' is stdout.")
    ] = None,
    invert: Annotated[bool, typer.Option("--invert", help="Draw for a terminal with a light background.")] = False,
) -> None:
    """Show or save the QR code of a link.

    Examples:

      docshare public qr https://docs.example.com/aB3dE5fG7hJ9
      docshare public qr https://docs.example.com/aB3dE5fG7hJ9 -o code.png
    """
    ctx = current_context()
    codes.require_png(output)
    if output == "-" and ctx.stdout_tty:
        raise Stop(ExitCode.USAGE, "refusing to write a PNG to a terminal", hint="Redirect stdout, or omit -o.")
    printer = ctx.emitter(codes.SAVED_SPEC if output else _QR_SPEC)
    client, name = _resolve_link(ctx, link)
    if output == "-":
        ctx.write(client.public.qr(name))
    elif output is not None:
        codes.save_png(Path(output), client.public.qr(name))
        printer.emit({"path": output})
    else:
        address = f"{_fetch_metadata(client, name)['shareUrl']}?via=qr"
        if printer.is_default_shape:
            codes.draw_code(ctx, address, invert=invert)
        else:
            printer.emit({"url": address})


def _resolve_link(ctx: Context, link: str) -> tuple["Client", str]:
    """Return a client for the server of the link, and the id of the link.

    A slug is resolved by oEmbed, the only public endpoint that accepts it. Raise Stop (2) if ``link`` is not a link,
    Stop (3) for an unknown slug.
    """
    target = _parse_link(link)
    client = make_anonymous_client(ctx, target.base)
    return client, target.name if target.is_id else _look_up_slug(client, link if target.base else target.name)


def _look_up_slug(client: "Client", slug: str) -> str:
    url = slug if "://" in slug else f"{client.base_url}/{slug}"
    try:
        document = client.public.oembed(url)
    except Refused as refusal:
        if refusal.status == 404:
            refusal.hint = f"{_UNKNOWN_LINK_HINT} For an expired link, use its UUID or short id."
        raise
    found = _EMBED_ID.search(str(document.get("html", "")))
    if found is None:
        raise Stop(ExitCode.NOT_FOUND, f"the server does not report the document of {slug!r}", hint=_UNKNOWN_LINK_HINT)
    return found[1]


def _fetch_metadata(client: "Client", name: str) -> Mapping[str, Any]:
    try:
        return client.public.metadata(name)
    except Refused as refusal:
        if refusal.status == 404:
            refusal.hint = _UNKNOWN_LINK_HINT
        raise


def _parse_link(link: str) -> LinkAddress:
    """Parse ``link``. Raise Stop (2) if it is not a valid link."""
    if not link.startswith(("http://", "https://")):
        if set("/:@") & set(link):  # such as @last and slug:NAME, which need the account
            hint = f"LINK is {_LINK_HELP[0].lower()}{_LINK_HELP[1:]}"
            raise Stop(ExitCode.USAGE, f"{link!r} is not a share link", hint=hint)
        return LinkAddress(None, link)
    try:
        parts = urlsplit(link)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"{link!r} is not a share link: {error}") from None
    folder, _, name = parts.path.rpartition("/")
    if not name or not parts.netloc:
        raise Stop(ExitCode.USAGE, f"{link!r} is not a share link")
    return LinkAddress(f"{parts.scheme}://{parts.netloc}{folder.removesuffix('/embed')}", name)
