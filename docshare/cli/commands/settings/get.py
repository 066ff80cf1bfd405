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
        list[str] | None, typer.Argument(metavar="SETTING...", help="Settings to show; all if left out.")
    ] = None,
) -> None:
    """Show the settings of a file.

    A pipe gets a line per setting, its key and its value; of one SETTING the bare value. Of the viewer's settings only
    those that differ from their defaults are listed; asked for by its key, each has a value.

    Examples:

      docshare settings get @last
      docshare settings get aB3dE5fG7hJ9 flip.speedMs
      docshare settings get @last --json | jq .viewerSettings
    """
    ctx = current_context()
    chosen = parse_keys(keys or [])
    client = ctx.client()
    print_settings(ctx, client.files.show(FileResolver(ctx, client).one(file)), chosen)


@app.command("export", spec=Spec())
def export(file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]) -> None:
    """Print the settings of a file as JSON that docshare settings apply takes.

    Every setting is in it, also those that are unset, so that another file gets the same state. The password, the name
    of the link, the logo and the background picture are not: they belong to one file.

    Examples:

      docshare settings export @last > usual.json
    """
    ctx = current_context()
    client = ctx.client()
    body, left_out = export_settings(client.files.show(FileResolver(ctx, client).one(file)))
    if left_out:
        ctx.note(f"not exported: {', '.join(left_out)} (assets belong to their file)")
    if ctx.emitter(Spec()).natural:
        ctx.print(format_json(body, ascii_only=ctx.stdout_tty or not ctx.out_screen.unicode, pretty=True))
    else:
        ctx.emit(body, Spec())
