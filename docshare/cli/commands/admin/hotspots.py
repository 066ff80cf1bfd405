"""``docshare admin hotspot``: manage hotspots, which open a link or play a sound."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.framework.admin_channel import Data, resolve_data_dir, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.operator_files import OPERATOR_HELP, resolve_operator_file
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean

app = App("Manage hotspots that open a link or play a sound.")


def _format_rect(row: Mapping[str, Any]) -> str:
    return ",".join(f"{side:g}" for side in row["rect"].values())


def _format_target(row: Mapping[str, Any]) -> str:
    return clean(row["url"]) if "url" in row else f"sound {row['assetId']}"


_HOTSPOT = Spec(
    table=(
        Column("page", "PAGE"),
        Column("label", "LABEL", role="bold", flexible=True),
        Column("url", "OPENS", flexible=True, show=_format_target),
        Column("rect", "RECT", rank=1, show=_format_rect),
        Column("uuid", "UUID", role="id"),
    ),
    plain=("uuid", "page", "label", "url", "assetId", "rect.x", "rect.y", "rect.width", "rect.height"),
    fields=("fileUuid", "createdAt"),
    id="uuid",
    empty="no hotspots",
)

File = Annotated[str, typer.Argument(metavar="FILE", help=OPERATOR_HELP)]


@app.command("add", spec=_HOTSPOT)
def add(
    context: typer.Context,
    file: File,
    page: Annotated[int, typer.Option(metavar="N", help="Page of the document, starting at 1.")],
    rect: Annotated[str, typer.Option(metavar="X,Y,W,H", help="Fractions of the page, origin top left.")],
    label: Annotated[
        str | None, typer.Option(metavar="T", help="Text that readers see. The default is the target.")
    ] = None,
    link: Annotated[str | None, typer.Option(metavar="URL", help="Open this https URL.")] = None,
    audio: Annotated[str | None, typer.Option(metavar="ASSET", help="Play this hotspot-audio asset.")] = None,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Add a hotspot that opens a link or plays a sound.

    The rectangle is left, top, width, and height as fractions of the page: 0.5,0,0.5,1 is the right half. Readers see a
    small marker there. The readership report counts the taps.

    Examples:

      docshare admin hotspot add aB3dE5fG7hJ9 --page 2 --rect 0.1,0.8,0.3,0.1 --link https://example.com/prices
      sound=$(docshare assets add aB3dE5fG7hJ9 hello.mp3 --kind hotspot-audio)
      docshare admin hotspot add aB3dE5fG7hJ9 --page 1 --rect 0.8,0,0.1,0.1 --label Hello --audio "$sound"
    """
    if (link is None) == (audio is None):
        raise Stop(ExitCode.USAGE, "either --link or --audio is required")
    arguments = {"page": str(page), "rect": rect, "label": label, "link": link, "audio": audio}
    return run_change(
        context, data, dry_run, _HOTSPOT, "hotspot add", file=_resolve_file(context, data, file), **arguments
    )


@app.command("list", spec=_HOTSPOT)
def list_hotspots(context: typer.Context, file: File, data: Data = None) -> None:
    """List the hotspots of a file by page.

    Examples:

      docshare admin hotspot list aB3dE5fG7hJ9
    """
    current_context().emit(
        run_admin_command(context, data, "hotspot list", file=_resolve_file(context, data, file)), _HOTSPOT
    )


@app.command("remove", spec=_HOTSPOT)
def remove(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(metavar="UUID", help="UUID from 'hotspot list'.")],
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Remove a hotspot and the count of its taps.

    Examples:

      docshare admin hotspot remove 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10
    """
    return run_change(context, data, dry_run, _HOTSPOT, "hotspot remove", uuid=uuid)


def _resolve_file(context: typer.Context, data: Path | None, file: str) -> str:
    return resolve_operator_file(current_context(), file, resolve_data_dir(context, data))
