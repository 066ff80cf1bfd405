"""Report how a command failed, and return the exit code.

Standard output stays empty. With ``--json``, standard error gets one line ``{"error": {...}}``; see
docshare-exit-codes(7).
"""

import os
from contextlib import suppress

import typer

from docshare.cli.framework.app import HelpRequest
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import UNRENDERED, UNWRITABLE, ClosedPipe, ExitCode, Stop
from docshare.cli.terminal.output import FieldNamesRequest
from docshare.cli.terminal.text import clean


def report(context: Context, error: BaseException) -> int:
    """Print the failure that ended a command and return the exit code."""
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else ExitCode.ERROR
    if isinstance(error, ClosedPipe | BrokenPipeError):
        _discard_output(context)
        _print_unsent(context)
        return ExitCode.CLOSED_PIPE
    if isinstance(error, FieldNamesRequest):
        return _print_fields(context, error)
    if isinstance(error, HelpRequest):
        context.err_raw(error.text + "\n")
        return ExitCode.USAGE
    if isinstance(error, KeyboardInterrupt) and context.is_endless:
        _flush_quietly(context)
        return ExitCode.INTERRUPTED
    from docshare.cli.framework import failures  # most commands do not fail

    failure = failures.describe(context, error)
    failures.print_failure(context, failure)
    _flush_quietly(context)
    if failure.code in (UNWRITABLE, UNRENDERED):
        _print_unsent(context)
    return failure.exit


def _print_unsent(context: Context) -> None:
    """Print on stderr what cannot be written to standard output, such as the link of a finished upload, or the secret
    of a new webhook, which no other message may show."""
    for text in dict.fromkeys(context.pending_output):
        context.err_raw(f"{clean(text)}\n")


def _print_fields(context: Context, question: FieldNamesRequest) -> int:
    try:
        context.write("".join(f"{name}\n" for name in question.names))
        context.flush()
    except (ClosedPipe, Stop) as error:
        return report(context, error)
    return ExitCode.OK


def _flush_quietly(context: Context) -> None:
    try:
        context.stdout.flush()
    except (OSError, ValueError):
        _discard_output(context)


def _discard_output(context: Context) -> None:
    """Redirect the closed pipe to the null device, so that the interpreter's final flush does not fail."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, context.stdout.fileno())
        os.close(null)
