"""``--dry-run``: print what a command would do without doing it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Column, Spec

HIDDEN = "***"  # in place of a secret that would be sent

DryRunSend = Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Print the changes without making them.")]

_REQUEST_SPEC = Spec(
    table=(Column("method", "METHOD"), Column("path", "PATH"), Column("body", "BODY")),
    plain=("method", "path", "body"),
)


def preview_request(context: Context, method: str, path: str, body: Mapping[str, Any] | None = None) -> ExitCode:
    """Print the request that would be sent; the caller replaces secrets in ``body`` with ``HIDDEN``."""
    return print_requests(context, [(method, path, "" if body is None else format_body(body))])


def preview_changes(context: Context, *changes: tuple[str, Path, Mapping[str, Any]]) -> ExitCode:
    """Print the local changes: ``WRITE`` or ``DELETE``, the file, and the values concerned."""
    rows = [(verb, str(path), format_body(values) if values else "") for verb, path, values in changes]
    return print_requests(context, rows)


def print_requests(context: Context, requests: Iterable[tuple[str, str, str]]) -> ExitCode:
    """Print method, path and body of the requests that ``--dry-run`` does not send."""
    rows = [{"method": method, "path": path, **({"body": body} if body else {})} for method, path, body in requests]
    context.emit(rows, _REQUEST_SPEC)
    return ExitCode.OK


def format_body(body: Mapping[str, Any]) -> str:
    """Return a request body as one line of JSON, with the spaces and characters that people read best."""
    return json.dumps(body, ensure_ascii=False)
