"""``docshare settings get`` and ``export``."""

from typing import Annotated

import typer

from docshare.cli.commands.settings.format import GET_SPEC, export_settings, parse_keys, print_settings
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import current_context
from docshare.cli.terminal.output import Spec, format_json

app = App()


@app.command("get", spec=GET_SPEC)
def get(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="SETTING...", help="Settings to show. The default is all.")
    ] = None,
) -> None:
    """Show the settings of a file.

    On a pipe, prints key and value of each setting, one per line; for a single SETTING, only the value. Viewer settings
    are listed only where they differ from their defaults; name a setting to see its default.

    Examples:

      docshare settings get @last
      docshare settings get aB3dE5fG7hJ9 flip.speedMs
      docshare settings get @last --json | jq .viewerSettings
    """
    ctx = current_context()
    chosen = parse_keys(keys or [])
    client = ctx.client()
    print_settings(ctx, client.files.show(FileResolver(ctx, client).resolve(file)), chosen)


@app.command("export", spec=Spec())
def export(file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]) -> None:
    """Print the settings of a file as JSON for settings apply.

    The output has every setting, even unset ones, so that another file gets the same state. It leaves out the password,
    the slug, the logo, and the background image, which belong to one file.

    Examples:

      docshare settings export @last > usual.json
    """
    ctx = current_context()
    client = ctx.client()
    body, left_out = export_settings(client.files.show(FileResolver(ctx, client).resolve(file)))
    if left_out:
        ctx.note(f"not exported: {', '.join(left_out)} (assets belong to one file)")
    if ctx.emitter(Spec()).is_default_shape:
        ctx.print(format_json(body, ascii_only=ctx.stdout_tty or not ctx.out_screen.unicode, pretty=True))
    else:
        ctx.emit(body, Spec())
