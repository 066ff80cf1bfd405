"""``docshare readership pages`` and ``sessions``: one row per page, one per visit."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from docshare.cli.arguments import FileNames
from docshare.cli.context import Context, current
from docshare.cli.feed import Since, parse_since
from docshare.cli.output import Column, Spec
from docshare.cli.readers import File, labels_of, number, objects, owner_only, session_spec
from docshare.cli.typer_compat import App
from docshare.contract.wire import parse_instant

Row = Mapping[str, Any]

app = App()

_BAR = 30  # cells

_PAGES = Spec(plain=("pageNumber", "views", "avgDurationMs", "backTurns"), fields=("totalPages", "pages"))


@app.command("pages", spec=_PAGES)
def pages(file: File) -> None:
    """Show how each page was read.

    [Basic] Views, average time, and how often readers turned back to it. A pipe gets tab-separated pageNumber, views,
    avgDurationMs, backTurns.

    Examples:

      docshare readership pages @last
      docshare readership pages slug:offer --format csv > pages.csv
    """
    ctx = current()
    printer = ctx.emitter(_PAGES)
    client = ctx.client()
    with owner_only():
        answer = client.readership.pages(FileNames(ctx, client).one(file))
    rows = objects(answer, "pages")
    if printer.for_people:
        ctx.emit(rows, _pages_for_people(ctx, rows))
    else:
        printer.emit(answer if printer.format == "json" and not ctx.options.fields else rows)


def _pages_for_people(ctx: Context, rows: Sequence[Row]) -> Spec:
    from docshare.cli.bars import bar

    longest = max((number(row, "avgDurationMs") for row in rows), default=0)

    def drawn(row: Row) -> str:
        return bar(number(row, "avgDurationMs"), longest, _BAR, ctx.out_screen)

    return Spec(
        table=(
            Column("pageNumber", "PAGE", role="bold"),
            Column("views", "VIEWS"),
            Column("backTurns", "BACK"),
            Column("avgDurationMs", "AVERAGE", kind="duration"),
            Column("drawn", "", role="id", rank=1, show=drawn),
        )
    )


@app.command("sessions", spec=session_spec({}))
def sessions(
    file: File,
    since: Annotated[
        str | None, typer.Option(metavar="ID|TIME", help="Behind this id, or begun since 7d ago or a date.")
    ] = None,
) -> None:
    """List every session in which a file was read.

    [Pro] In the order in which they ended; each is listed once it has ended: a minute after the page was closed, or
    after five minutes of silence. A pipe gets one line each, with the time of every page at its end; --format jsonl
    prints while it walks. docshare explain tells how a session came about.

    Examples:

      docshare readership sessions @last
      docshare readership sessions slug:offer --since 7d --format jsonl | jq -r .email
    """
    ctx = current()
    printer = ctx.emitter(session_spec({}))
    start = Since() if since is None else parse_since(since, ctx.now())
    client = ctx.client()
    name = FileNames(ctx, client).one(file)
    walk = client.readership.sessions_after(name, start.id or 0)
    rows = (row for row in walk if start.at is None or _began(row) >= start.at)
    with owner_only():
        if printer.format == "jsonl":
            for row in rows:
                printer.row(row)
            return
        found = list(rows)
    if printer.for_people and found:
        ctx.emit(found, session_spec(labels_of(client, name)))
    else:
        printer.emit(found)


def _began(row: Row) -> int:
    return parse_instant(str(row.get("startedAt", ""))) or 0
