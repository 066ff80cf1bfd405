"""Describe how a command failed, and print it: text for people, JSON for scripts.

A command that continues after a failure, as with the next of many files, describes it with this module, too.
"""

import json
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer

from docshare import __version__
from docshare.cli.framework.app import UsageError
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import DeadlinePassed, ExitCode, HungUp, Stop, Terminated, exit_code
from docshare.cli.framework.options import JSON_FORMATS
from docshare.cli.framework.scopes import find_scopes
from docshare.cli.local import credentials
from docshare.cli.local.settings import resolve_profile_name
from docshare.cli.local.storage import replace_file
from docshare.cli.terminal.capabilities import is_enabled
from docshare.client.errors import ClientError
from docshare.contract.problems import Problem

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
    HungUp: ("hung_up", "the terminal was closed"),
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
    """Return how to get a credential with the scopes that the command needs and those the credential already has."""
    connection, found = context.connection, find_scopes(context.words)
    if found is not None and found.is_personal:
        return "This command needs a personal API key: create one on the account page of the server."
    name, origin = connection.profile.value, connection.origin
    saved = credentials.load(context.config_dir, name) if name else None
    if saved is not None and saved.origin != origin:
        saved = None
    held = (saved.scopes or "").split() if saved else []
    challenge = next((value for key, value in refusal.headers.items() if key.lower() == "www-authenticate"), "")
    lacking = " ".join(re.findall(r'scope="([^"]+)"', challenge)).split()
    wanted = dict.fromkeys([*held, *(found.needed + found.useful if found else ()), *lacking])
    if not wanted:
        return ""
    scopes = ",".join(wanted)
    if connection.runs_command:
        return f"The {connection.source} must print a token with these scopes: {scopes}."
    is_given = connection.source.startswith("env ")
    where = f"--profile {name}" if saved else f"--url {origin}"
    if is_given and saved and saved.scopes is None:  # an API key, which the login would replace
        where = f"--profile {name}-login --url {origin}"
    line = f"docshare auth login --scope {scopes} {where}"
    held_elsewhere = f", and unset {connection.source[4:]}" if is_given else ""
    return f"To log in with the required scopes: {line}{held_elsewhere}. An unrestricted API key has all scopes."


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
    return (context.env.get("DOCSHARE_FORMAT") if wanted is None else wanted) in JSON_FORMATS
