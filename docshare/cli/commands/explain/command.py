"""``docshare explain``: explain how a session was measured and classified."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.explain.story import (
    BeaconExplanation,
    describe_session,
    explain_beacons,
    format_exact_duration,
)
from docshare.cli.commands.readership.sessions import explain_forbidden
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.cli.terminal import table
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.client.recipients import read_number, read_objects
from docshare.contract.fields import is_uuid

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

app = App()

_MAX_QUIET_FILES = 3  # files that are searched without a note
_MAX_FILES = 200  # maximum number of files to search


def _make_duration_column(key: str, title: str) -> Column:
    """Return a column of exact durations, so that their sum can be checked."""
    return Column(key, title, show=lambda row: format_exact_duration(int(read_number(row, key))) if key in row else "")


_BEACON_COLUMNS = (
    Column("seq", "#", role="bold"),
    Column("after", "AFTER"),
    Column("visible", "VISIBLE", kind="flag", rank=2),
    Column("input", "INPUT", kind="flag", rank=3),
    Column("turns", "TURNS", rank=4),
    _make_duration_column("claimedMs", "CLAIMED"),
    _make_duration_column("acceptedMs", "ACCEPTED"),
    Column("why", "REASON FOR CUT", role="warn", flexible=True),
)
_PAGE_COLUMNS = (
    Column("page", "PAGE", role="bold"),
    _make_duration_column("timeMs", "TIME"),
    Column("views", "VIEWS"),
    Column("backTurns", "BACK"),
)
_SESSION_SPEC = Spec(fields=("sessionId", "class", "reason", "startedAt", "endedAt", "totalTimeMs", "pages", "beacons"))
_BEACON_SPEC = Spec(
    plain=(
        "seq", "receivedAt", "visible", "visibleMs", "input", "turns", "backTurns", "claimedMs", "acceptedMs", "why",
    )
)  # fmt: skip
_FLAT_FORMATS = ("plain", "csv", "tsv")


@app.command("explain", spec=_SESSION_SPEC)
def explain(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="A sessionId from docshare readership sessions.")],
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help=f"File of the session: {FILE_HELP}"),
    ] = None,
) -> None:
    """Explain how a session was measured and classified.

    [Pro] The browser of a reader reports reading times, and the server accepts no more than its own clock allows. The
    output shows the class, each report with the claimed and the accepted time, and the time on each page. Without
    --file, the newest files are searched one by one. Piped output has one tab-separated line per report: seq,
    receivedAt, visible, visibleMs, input, turns, backTurns, claimedMs, acceptedMs, why. Uncounted sessions, which
    docshare readership sessions FILE --uncounted lists, can also be explained. For the rules see docshare help
    measuring.

    Examples:

      docshare explain 3f2b8c1e-6c51-4d0b-9a53-0d4f8f1f2a77 --file slug:offer
      docshare explain 3f2b8c1e-6c51-4d0b-9a53-0d4f8f1f2a77 --json | jq '.beacons | length'
    """
    ctx = current_context()
    printer = ctx.emitter(_SESSION_SPEC)
    if not is_uuid(session):
        raise Stop(ExitCode.USAGE, f"{session!r} is not a sessionId", hint="See: docshare readership sessions FILE")
    client = ctx.client()
    with explain_forbidden():
        if file is None:
            found = _find_session(ctx, client, session.lower())
        else:
            found = client.readership.session(FileResolver(ctx, client).resolve(file), session.lower())
    options = ctx.options
    if printer.is_for_people:
        for line in _render_session(ctx, found):
            ctx.print(line)
    elif printer.format in _FLAT_FORMATS and not (options.fields or options.query or options.template):
        ctx.emit([_build_row(report) for report in explain_beacons(found)], _BEACON_SPEC)
    else:
        printer.emit(found)


def _find_session(ctx: Context, client: "Client", session: str) -> Row:
    """Search the newest files for the session. Raise Stop (3) if none of them has it."""
    files = client.files.list()
    cache.remember_files(ctx, files)
    if len(files) > _MAX_QUIET_FILES:
        ctx.note(f"searching {min(len(files), _MAX_FILES)} files, one request each; --file FILE is faster")
    for file in files[:_MAX_FILES]:
        client.pace()
        try:
            return client.readership.session(str(file["uuid"]), session)
        except Refused as refusal:
            if refusal.status != 404:
                raise
    where = f"the newest {_MAX_FILES} files" if len(files) > _MAX_FILES else "your files"
    raise Stop(ExitCode.NOT_FOUND, f"session {session} does not exist in {where}", hint="Set the file with --file.")


def _build_row(report: BeaconExplanation) -> Row:
    about = {"claimedMs": report.claimed_ms, "acceptedMs": report.accepted_ms, "why": report.why}
    after = "" if report.after_ms is None else f"+{format_exact_duration(max(report.after_ms, 0))}"
    return {**report.row, **about, "after": after}


def _render_session(ctx: Context, session: Row) -> Iterator[str]:
    reports = explain_beacons(session)
    for number_of_line, line in enumerate(describe_session(session, reports)):
        yield ctx.out_screen.paint("dim" if number_of_line else "bold", clean(line))
    pages = read_objects(session, "pages")
    for title, columns, rows in (
        ("reports", _BEACON_COLUMNS, [_build_row(report) for report in reports]),
        ("pages", _PAGE_COLUMNS, pages),
    ):
        if rows:
            yield ""
            yield ctx.out_screen.paint("bold", title)
            yield from table.render_table(columns, rows, ctx)
