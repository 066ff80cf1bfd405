"""``docshare settings set``. Printing its help does not import the modules that do the work."""

from typing import Annotated

import typer

from docshare.cli.commands.settings.options import DIFF, DRY_RUN, READ_BACK, STRICT, VALIDATE, AllSettings
from docshare.cli.commands.settings.rows import WRITE_SPEC
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILES_HELP
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.option_groups import add_options

app = App()


@app.command("set", spec=WRITE_SPEC)
@add_options(AllSettings)
def set_(
    words: Annotated[
        list[str],
        typer.Argument(metavar="FILE|KEY=VALUE...", help=f"Files ({FILES_HELP.rstrip('.')}) and settings."),
    ],
    given: AllSettings,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the stored viewer settings instead of merging.")
    ] = False,
    judge: Annotated[bool, VALIDATE] = True,
    read_back: Annotated[bool, READ_BACK] = True,
    strict: Annotated[bool, STRICT] = False,
    diff: Annotated[bool, DIFF] = False,
    manage_token_file: Annotated[
        str | None, typer.Option(metavar="F", help="Use the manage token in this file (anonymous upload).")
    ] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Change settings of files.

    Use options for common settings and KEY=VALUE for any setting (docshare settings schema lists the keys). A value is
    true, false, a number, text, null (clears the setting), or @file.json; KEY:=JSON takes any JSON. Settings that are
    not given keep their values. Values are validated before they are sent and compared with what the server stored.

    On a pipe, prints nothing; --json prints the request body without the password, and the file.

    Examples:

      docshare settings set @last --password-prompt --expires 7d
      docshare settings set aB3dE5fG7hJ9 --slug q3 --views 100 --no-download
      docshare settings set @last flip.speedMs=300 protect.print=true
      docshare settings set @last gateFields:=@form.json --diff
      docshare ls --format ids | docshare settings set - --expires 2030-12-31
    """
    from docshare.cli.commands.settings.gather import gather, split_words, use_manage_token
    from docshare.cli.commands.settings.write import WriteOptions, write_settings

    ctx = current_context()
    names, pairs = split_words(words)
    changes = gather(ctx, given, pairs, lenient=not judge, ids_on_stdin=STDIN in names)
    way = WriteOptions(replace=replace, read_back=read_back, diff=diff, uses_manage_token=manage_token_file is not None)
    if manage_token_file is not None:
        use_manage_token(ctx, manage_token_file)
    return write_settings(ctx, names, changes, way, strict=strict, dry_run=dry_run)
