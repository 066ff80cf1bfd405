"""``docshare events``: list and follow the events feed, and manage saved cursors."""

from typing import Annotated

import typer

from docshare.cli.commands.events.list import ListOptions, print_rows
from docshare.cli.commands.events.options import TailOptions
from docshare.cli.commands.events.rows import build_generic_spec
from docshare.cli.commands.events.selection import KINDS_HELP, TYPES_HELP, choose_streams
from docshare.cli.framework.app import App, Stub
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.option_groups import add_options
from docshare.contract.streams import DEFAULT_STREAM

_STUBS = (
    Stub("cursor", "events.cursor_commands", "Commands", "List, show, set, and reset the cursors of events tail."),
)

app = App("See who viewed and downloaded, once or live.", stubs=_STUBS)

_Types = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help=f"{TYPES_HELP} The default is {DEFAULT_STREAM}.")
]
_Kinds = Annotated[list[str] | None, typer.Option("--kind", metavar="EVENT", help=KINDS_HELP)]
_RequireAll = Annotated[bool, typer.Option("--require-all", help="Fail if --type all would skip a stream.")]


@app.command("list", spec=build_generic_spec())
@add_options(ListOptions)
def list_events(
    given: ListOptions, types: _Types = None, kinds: _Kinds = None, require_all: _RequireAll = False
) -> None:
    """List views, downloads, gate responses, or all activity.

    Newest first; with --since ID, oldest first. A note says if there are more rows. --type activity is a single feed of
    all kinds of events, including notes and denied access; see 'docshare help webhooks' for the kinds.

    Piped output is tab-separated: type, id, readAt, fileUuid, fileName, country, pagesViewed, timeMs, fields. For
    activity it is id, event, timestamp, fileUuid, fileName, and data as JSON.

    Examples:

      docshare events list
      docshare events list --type all --since 2h
      docshare events list --file @last --all --format csv > views.csv
      docshare events list --type activity --kind note.created,access.denied
    """
    print_rows(choose_streams(types, kinds), given, require_all=require_all)


@app.command("tail", spec=build_generic_spec())
@add_options(TailOptions)
def tail(given: TailOptions, types: _Types = None, kinds: _Kinds = None, require_all: _RequireAll = False) -> ExitCode:
    """Follow views, downloads, gate responses, or all activity.

    --cursor NAME saves the position, and the next tail with the same name resumes there. The position is saved after
    the rows are printed, so a crash can repeat rows but never lose them. A cursor cannot be used for another server,
    account, stream, file, or choice of kinds.

    With --exec, a row counts as read once the command exits with 0; then the row is printed. The output of the command
    goes to stderr. The command runs without a shell.

    Piped output is tab-separated: type, id, readAt, fileUuid, fileName, country, pagesViewed, timeMs, fields. For
    activity it is id, event, timestamp, fileUuid, fileName, and data as JSON. --json prints one JSON line per row.

    Examples:

      docshare events tail
      docshare events tail --type all --cursor crm --once --json
      docshare events tail --type activity --kind note.created,receipt.confirmed
      docshare events tail --type download --file @last --until-match 'country == `"DE"`' --timeout 1h
      docshare events tail --cursor mail --exec 'notify-me --stdin'
    """
    from docshare.cli.commands.events.tail import follow

    return follow(choose_streams(types, kinds), given, require_all=require_all)
