"""``docshare webhooks list``, ``show``, ``delete`` and ``enable``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.webhooks import rows as webhook_rows
from docshare.cli.commands.webhooks.names import WEBHOOK_HELP, WEBHOOKS_HELP, WebhookResolver
from docshare.cli.framework import bulk
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_WebhooksArgument = Annotated[list[str], typer.Argument(metavar="WEBHOOK...", help=WEBHOOKS_HELP)]
_DryRunOption = Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")]

_SHOWN_DELIVERIES = 5  # deliveries to show with a webhook


@app.command("list", spec=webhook_rows.LIST_SPEC)
def list_webhooks() -> None:
    """List the webhooks of the account.

    Newest first, with their health. Piped output is tab-separated: uuid, url, format, active, events, fileUuid,
    createdAt, failureCount, lastStatus.

    Examples:

      docshare webhooks list
      docshare webhooks list --json | jq -r '.[] | select(.active == false) | .uuid'
    """
    ctx = current_context()
    printer = ctx.emitter(webhook_rows.LIST_SPEC)
    with ctx.client() as client:
        rows = WebhookResolver(ctx, client).webhooks
        printer.emit(webhook_rows.add_file_names(ctx, client, rows) if printer.is_for_people else rows)


@app.command("show", spec=webhook_rows.SHOW_SPEC)
def show(webhook: Annotated[str, typer.Argument(metavar="WEBHOOK", help=WEBHOOK_HELP)]) -> None:
    """Show a webhook, and on a terminal its last deliveries.

    Piped output has one line per field, with name and value.

    Examples:

      docshare webhooks show 6f1c2e9a
      docshare webhooks show https://hooks.example.com/docshare --json
    """
    ctx = current_context()
    printer = ctx.emitter(webhook_rows.SHOW_SPEC)
    with ctx.client() as client:
        row = WebhookResolver(ctx, client).resolve(webhook)
        if not printer.is_for_people:
            printer.emit(row)
            return
        last = _fetch_last_deliveries(client, str(row["uuid"]))
        printer.emit(webhook_rows.add_file_names(ctx, client, [row])[0])
    if last:
        from docshare.cli.commands.webhooks.deliveries import build_log_spec

        ctx.print("")
        ctx.emit(last, build_log_spec(ctx.out_screen))


def _fetch_last_deliveries(client: "Client", uuid: str) -> Sequence[Mapping[str, Any]]:
    try:
        return client.webhooks.deliveries(uuid).newest(_SHOWN_DELIVERIES)
    except Refused as refusal:
        if refusal.status != 404:  # not every server has a delivery log
            raise
        return []


@app.command("delete", spec=webhook_rows.DELETE_SPEC)
def delete(webhooks: _WebhooksArgument, dry_run: _DryRunOption = False) -> ExitCode:
    """Delete webhooks.

    Deliveries that are still queued are dropped, and the delivery log is deleted. On a terminal, the command asks for
    confirmation; elsewhere, --yes is required.

    Examples:

      docshare webhooks delete 6f1c2e9a
      docshare webhooks delete https://hooks.example.com/docshare --yes
    """
    from docshare.cli.commands.webhooks.prune import delete_each

    ctx = current_context()
    with ctx.client() as client:
        return delete_each(ctx, client, WebhookResolver(ctx, client).resolve_all(webhooks), dry_run=dry_run)


@app.command("enable", spec=webhook_rows.ENABLE_SPEC)
def enable(webhooks: _WebhooksArgument, dry_run: _DryRunOption = False) -> ExitCode:
    """Enable webhooks that were disabled.

    The count of abandoned deliveries restarts at zero. Deliveries that were dropped when the webhook was disabled are
    not sent automatically; use docshare webhooks redeliver.

    Examples:

      docshare webhooks enable 6f1c2e9a
      docshare webhooks redeliver 6f1c2e9a --failed
    """
    ctx = current_context()
    printer = ctx.emitter(webhook_rows.ENABLE_SPEC)
    with ctx.client() as client:
        uuids = [str(row["uuid"]) for row in WebhookResolver(ctx, client).resolve_all(webhooks)]
        if dry_run:
            return print_requests(ctx, [("POST", f"/api/v1/webhooks/{uuid}/enable", "") for uuid in uuids])
        return bulk.run_each(ctx, printer, uuids, "webhook", client.webhooks.enable)
