"""Change, delete or redact variants of ``docshare variants``, one request for each."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.variants.names import FileVariant, short_id
from docshare.cli.framework import bulk
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Spec

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]


def update_all(
    ctx: Context, client: "Client", found: Sequence[FileVariant], changes: Row, spec: Spec, *, dry_run: bool
) -> ExitCode:
    """Send ``changes`` for every variant and print the results; with ``dry_run``, print the requests."""
    body = json.dumps(changes, ensure_ascii=False)
    ctx.trace(f"request body: {body}")
    if dry_run:
        return preview_requests(ctx, found, "PUT", body=body)

    def work(each: FileVariant) -> Row:
        changed = client.variants.update(each.file, each.uuid, changes)
        if changed.get("downloadWarning"):
            ctx.warn(f"{short_id(each.variant)}: {changed['downloadWarning']}")
        return changed

    return run_each(ctx, client, found, spec, work)


def run_each(
    ctx: Context, client: "Client", found: Sequence[FileVariant], spec: Spec, work: Callable[[FileVariant], Row]
) -> ExitCode:
    """Call ``work`` for every variant, at the pace that the server allows, and print what it returns."""
    by_name = {short_id(each.variant): each for each in found}

    def work_at_pace(name: str) -> Row:
        client.pace()
        return work(by_name[name])

    return bulk.run_each(ctx, ctx.emitter(spec), list(by_name), "variant", work_at_pace)


def preview_requests(
    ctx: Context, found: Sequence[FileVariant], method: str, *, query: str = "", body: str = ""
) -> ExitCode:
    """Print the requests of ``--dry-run``."""
    requests = [(method, f"/api/v1/files/{each.file}/variants/{each.uuid}{query}", body) for each in found]
    return print_requests(ctx, requests)
