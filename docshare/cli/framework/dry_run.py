"""``--dry-run``: print what a command would do without doing it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.cli.framework.exits import ExitCode

HIDDEN = "***"  # in place of a secret that would be sent

DryRunSend = Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Print the changes without making them.")]


def preview_request(context: "Context", method: str, path: str, body: Mapping[str, Any] | None = None) -> "ExitCode":
    """Print the request that would be sent; the caller replaces secrets in ``body`` with ``HIDDEN``."""
    from docshare.cli.framework import bulk

    return bulk.print_requests(context, [(method, path, "" if body is None else format_json(body))])


def preview_changes(context: "Context", *changes: tuple[str, Path, Mapping[str, Any]]) -> "ExitCode":
    """Print the local changes: ``WRITE`` or ``DELETE``, the file, and the values concerned."""
    from docshare.cli.framework import bulk

    rows = [(verb, str(path), format_json(values) if values else "") for verb, path, values in changes]
    return bulk.print_requests(context, rows)


def format_json(body: Mapping[str, Any]) -> str:
    """Return a request body as one line of JSON."""
    return json.dumps(body, ensure_ascii=False)
