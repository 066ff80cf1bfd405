"""``docshare admin deliveries``: show and retry the webhook deliveries of all accounts."""

from typing import Annotated

import typer

from docshare.cli.commands.webhooks.deliveries import (
    ATTEMPTS_SPEC,
    StateOption,
    build_log_spec,
    describe_last_response,
    split_by_attempt,
)
from docshare.cli.framework.admin_channel import Data, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Column, Spec
from docshare.contract.webhooks import DELIVERY_KEYS

app = App("Show and retry webhook deliveries of all accounts.")

_OWNER_KEYS = ("webhook", "url", "account")


def _build_list_spec() -> Spec:
    spec = build_log_spec(current_context().out_screen)
    *columns, last = spec.table
    whose = Column("account", "ACCOUNT", flexible=True, rank=3)
    where = Column("url", "URL", flexible=True, rank=4)
    return spec._replace(table=(*columns, whose, where, last), plain=_LIST.plain, fields=_LIST.fields)


_LIST = build_log_spec()._replace(
    plain=("id", "state", "event", "createdAt", "account", "webhook", "url", "nextAttemptAt", "attempts"),
    fields=(*DELIVERY_KEYS, *_OWNER_KEYS),
    empty="no deliveries",
)
_DELIVERY = Spec(
    table=(
        Column("event", "event", role="bold"),
        Column("state", "state"),
        Column("createdAt", "event at", kind="moment"),
        Column("nextAttemptAt", "next", kind="moment"),
        Column("error", "last response", show=describe_last_response),
        Column("url", "url"),
        Column("account", "account"),
        Column("webhook", "webhook", role="id"),
        Column("uuid", "Webhook-Id"),
        Column("id", "id", role="id"),
        Column("body", "body"),
    ),
    plain=("id", "state", "event", "createdAt", "account", "webhook", "url", "nextAttemptAt"),
    fields=(*DELIVERY_KEYS, *_OWNER_KEYS, "uuid", "body"),
    id="id",
)
_Id = Annotated[int, typer.Argument(metavar="ID", min=1, help="Id from 'deliveries list'.")]


@app.command("list", spec=_LIST)
def deliveries_list(context: typer.Context, state: StateOption = None, data: Data = None) -> None:
    """List the newest 500 deliveries of the instance.

    Examples:

      docshare admin deliveries list --state queued
      docshare admin deliveries list --json | jq -r '.[] | select(.state == "abandoned") | .url' | sort | uniq -c
    """
    rows = run_admin_command(context, data, "deliveries list")
    current_context().emit([row for row in rows if state is None or row.get("state") == state], _build_list_spec())


@app.command("show", spec=_DELIVERY)
def deliveries_show(context: typer.Context, delivery: _Id, data: Data = None) -> None:
    """Show a delivery with its attempts and its body.

    Examples:

      docshare admin deliveries show 1042
      docshare admin deliveries show 1042 --json | jq .body
    """
    ctx = current_context()
    printer = ctx.emitter(_DELIVERY)
    row = run_admin_command(context, data, "deliveries show", id=str(delivery))
    printer.emit(row)
    tries = list(split_by_attempt([row]))
    if printer.is_for_people and tries:
        ctx.print("")
        ctx.emit(tries, ATTEMPTS_SPEC)


@app.command("retry", spec=_DELIVERY)
def deliveries_retry(context: typer.Context, delivery: _Id, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Send a delivery again.

    It gets up to five new attempts, the first one immediately.

    Examples:

      docshare admin deliveries retry 1042
    """
    return run_change(context, data, dry_run, _DELIVERY, "deliveries retry", id=str(delivery))
