"""``docshare readership show``: print the report of a file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.readership.days import ReportDays, SinceOption, UntilOption, parse_days
from docshare.cli.commands.readership.sections import (
    SECTIONS,
    TABLES,
    describe_hidden_sections,
    flatten,
    parse_sections,
    select_keys,
)
from docshare.cli.commands.readership.sessions import FileArgument, explain_forbidden
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.options import duration_option
from docshare.cli.framework.polling import MIN_INTERVAL, PollSchedule, poll
from docshare.cli.terminal.output import Emitter, Spec
from docshare.cli.terminal.pager import print_paged
from docshare.cli.terminal.text import parse_duration
from docshare.contract.features import REPORT_SECTIONS

if TYPE_CHECKING:
    from docshare.client import Client
    from docshare.client.types.readership import Readership

Row = Mapping[str, Any]
_Draw = Callable[[Row, Sequence[str], str, Context], Iterator[str]]

app = App()

_SHOW = Spec(fields=tuple(REPORT_SECTIONS))
_FLAT_SPEC = Spec(plain=("section", "key", "value"))
_FLAT_FORMATS = ("plain", "csv", "tsv")
_SECTION_HELP = f"Only these sections, comma-separated: {', '.join(SECTIONS)}."
_CLEAR_SCREEN = "\x1b[H\x1b[2J"


@app.command("show", spec=_SHOW)
def show(
    file: FileArgument,
    section: Annotated[list[str] | None, typer.Option(metavar="SECTION", help=_SECTION_HELP)] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    watch: Annotated[str | None, duration_option("Refresh the report at this interval, until Ctrl-C.")] = None,
) -> None:
    """Show the readership report of a file.

    The plan determines the sections. The last line lists sections that require a higher plan; in a pipe, a note on
    stderr lists those of --section. Times of day are in UTC. Piped output is tab-separated: section, key, value. --json
    prints the report as the server sent it. --format csv with a single --section that is a list prints it as a table.

    Examples:

      docshare readership show @last
      docshare readership show slug:offer --section summary,sessions --watch 30s
      docshare readership show @last --since 7d
      docshare readership show @last --section sessions --format csv > sessions.csv
    """
    ctx = current_context()
    days = parse_days(ctx, since, until)
    printer = ctx.emitter(_SHOW)
    draw: _Draw | None = None
    if printer.is_for_people:
        from docshare.cli.commands.readership.drawing import render_report as draw
    view = _ReportPrinter(ctx, printer, file, section, days, draw)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    if watch is None:
        with explain_forbidden():
            view.show(client.readership.report(name, days.first, days.last))
        return
    _watch(ctx, client, name, view, parse_duration(watch))


def _watch(ctx: Context, client: "Client", name: str, view: "_ReportPrinter", every: float) -> None:
    ctx.is_endless = True
    every = max(every, MIN_INTERVAL)
    with client.fork(retries=0) as poller, explain_forbidden():
        days = view.days

        def fetch() -> "Readership":
            return poller.readership.report(name, days.first, days.last)

        for report in poll(ctx, poller, fetch, PollSchedule(every, every)):
            view.show_again(report)


class _ReportPrinter:
    """Prints the reports of one command. ``days``: of the views to show; ``draw``: renders a report for people."""

    def __init__(
        self,
        context: Context,
        printer: Emitter,
        file: str,
        section: Sequence[str] | None,
        days: ReportDays,
        draw: _Draw | None,
    ) -> None:
        self._ctx = context
        self._printer = printer
        self._file = file
        self._section = section
        self._draw = draw
        self.days = days
        self._reported = False

    def show(self, report: Row) -> None:
        """Print one report."""
        keys = self._select_keys(report)
        report = self.days.limit_views(report)
        if self._draw is not None:
            print_paged(self._ctx, self._draw(report, keys, self._file, self._ctx))
        elif self._printer.format in _FLAT_FORMATS and not self._is_reshaped:
            self._print_flat(report, keys)
        else:
            self._printer.emit({key: report[key] for key in keys})

    def show_again(self, report: Row) -> None:
        """Print one of several reports, on a cleared screen if the output is a terminal."""
        if self._printer.is_for_people and self._ctx.env.get("TERM") != "dumb":
            self._ctx.write(_CLEAR_SCREEN)
        if self._printer.format == "json":  # one line each, so that a program can separate them
            keys, report = self._select_keys(report), self.days.limit_views(report)
            self._printer.emit_row({key: report[key] for key in keys})
        else:
            self.show(report)
        self._ctx.flush()

    @property
    def _is_reshaped(self) -> bool:
        options = self._ctx.options
        return bool(options.fields or options.query or options.template)

    def _select_keys(self, report: Row) -> tuple[str, ...]:
        """Return the keys to print, with one note about selected sections that require a higher plan. For people, the
        report itself says so."""
        keys = select_keys(self._section, report)
        above = describe_hidden_sections(self._section, report) if self._section else ""
        if above and not self._reported and not self._printer.is_for_people:
            self._ctx.note(above)
            self._reported = True
        return keys

    def _print_flat(self, report: Row, keys: Sequence[str]) -> None:
        asked = [key for means in parse_sections(self._section).values() for key in means] if self._section else []
        if self._printer.format != "plain" and len(asked) == 1 and asked[0] in TABLES:
            self._ctx.emit(report.get(asked[0], []), Spec(plain=TABLES[asked[0]]))
        else:
            self._ctx.emit([row._asdict() for row in flatten(report, keys)], _FLAT_SPEC)
