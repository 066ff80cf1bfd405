"""``docshare assets``: the logo, background and sounds of a file."""

import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.contract.amounts import format_distinct_sizes, format_size
from docshare.contract.media import ASSET_KINDS, detect_asset_type

app = App("Add logos, backgrounds, and sounds to share pages.")

# The settings that make the share page show an asset. Sounds have none: hotspots refer to them.
_SETTINGS_BY_KIND = {
    "logo": {"logo.assetId": "{}"},
    "background": {"background.type": "image", "background.assetId": "{}"},
}
_HEAD_BYTES = 16  # enough to detect the type


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    facts = [str(row.get("mimeType", "")), format_size(int(row.get("size", 0)))]
    facts += ["applied"] if row.get("applied") else []
    details = f" {screen.glyph('·')} ".join(clean(fact) for fact in facts if fact)
    yield f"{clean(str(row['kind']))} {screen.paint('id', clean(str(row['assetId'])))} {screen.paint('dim', details)}"


_ASSET_SPEC = Spec(plain=("assetId",), fields=("kind", "mimeType", "size", "applied"), id="assetId", human=_render_row)


def _check_kind(value: str) -> str:
    if value not in ASSET_KINDS:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(ASSET_KINDS)}.")
    return value


# The callback keeps "assets" a group although it has a single command.
@app.callback()
def _group() -> None:
    """Add logos, backgrounds, and sounds to share pages."""


@app.command("add", spec=_ASSET_SPEC)
def add(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="PNG, JPEG, or WebP up to 5 MB; MP3 up to 10 MB.")],
    kind: Annotated[
        str, typer.Option(metavar="|".join(ASSET_KINDS), callback=_check_kind, help="Purpose of the asset.")
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Also change the settings to show the asset.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Add a logo, a background, or a sound to a file.

    [Basic] A new logo or background replaces the previous one; a file has at most 10 assets. Piped output is the id of
    the asset. --apply also points the settings of the share page to the asset and leaves all other settings unchanged.

    Examples:

      docshare assets add @last logo.png --kind logo --apply
      docshare assets add slug:offer paper.jpg --kind background --apply
      asset=$(docshare assets add @last chime.mp3 --kind hotspot-audio)
    """
    ctx = current_context()
    if apply and kind not in _SETTINGS_BY_KIND:
        raise Stop(ExitCode.USAGE, f"--apply and --kind {kind} cannot be used together: no setting refers to one")
    _check_asset(path, kind)
    printer = ctx.emitter(_ASSET_SPEC)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    if dry_run:
        return _preview_requests(ctx, name, path, kind, apply=apply)
    with io.FileIO(path, "rb") as source:
        asset: Mapping[str, Any] = client.assets.add(name, source, path.name, kind)
    ending = ExitCode.OK
    if apply:
        from docshare.cli.commands.assets.apply import apply_asset

        asset, ending = apply_asset(ctx, client, name, asset, _build_settings(kind, str(asset["assetId"])))
    printer.emit(asset)
    return ending


def _check_asset(path: Path, kind: str) -> None:
    """Raise Stop (2) for a file that every server would reject as an asset of ``kind``."""
    rule = ASSET_KINDS[kind]
    try:
        with io.FileIO(path, "rb") as source:
            found, size = detect_asset_type(source.read(_HEAD_BYTES) or b""), os.fstat(source.fileno()).st_size
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {error.strerror or error}", code="local_file") from error
    if found not in rule.types:
        wanted = " or ".join(rule.types)
        raise Stop(
            ExitCode.USAGE, f"{path} is {found or 'not a known type'}; a {kind} must be {wanted}", code="local_file"
        )
    if size > rule.cap:
        have, most = format_distinct_sizes(size, rule.cap)
        message = f"{path} is {have}; the limit for a {kind} is {most}"
        raise Stop(ExitCode.USAGE, message, code="local_file")


def _preview_requests(ctx: Context, name: str, path: Path, kind: str, *, apply: bool) -> ExitCode:
    base = f"/api/v1/files/{name}"
    requests = [("POST", f"{base}/assets", f"kind={kind} file={path.name} ({path.stat().st_size} bytes)")]
    if apply:
        settings = _build_settings(kind, "{assetId}")
        requests.append(("PUT", f"{base}/settings", " ".join(f"{key}={value}" for key, value in settings.items())))
    return print_requests(ctx, requests)


def _build_settings(kind: str, asset: str) -> dict[str, str]:
    return {key: value.format(asset) for key, value in _SETTINGS_BY_KIND[kind].items()}
