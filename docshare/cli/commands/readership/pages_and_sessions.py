"""``docshare readership pages`` and ``sessions``: print a row per page or per session."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.readership.sessions import FileArgument, build_session_spec, explain_forbidden, fetch_labels
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.times import Since, parse_since
from docshare.cli.terminal.charts import draw_bar
from docshare.cli.terminal.output import Column, Spec
from docshare.client.errors import Refused
from docshare.client.recipients import read_number, read_objects
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

app = App()

_BAR_WIDTH = 30  # cells

_PAGES = Spec(plain=("pageNumber", "views", "avgDurationMs", "backTurns"), fields=("totalPages", "pages"))

_UNCOUNTED = build_session_spec({})._replace(
    table=(
        Column("startedAt", "STARTED", kind="when"),
        Column("class", "CLASS", role="bold"),
        Column("totalTimeMs", "TIME", kind="duration"),
        Column("reason", "REASON", flexible=True),
        Column("browser", "BROWSER", rank=2),
        Column("sessionId", "SESSION", role="id", rank=1),
    ),
    plain=("sessionId", "startedAt", "class", "reason", "totalTimeMs", "pagesViewed", "deviceType", "browser"),
    empty="every session was counted",
    human=None,
)


@app.command("pages", spec=_PAGES)
def pages(file: FileArgument) -> None:
    """Show how each page was read.

    [Basic] Shows the views, the average time, and how often readers turned back to the page. Piped output is
    tab-separated: pageNumber, views, avgDurationMs, backTurns.

    Examples:

      docshare readership pages @last
      docshare readership pages slug:offer --format csv > pages.csv
    """
    ctx = current_context()
    printer = ctx.emitter(_PAGES)
    client = ctx.client()
    with explain_forbidden():
        answer = client.readership.pages(FileResolver(ctx, client).resolve(file))
    rows = read_objects(answer, "pages")
    if printer.is_for_people:
        ctx.emit(rows, _build_pages_spec(ctx, rows))
    else:
        printer.emit(answer if printer.format == "json" and not ctx.options.fields else rows)


def _build_pages_spec(ctx: Context, rows: Sequence[Row]) -> Spec:
    longest = max((read_number(row, "avgDurationMs") for row in rows), default=0)

    def draw(row: Row) -> str:
        return draw_bar(read_number(row, "avgDurationMs"), longest, _BAR_WIDTH, ctx.out_screen)

    return Spec(
        table=(
            Column("pageNumber", "PAGE", role="bold"),
            Column("views", "VIEWS"),
            Column("backTurns", "BACK"),
            Column("avgDurationMs", "AVERAGE", kind="duration"),
            Column("drawn", "", role="id", rank=1, show=draw),
        )
    )


@app.command("sessions", spec=build_session_spec({}))
def sessions(
    file: FileArgument,
    since: Annotated[
        str | None, typer.Option(metavar="ID|TIME", help="Only sessions after this id or time: 7d ago, or a date.")
    ] = None,
    uncounted: Annotated[
        bool, typer.Option("--uncounted", help="List uncounted sessions and the reasons instead.")
    ] = False,
) -> None:
    """List the sessions of the readers of a file.

    [Pro] Sessions are listed in the order in which they ended. A session ends 10 seconds after the page was closed, one
    minute after it was hidden, or five minutes after the last activity. Piped output has one line per session, with the
    time on every page in the last column; --format jsonl prints rows as they are fetched. --uncounted lists the newest
    100 sessions of the last 90 days that were not counted as views, with class and reason. docshare explain shows how a
    session was classified; docshare help measuring defines what counts.

    Examples:

      docshare readership sessions @last
      docshare readership sessions @last --uncounted
      docshare readership sessions slug:offer --since 7d --format jsonl | jq -r .email
    """
    ctx = current_context()
    if uncounted:
        _list_uncounted(ctx, file, since)
        return
    printer = ctx.emitter(build_session_spec({}))
    start = Since() if since is None else parse_since(since, ctx.now())
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    walk = client.readership.sessions_after(name, start.id or 0)
    rows = (row for row in walk if start.at is None or _parse_start(row) >= start.at)
    with explain_forbidden():
        if printer.format == "jsonl":
            for row in rows:
                printer.emit_row(row)
            return
        found = list(rows)
    if not printer.is_for_people:
        printer.emit(found)
        return
    if found:
        ctx.emit(found, build_session_spec(fetch_labels(client, name)))
    else:
        printer.emit(found)
    _print_unconfirmed(ctx, client, name)


def _list_uncounted(ctx: Context, file: str, since: str | None) -> None:
    if since is not None:
        raise Stop(
            ExitCode.USAGE,
            "--uncounted and --since cannot be used together",
            hint="--uncounted lists the newest sessions.",
        )
    printer = ctx.emitter(_UNCOUNTED)
    client = ctx.client()
    with explain_forbidden():
        printer.emit(client.readership.uncounted_sessions(FileResolver(ctx, client).resolve(file)))


def _print_unconfirmed(ctx: Context, client: "Client", name: str) -> None:
    """Print on stderr how many sessions had no interaction, if the server counts them."""
    try:
        count = int(read_number(client.readership.report(name).get("summary") or {}, "unconfirmedSessions"))
    except Refused:  # optional: the sessions are shown without it
        return
    if count:
        ctx.note(f"sessions without any interaction, not counted: {count} (list them with --uncounted)")


def _parse_start(row: Row) -> int:
    return parse_instant(str(row.get("startedAt", ""))) or 0
