"""Report how a command failed: text for people, JSON for scripts, and the exit code.

Standard output stays empty. With ``--json``, standard error gets one line ``{"error": {...}}``; see
docshare-exit-codes(7).
"""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import typer

from docshare import __version__
from docshare.cli.framework.app import HelpRequest, UsageError
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import (
    UNRENDERED,
    UNWRITABLE,
    ClosedPipe,
    DeadlinePassed,
    ExitCode,
    Stop,
    Terminated,
    exit_code,
)
from docshare.cli.framework.options import GlobalOptions
from docshare.cli.framework.scopes import find_scopes
from docshare.cli.local.settings import resolve_profile_name
from docshare.cli.terminal.capabilities import is_enabled
from docshare.cli.terminal.output import FieldNamesRequest
from docshare.client.errors import ClientError
from docshare.contract.problems import Problem

_JSON_FORMATS = ("json", "jsonl")
_CANDIDATE_KEYS = ("shortId", "originalName", "createdAt", "shareUrl")  # enough to distinguish files


class Failure(NamedTuple):
    """One failure, ready to print."""

    code: str
    detail: str
    exit: int
    hint: str = ""
    status: int | None = None
    method: str | None = None
    path: str | None = None
    candidates: Sequence[dict[str, Any]] = ()


def parse_early_options(front: Sequence[str]) -> GlobalOptions:
    """Return options for failures before the line is parsed; they only say whether errors are printed as JSON."""
    words = " ".join(front).replace("--format ", "--format=").split()
    as_json = "--json" in words or any(f"--format={word}" in words for word in _JSON_FORMATS)
    return GlobalOptions(format="json" if as_json else None)


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
    failure = describe(context, error)
    print_failure(context, failure)
    _flush_quietly(context)
    if failure.code in (UNWRITABLE, UNRENDERED):
        _print_unsent(context)
    return failure.exit


def _print_unsent(context: Context) -> None:
    """Print on stderr what cannot be written to standard output, such as the link of a finished upload."""
    for text in dict.fromkeys(context.pending_output):
        context.err(text)


def _print_fields(context: Context, question: FieldNamesRequest) -> int:
    try:
        context.write("".join(f"{name}\n" for name in question.names))
        context.flush()
    except (ClosedPipe, Stop) as error:
        return report(context, error)
    return ExitCode.OK


def describe(context: Context, error: BaseException) -> Failure:
    """Return any exception as a ``Failure``; an unexpected one also writes a report to ``crash.log``."""
    if isinstance(error, Stop):
        return Failure(error.code, error.detail, error.exit, error.hint)
    if isinstance(error, Problem | ClientError):
        return _describe_server_error(context, error)
    if isinstance(error, UsageError):
        return _describe_usage_error(error)
    if isinstance(error, typer.Abort):
        return Failure("aborted", "aborted", ExitCode.USAGE)
    for kind, (code, detail) in _INTERRUPTIONS.items():
        if isinstance(error, kind):
            return Failure(code, detail, exit_code(error))
    return _report_crash(context, error)


_INTERRUPTIONS: dict[type[BaseException], tuple[str, str]] = {
    KeyboardInterrupt: ("interrupted", "interrupted"),
    Terminated: ("terminated", "terminated"),
    DeadlinePassed: ("deadline", "the --deadline has passed"),
}


def _describe_server_error(context: Context, error: Problem | ClientError) -> Failure:
    code = error.code if isinstance(error, Problem) else exit_code(error).name.lower()
    hint = error.hint
    if isinstance(error, Problem) and error.status == 401:
        hint = f"{hint} {_describe_credential(context)}".strip()
    if isinstance(error, Problem) and error.code == "insufficient_scope":
        hint = f"{hint} {_suggest_login(context, error)}".strip()
    return Failure(
        code=code,
        detail=error.detail,
        exit=exit_code(error),
        hint=hint,
        status=error.status if isinstance(error, Problem) else None,
        method=getattr(error, "method", None) or None,
        path=getattr(error, "path", None) or None,
        candidates=getattr(error, "candidates", []),
    )


def _describe_credential(context: Context) -> str:
    """Return the rejected credential's profile, origin and source, in case several are configured."""
    connection = context.connection
    named = f"profile {connection.profile.value}, " if connection.profile.value else ""
    return f"({named}{connection.origin}, credential from {connection.source})"


