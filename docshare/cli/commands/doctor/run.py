"""Run the groups of checks of ``docshare doctor`` and print what they find."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docshare.cli.commands.doctor.checks import CheckContext, NamedFindings, mask_row, run_checks
from docshare.cli.commands.doctor.instance import check_instance, check_public
from docshare.cli.commands.doctor.program import PROGRAM_CHECKS, SETTINGS_CHECKS
from docshare.cli.commands.doctor.server import SERVER_CHECKS
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Emitter
from docshare.cli.terminal.text import clean
from docshare.contract.amounts import format_plural
from docshare.contract.findings import ERROR, WARNING

_CHECKS: dict[str, Callable[[CheckContext], NamedFindings]] = {
    "program": lambda check_context: run_checks(PROGRAM_CHECKS, check_context),
    "settings": lambda check_context: run_checks(SETTINGS_CHECKS, check_context),
    "server": lambda check_context: run_checks(SERVER_CHECKS, check_context),
    "instance": check_instance,
    "public": check_public,
}
_SIGNS = {True: ("✓", "ok"), None: ("·", "dim"), False: ("✗", "error")}


@dataclass(frozen=True)
class DoctorOptions:
    """The options of the command. ``groups`` are the headings of the selected groups by name, ``body`` the maximum
    bytes to send through the public address, ``egress`` and ``mail`` the URL and the email address to test."""

    groups: Mapping[str, str]
    data: Path | None
    body: int
    egress: str | None
    mail: str | None
    redact: bool


def run_doctor(ctx: Context, options: DoctorOptions, printer: Emitter) -> ExitCode:
    """Run the selected groups and print their rows. Return CHECK_FAILED if a check failed."""
    requested_tests = {key: value for key, value in (("egress", options.egress), ("mail", options.mail)) if value}
    check_context = CheckContext(ctx, data=options.data, requested_tests=requested_tests, body=options.body)
    check_context.mask(urlsplit(options.egress or "").hostname, "<host>")
    rows: list[dict[str, Any]] = []
    for group, heading in options.groups.items():
        if printer.is_for_people:
            ctx.print(ctx.out_screen.paint("bold", heading))
        rows += _run_group(group, check_context, printer, options.redact)
    if printer.is_for_people:
        _print_summary(ctx, rows)
    else:
        printer.emit(rows)
    return ExitCode.CHECK_FAILED if any(row["level"] == ERROR for row in rows) else ExitCode.OK


def _run_group(group: str, check_context: CheckContext, printer: Emitter, redact: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of a group, printing each one immediately for people."""
    ctx = check_context.ctx
    for name, finding in _CHECKS[group](check_context):
        row = finding.row(f"{group}.{name}")
        row |= {key: ctx.redact(row[key]) for key in ("detail", "fix")}
        row = mask_row(row, check_context.private) if redact else row
        if printer.is_for_people:
            for line in _render_row(ctx, name, row):
                ctx.print(line)
            ctx.flush()
        yield row


def _render_row(ctx: Context, name: str, row: dict[str, Any]) -> Iterator[str]:
    screen = ctx.out_screen
    sign, role = ("!", "warn") if row["level"] == WARNING else _SIGNS[row["ok"]]
    detail = clean(row["detail"])
    mark = f"{screen.glyph(sign):<2}"
    yield f"  {screen.paint(role, mark)} {name:<12} {screen.paint('dim', detail) if row['ok'] is None else detail}"
    if row["ok"] is False and row["fix"]:
        yield f"     {screen.paint('bold', 'fix:')} {clean(row['fix'])}"


def _print_summary(ctx: Context, rows: list[dict[str, Any]]) -> None:
    wrong = sum(row["level"] == ERROR for row in rows)
    warnings = sum(row["level"] == WARNING for row in rows)
    if not wrong and not warnings:
        ctx.note("all checks passed")
        return
    ctx.err(f"{wrong} failed, {format_plural(warnings, 'warning')}", "error" if wrong else "warn")
