"""``docshare explain``: why a session is what it is."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.explain.story import Report, reports, story
from docshare.cli.commands.readership.sessions import number, objects, owner_only
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileNames
from docshare.cli.framework.context import Context, current
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean, exact_duration
from docshare.client.errors import Refused
from docshare.contract.fields import is_uuid

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

app = App()

_QUICK = 3  # files that are asked without a word
_MOST = 200  # files that are asked at all


def _spent(key: str, title: str) -> Column:
    """A column of times in ms that can be added up by eye."""
    return Column(key, title, show=lambda row: exact_duration(int(number(row, key))) if key in row else "")


_BEACONS = (
    Column("seq", "#", role="bold"),
    Column("after", "AFTER"),
    Column("visible", "VISIBLE", kind="flag", rank=2),
    Column("input", "INPUT", kind="flag", rank=3),
    Column("turns", "TURNS", rank=4),
    _spent("claimedMs", "CLAIMED"),
    _spent("acceptedMs", "ACCEPTED"),
    Column("why", "CUT BECAUSE", role="warn", flexible=True),
)
_PAGES = (
    Column("page", "PAGE", role="bold"),
    _spent("timeMs", "TIME"),
    Column("views", "VIEWS"),
    Column("backTurns", "BACK"),
)
_EXPLAINED = Spec(fields=("sessionId", "class", "reason", "startedAt", "endedAt", "totalTimeMs", "pages", "beacons"))
_LINES = Spec(
    plain=(
        "seq", "receivedAt", "visible", "visibleMs", "input", "turns", "backTurns", "claimedMs", "acceptedMs", "why",
    )
)  # fmt: skip
_FLAT = ("plain", "csv", "tsv")


@app.command("explain", spec=_EXPLAINED)
def explain(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The sessionId, as readership sessions shows it.")],
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help=f"The file it is of: {FILE_HELP}"),
    ] = None,
) -> None:
    """Explain how the time and the class of a session came about.

    [Pro] The page of a reader reports what it saw; the server accepts no more than its own clock allows. Shown are the
    verdict, every report with what it claimed and what was accepted, and the time of each page. Without --file the
    newest files are asked one by one. A pipe gets one line per report: tab-separated seq, receivedAt, visible,
    visibleMs, input, turns, backTurns, claimedMs, acceptedMs, why. Sessions that were not counted can be explained
    too: docshare readership sessions FILE --uncounted lists them. The rule: docshare help measuring.

    Examples:

      docshare explain 3f2b8c1e-6c51-4d0b-9a53-0d4f8f1f2a77 --file slug:offer
      docshare explain 3f2b8c1e-6c51-4d0b-9a53-0d4f8f1f2a77 --json | jq '.beacons | length'
    """
    ctx = current()
    printer = ctx.emitter(_EXPLAINED)
    if not is_uuid(session):
        raise Stop(ExitCode.USAGE, f"{session!r} is no sessionId", hint="See: docshare readership sessions FILE")
    client = ctx.client()
    with owner_only():
        if file is None:
            found = _searched(ctx, client, session.lower())
        else:
            found = client.readership.session(FileNames(ctx, client).one(file), session.lower())
    options = ctx.options
    if printer.for_people:
        for line in _drawn(ctx, found):
            ctx.print(line)
    elif printer.format in _FLAT and not (options.fields or options.query or options.template):
        ctx.emit([_row(report) for report in reports(found)], _LINES)
    else:
        printer.emit(found)


def _searched(ctx: Context, client: "Client", session: str) -> Row:
    """The session, wherever it is. Stop (3) if none of the newest files has it."""
    files = client.files.list()
    cache.remember_files(ctx, files)
    if len(files) > _QUICK:
        ctx.note(f"searching {min(len(files), _MOST)} files, a request each; quicker with --file FILE")
    for file in files[:_MOST]:
        client.pace()
        try:
            return client.readership.session(str(file["uuid"]), session)
        except Refused as refusal:
            if refusal.status != 404:
                raise
    where = f"the newest {_MOST} files" if len(files) > _MOST else "your files"
    raise Stop(ExitCode.NOT_FOUND, f"no session {session} in {where}", hint="Name the file with --file.")


def _row(report: Report) -> Row:
    about = {"claimedMs": report.claimed_ms, "acceptedMs": report.accepted_ms, "why": report.why}
    after = "" if report.after_ms is None else f"+{exact_duration(max(report.after_ms, 0))}"
    return {**report.row, **about, "after": after}


def _drawn(ctx: Context, session: Row) -> Iterator[str]:
    from docshare.cli.terminal import table

    told = reports(session)
    for number_of_line, line in enumerate(story(session, told)):
        yield ctx.out_screen.paint("dim" if number_of_line else "bold", clean(line))
    pages = objects(session, "pages")
    for title, columns, rows in (("reports", _BEACONS, [_row(report) for report in told]), ("pages", _PAGES, pages)):
        if rows:
            yield ""
            yield ctx.out_screen.paint("bold", title)
            yield from table.lines(columns, rows, ctx)
