"""Apply an operation to many items, print each result and count failures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from docshare.cli.framework import failures
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop, exit_code
from docshare.cli.terminal.output import Emitter
from docshare.client.errors import ClientError
from docshare.contract.problems import Problem

# These failures would repeat with every further item.
_FATAL_CODES = (ExitCode.CREDENTIAL, ExitCode.RATE_LIMITED, ExitCode.UNREACHABLE)


def run_each(
    context: Context, printer: Emitter, items: Sequence[str], key: str, work: Callable[[str], Mapping[str, Any]]
) -> ExitCode:
    """Call ``work`` for every item and print what it returns.

    For one item, the result is printed as one object, and its failure is the command's. For many, each row carries the
    item under ``key``; a failure goes to stderr (with ``--json`` into the array as ``{key, error}``) and makes the exit
    code 12.
    """
    if len(items) == 1:
        printer.emit(work(items[0]))
        return ExitCode.OK
    whole = printer.format == "json"
    rows: list[Mapping[str, Any]] = []
    failures = 0
    try:
        for item in items:
            try:
                row = {key: item, **work(item)}
            except (Problem, ClientError, Stop) as error:
                failures += 1
                row = {key: item, "error": _report_failure(context, item, error)}
                if exit_code(error) in _FATAL_CODES:
                    raise
            if whole:
                rows.append(row)
            elif "error" not in row:
                printer.emit_row(row)
    finally:
        if whole:
            printer.emit(rows)
    return ExitCode.PARTIAL if failures else ExitCode.OK


def _report_failure(context: Context, item: str, error: Exception) -> dict[str, Any]:
    failure = failures.describe(context, error)
    if exit_code(error) not in _FATAL_CODES:
        context.err(f"error: {item}: {failure.detail}", "error")
    return failures.build_error_object(context, failure)
