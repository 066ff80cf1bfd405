"""``docshare events``: the feed as a list, live, and the cursors that remember how far a reader of it got."""

from typing import Annotated

import typer

from docshare.cli.commands.events.list import ListOptions, print_rows
from docshare.cli.commands.events.options import TailOptions
from docshare.cli.commands.events.rows import build_generic_spec
from docshare.cli.commands.events.selection import KINDS_HELP, TYPES_HELP, choose_streams
from docshare.cli.framework.app import App, Stub
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.option_groups import add_options

_STUBS = (
    Stub("cursor", "events.cursor_commands", "Commands", "The named cursors of events tail: list, show, set, reset."),
)

app = App("See who viewed and downloaded, once or live.", stubs=_STUBS)

_Types = Annotated[str, typer.Option("--type", metavar="TYPE", help=TYPES_HELP)]
_Kinds = Annotated[str | None, typer.Option("--kind", metavar="EVENT", help=KINDS_HELP)]
_RequireAll = Annotated[bool, typer.Option("--require-all", help="Fail if --type all means fewer.")]


@app.command("list", spec=build_generic_spec())
@add_options(ListOptions)
def list_events(
    given: ListOptions, types: _Types = "view", kinds: _Kinds = None, require_all: _RequireAll = False
) -> None:
    """List views, downloads and gate answers, or all that happened.

    Newest first; after an id (--since 5123) ascending, as the API walks. A note tells if there are more rows than
    shown. --type activity is one feed of all kinds of events, of notes and refused readers too; see 'docshare help
    webhooks' for the kinds.

    A pipe gets tab-separated type, id, readAt, fileUuid, fileName, country, pagesViewed, timeMs, fields; of activity
    it gets id, event, timestamp, fileUuid, fileName, and data as JSON.

    Examples:

      docshare events list
      docshare events list --type all --since 2h
      docshare events list --file @last --all --format csv > views.csv
      docshare events list --type activity --kind note.created,access.denied
    """
    print_rows(choose_streams(types, kinds), given, require_all=require_all)


@app.command("tail", spec=build_generic_spec())
@add_options(TailOptions)
def tail(
    given: TailOptions, types: _Types = "view", kinds: _Kinds = None, require_all: _RequireAll = False
) -> ExitCode:
    """Follow views, downloads and gate answers as they happen, or all that happens.

    With --cursor NAME the position is kept: the next tail with that name goes on where this one ended. It is saved
    after the rows are out, so that after a crash rows may come twice but never get lost; a cursor is refused for
    another server, account, stream, file or choice of kinds.

    With --exec a row counts as read once the command ended with 0; the row is printed then, and what the command
    prints goes to stderr. The command is run without a shell.

    A pipe gets tab-separated type, id, readAt, fileUuid, fileName, country, pagesViewed, timeMs, fields; of activity
    it gets id, event, timestamp, fileUuid, fileName, and data as JSON. --json prints one line of JSON per row.

    Examples:

      docshare events tail
      docshare events tail --type all --cursor crm --once --json
      docshare events tail --type activity --kind note.created,receipt.confirmed
      docshare events tail --type download --file @last --until-match 'country == `"DE"`' --timeout 1h
      docshare events tail --cursor mail --exec 'notify-me --stdin'
    """
    from docshare.cli.commands.events.tail import follow

    return follow(choose_streams(types, kinds), given, require_all=require_all)
