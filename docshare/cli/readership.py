"""``docshare readership``: the report of a file, its pages, its sessions.

What readers leave behind stands in ``readership_feedback``, the whole as files in ``readership_export``.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.arguments import FILE_HELP, FileNames
from docshare.cli.context import Context, current
from docshare.cli.durations import duration_option
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.feed import Since, parse_since
from docshare.cli.output import Column, Emitter, Spec
from docshare.cli.readers import labels_of, number, objects, owner_only, session_spec
from docshare.cli.readership_export import EXPORTED, export
from docshare.cli.readership_feedback import ANNOTATIONS, MARKS, NOTES, annotations, marks, notes
from docshare.cli.readership_report import REPORT_FILE, report_file
from docshare.cli.readership_sections import SECTIONS, TABLES, chosen, flat, named, withheld
from docshare.cli.text import seconds
from docshare.cli.typer_compat import App
from docshare.contract.features import REPORT_SECTIONS
from docshare.contract.wire import instant, parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

app = App("See who read a file, and how.")

_SHOW = Spec(fields=tuple(REPORT_SECTIONS))
_LINES = Spec(plain=("section", "key", "value"))
_FLAT = ("plain", "csv", "tsv")
_SECTION_HELP = f"Only these, with commas: {', '.join(SECTIONS)}."
_FRESH_SCREEN = "\x1b[H\x1b[2J"
_BAR = 30  # cells

File = Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]


@app.command("show", spec=_SHOW)
def show(
    file: File,
    section: Annotated[str | None, typer.Option(metavar="SECTION", help=_SECTION_HELP)] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Days of views since 7d ago, or since a date.")
    ] = None,
    watch: Annotated[str | None, duration_option("Show it again this often, until Ctrl-C.")] = None,
) -> None:
    """Show the readership report of a file.

    The plan decides which sections there are; the last line names those that it hides, a note on stderr those of a
    --section in a pipe. Times of the day are in UTC. A pipe gets tab-separated section, key, value; --json is the
    report as the server sent it; --format csv with one --section that is a list is that list as a table.

    Examples:

      docshare readership show @last
      docshare readership show slug:offer --section summary,sessions --watch 30s
      docshare readership show @last --section sessions --format csv > sessions.csv
    """
    ctx = current()
    view = _View(ctx, ctx.emitter(_SHOW), file, section, _first_day(ctx, since))
    client = ctx.client()
    name = FileNames(ctx, client).one(file)
    if watch is None:
        with owner_only():
            view.show(client.readership.report(name))
        return
    _watch(ctx, client, name, view, seconds(watch))


def _watch(ctx: Context, client: "Client", name: str, view: "_View", every: float) -> None:
    from docshare.cli.polling import LEAST_INTERVAL, Rounds, asked

    every = max(every, LEAST_INTERVAL)
    with client.fork(retries=0) as poller, owner_only():
        for report in asked(ctx, poller, lambda: poller.readership.report(name), Rounds(every, every)):
            view.show_again(report)


def _first_day(ctx: Context, since: str | None) -> str:
    """The first day that ``--since`` leaves, as the report writes days; empty without it."""
    if since is None:
        return ""
    at = parse_since(since, ctx.now()).at
    if at is None:
        raise Stop(ExitCode.USAGE, f"--since: {since!r} is no time", hint="Use 7d or a date such as 2026-11-20.")
    return instant(at)[:10]


class _View:
    """How the reports of one command are printed. ``since``: the first day of the views to show."""

    def __init__(self, context: Context, printer: Emitter, file: str, section: str | None, since: str) -> None:
        self._ctx = context
        self._printer = printer
        self._file = file
        self._section = section
        self._since = since
        self._told = False

    def show(self, report: Row) -> None:
        """Print one report as a whole."""
        keys = self._keys(report)
        report = self._narrowed(report)
        if self._printer.for_people:
            from docshare.cli.readership_drawing import drawn

            for line in drawn(report, keys, self._file, self._ctx):
                self._ctx.print(line)
        elif self._printer.format in _FLAT and not self._reshaped:
            self._flat(report, keys)
        else:
            self._printer.emit({key: report[key] for key in keys})

    def show_again(self, report: Row) -> None:
        """Print one report of many: on a cleared terminal, elsewhere behind the last."""
        if self._printer.for_people and self._ctx.env.get("TERM") != "dumb":
            self._ctx.write(_FRESH_SCREEN)
        if self._printer.format == "json":  # one line each, so that a reader can tell them apart
            keys, report = self._keys(report), self._narrowed(report)
            self._printer.row({key: report[key] for key in keys})
        else:
            self.show(report)
        self._ctx.flush()

    @property
    def _reshaped(self) -> bool:
        options = self._ctx.options
        return bool(options.fields or options.query or options.template)

    def _keys(self, report: Row) -> tuple[str, ...]:
        """The keys to print. Which of the sections asked for the plan hides is told once; people see it in the
        drawing."""
        keys = chosen(self._section, report)
        above = withheld(self._section, report) if self._section else ""
        if above and not self._told and not self._printer.for_people:
            self._ctx.note(above)
            self._told = True
        return keys

    def _flat(self, report: Row, keys: Sequence[str]) -> None:
        asked = [key for means in named(self._section).values() for key in means] if self._section else []
        if self._printer.format != "plain" and len(asked) == 1 and asked[0] in TABLES:
            self._ctx.emit(report.get(asked[0], []), Spec(plain=TABLES[asked[0]]))
        else:
            self._ctx.emit([row._asdict() for row in flat(report, keys)], _LINES)

    def _narrowed(self, report: Row) -> Row:
        days = report.get("viewsOverTime")
        if not self._since or not isinstance(days, list):
            return report
        kept = [day for day in days if isinstance(day, Mapping) and str(day.get("day", "")) >= self._since]
        return {**report, "viewsOverTime": kept}


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


app.command("marks", spec=MARKS)(marks)
app.command("annotations", spec=ANNOTATIONS)(annotations)
app.command("notes", spec=NOTES)(notes)
app.command("export", spec=EXPORTED)(export)
app.command("report", spec=REPORT_FILE)(report_file)
