"""``docshare assets``: the logo, the background and the sounds of a file."""

import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean, format_distinct_sizes, format_size
from docshare.client.errors import ClientError
from docshare.contract.media import ASSET_KINDS, detect_asset
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client import Client

app = App("Logos, backgrounds and sounds of a share page.")

# What makes the share page show an asset of this kind; sounds are chosen where a hotspot is made.
_SETTINGS_BY_KIND = {
    "logo": {"logo.assetId": "{}"},
    "background": {"background.type": "image", "background.assetId": "{}"},
}
_HEAD_BYTES = 16  # what the type is known by


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    facts = [str(row.get("mimeType", "")), format_size(int(row.get("size", 0)))]
    facts += ["applied"] if row.get("applied") else []
    told = f" {screen.glyph('·')} ".join(clean(fact) for fact in facts if fact)
    yield f"{clean(str(row['kind']))} {screen.paint('id', clean(str(row['assetId'])))} {screen.paint('dim', told)}"


_ASSET_SPEC = Spec(plain=("assetId",), fields=("kind", "mimeType", "size", "applied"), id="assetId", human=_render_row)


def _check_kind(value: str) -> str:
    if value not in ASSET_KINDS:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(ASSET_KINDS)}.")
    return value


# With a callback "assets" stays a group, although it has one command.
@app.callback()
def _group() -> None:
    """Logos, backgrounds and sounds of a share page."""


@app.command("add", spec=_ASSET_SPEC)
def add(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="PNG, JPEG or WebP up to 5 MB; MP3 up to 10 MB.")],
    kind: Annotated[
        str, typer.Option(metavar="|".join(ASSET_KINDS), callback=_check_kind, help="What the asset is for.")
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Show it on the share page at once.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")] = False,
) -> ExitCode:
    """Add a logo, a background or a sound to a file.

    [Basic] A second logo or background takes the place of the first; a file has at most 10 assets. A pipe gets the id
    of the asset. With --apply the settings of the share page name it too, and keep everything else they say.

    Examples:

      docshare assets add @last logo.png --kind logo --apply
      docshare assets add slug:offer paper.jpg --kind background --apply
      asset=$(docshare assets add @last chime.mp3 --kind hotspot-audio)
    """
    ctx = current_context()
    if apply and kind not in _SETTINGS_BY_KIND:
        raise Stop(ExitCode.USAGE, f"--apply: no setting of the share page names a {kind}")
    _check_asset(path, kind)
    printer = ctx.emitter(_ASSET_SPEC)
    client = ctx.client()
    name = FileResolver(ctx, client).one(file)
    if dry_run:
        return _preview_requests(ctx, name, path, kind, apply=apply)
    with io.FileIO(path, "rb") as source:
        asset = client.assets.add(name, source, path.name, kind)
    ending = ExitCode.OK
    if apply:
        asset, ending = _apply_asset(ctx, client, name, asset)
    printer.emit(asset)
    return ending


def _check_asset(path: Path, kind: str) -> None:
    """Stop (2) for a file that no server would take as an asset of that kind."""
    rule = ASSET_KINDS[kind]
    try:
        with io.FileIO(path, "rb") as source:
            found, size = detect_asset(source.read(_HEAD_BYTES) or b""), os.fstat(source.fileno()).st_size
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {error.strerror or error}", code="local_file") from error
    if found not in rule.types:
        wanted = " or ".join(rule.types)
        raise Stop(ExitCode.USAGE, f"{path} is {found or 'of no known type'}; a {kind} is {wanted}", code="local_file")
    if size > rule.cap:
        have, most = format_distinct_sizes(size, rule.cap)
        told = f"{path} has {have}; a {kind} may have {most}"
        raise Stop(ExitCode.USAGE, told, code="local_file")


def _preview_requests(ctx: Context, name: str, path: Path, kind: str, *, apply: bool) -> ExitCode:
    from docshare.cli.framework import bulk

    base = f"/api/v1/files/{name}"
    requests = [("POST", f"{base}/assets", f"kind={kind} file={path.name} ({path.stat().st_size} bytes)")]
    if apply:
        requests.append(("PUT", f"{base}/settings", " ".join(_format_assignments(kind, "{assetId}"))))
    return bulk.print_requests(ctx, requests)


def _format_assignments(kind: str, asset: str) -> list[str]:
    return [f"{key}={value.format(asset)}" for key, value in _SETTINGS_BY_KIND[kind].items()]


def _apply_asset(ctx: Context, client: "Client", name: str, asset: dict[str, Any]) -> tuple[dict[str, Any], ExitCode]:
    """The asset with the news that the settings name it, or the reason why not on stderr and 12: it is stored."""
    from docshare.cli.commands.settings.changes import SettingChanges
    from docshare.cli.commands.settings.write import SettingsWriter, WriteOptions
    from docshare.cli.framework import errors

    kind, number = str(asset["kind"]), str(asset["assetId"])
    changes = SettingChanges()
    for key, value in _SETTINGS_BY_KIND[kind].items():
        changes.put(key, value.format(number))
    try:
        SettingsWriter(ctx, client, changes, WriteOptions()).write(name)
    except (Problem, ClientError, Stop) as error:
        line = f"docshare settings set {name} {' '.join(_format_assignments(kind, number))}"
        ctx.err(f"error: the {kind} is stored but not applied: {errors.describe(ctx, error).detail}", "error")
        ctx.err(f"hint: {line}")
        return asset, ExitCode.PARTIAL
    return {**asset, "applied": True}, ExitCode.OK
