"""``-n``: say what a command would do, and do none of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.cli.framework.exits import ExitCode

HIDDEN = "***"  # in place of a secret that would be sent

DryRunSend = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")]
DryRunWrite = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be written; write nothing.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be done; do nothing.")]


def preview_request(context: "Context", method: str, path: str, body: Mapping[str, Any] | None = None) -> "ExitCode":
    """Print the one request that would be sent; ``body`` as JSON, its secrets ``HIDDEN`` by the caller."""
    from docshare.cli.framework import bulk

    return bulk.print_requests(context, [(method, path, "" if body is None else format_json(body))])


def preview_changes(context: "Context", *changes: tuple[str, Path, Mapping[str, Any]]) -> "ExitCode":
    """Print what would be written on this machine: ``WRITE`` or ``DELETE``, the file, and the values it is about."""
    from docshare.cli.framework import bulk

    rows = [(verb, str(path), format_json(values) if values else "") for verb, path, values in changes]
    return bulk.print_requests(context, rows)


def format_json(body: Mapping[str, Any]) -> str:
    """A body as it would be sent, on one line."""
    return json.dumps(body, ensure_ascii=False)