def _suggest_login(context: Context, refusal: Problem) -> str:
    """Return the login command with the scopes that the command needs and those the credential already has."""
    from docshare.cli.local import credentials

    connection, found = context.connection, find_scopes(context.words)
    name, origin = connection.profile.value, connection.origin
    saved = credentials.load(context.config_dir, name) if name else None
    held = (saved.scopes or "").split() if saved and saved.origin == origin else []
    lacking = re.findall(r'scope="([^"]+)"', str(refusal.headers.get("WWW-Authenticate", "")))
    wanted = dict.fromkeys([*held, *(found.needed + found.useful if found else ()), *" ".join(lacking).split()])
    where = f"--profile {name}" if saved and saved.origin == origin else f"--url {origin}"
    line = f"docshare auth login --scope {','.join(wanted)} {where}"
    held_elsewhere = f", and unset {connection.source[4:]}" if connection.source.startswith("env ") else ""
    return f"To log in with the required scopes: {line}{held_elsewhere}. An API key has all scopes." if wanted else ""


def _describe_usage_error(error: Any) -> Failure:
    hint = f"See: {error.ctx.command_path} -h" if getattr(error, "ctx", None) is not None else ""
    detail = re.sub(_TYPE_NAME, lambda found: f"is not {_NUMBERS[found[1]]}.", error.format_message())
    return Failure("usage", detail, ExitCode.USAGE, hint)


# Typer names the types of Python: 'abc' is not a valid int range.
_NUMBERS = {"int": "an integer", "float": "a number"}
_TYPE_NAME = r"is not a valid (int|float)(?:eger)?(?: range)?\.$"


def _report_crash(context: Context, error: BaseException) -> Failure:
    text = context.redact("".join(traceback.format_exception(error)))
    if is_enabled(context.env, "DOCSHARE_DEBUG"):
        for line in text.splitlines():
            context.err(line)
    place = _write_crash_log(context, text)
    words = next(iter(f"unexpected error: {type(error).__name__}: {error}".splitlines()))
    return Failure("unexpected", words, ExitCode.ERROR, f"Report written to {place}" if place else "")


def _write_crash_log(context: Context, text: str) -> str:
    """Write ``crash.log`` and return its path; empty if it cannot be written, which must not hide the error."""
    from docshare.cli.local.storage import replace_file

    path = context.state_dir / "crash.log"
    about = f"docshare {__version__}, python {sys.version.split()[0]}, {sys.platform}\n"
    try:
        replace_file(path, about + text, private=True)
    except Stop:
        return ""
    return str(path)


def print_failure(context: Context, failure: Failure) -> None:
    """Print a failure on standard error, as text or (``--json``) as one line of JSON."""
    if is_json_wanted(context):
        import json

        text = json.dumps({"error": build_error_object(context, failure)}, ensure_ascii=True)
        context.err_raw(context.redact(text) + "\n")
        return
    if isinstance(failure.exit, ExitCode) and failure.exit == ExitCode.INTERRUPTED and context.stderr_tty:
        context.err_raw("\n")  # the terminal has just printed ^C
    screen = context.err_screen
    context.err_raw(f"{screen.paint('error', 'error:')} {context.sanitize(failure.detail)}\n")
    if failure.hint:
        context.err_raw(f"{screen.paint('bold', 'hint:')} {context.sanitize(failure.hint)}\n")
    facts = [failure.code] if failure.status else []
    facts += [f"HTTP {failure.status}"] if failure.status else []
    facts += [f"{failure.method} {failure.path}"] if failure.method else []
    if facts and context.stderr_tty:
        context.err(f" {screen.glyph('·')} ".join(facts), "dim")
    for candidate in failure.candidates:
        context.err("  ".join(str(candidate.get(key, "")) for key in _CANDIDATE_KEYS))


def build_error_object(context: Context, failure: Failure) -> dict[str, Any]:
    """Return the value of ``error`` in JSON; null for members that do not apply."""
    try:
        profile = resolve_profile_name(context).value
    except Stop:  # the failure may concern the configuration itself
        profile = None
    values: dict[str, Any] = {
        "status": failure.status,
        "code": failure.code,
        "detail": failure.detail,
        "hint": failure.hint,
        "exit": int(failure.exit),
        "method": failure.method,
        "path": failure.path,
        "profile": profile,
    }
    return {**values, "candidates": list(failure.candidates)} if failure.candidates else values


def is_json_wanted(context: Context) -> bool:
    """Return whether to print failures as JSON: if the data is JSON, or the log of ``serve`` is."""
    if context.words[:1] == ["serve"] and "--log json" in " ".join(context.words).replace("--log=", "--log "):
        return True
    wanted = context.options.format
    return (context.env.get("DOCSHARE_FORMAT") if wanted is None else wanted) in _JSON_FORMATS


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
